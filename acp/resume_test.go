package acp

import (
	"strings"
	"testing"
	"time"

	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
)

// marks are the marks of this name in the ledger.
func (b *bench) marks(t *testing.T, name string) []string {
	t.Helper()
	entries, err := fakeagent.ReadLedger(b.ledger)
	check.OK(t, err)
	var out []string
	for _, e := range entries {
		if e.Event == "mark" && e.Name == name {
			out = append(out, e.Text)
		}
	}
	return out
}

// TestAnEarlierSessionIsResumed: by the way that the agent has, without hearing
// what it replays, and with the cost of the whole session reported as before.
func TestAnEarlierSessionIsResumed(t *testing.T) {
	t.Parallel()
	replay := []step{{Do: "say", Text: "<task-done>t-0123abcd</task-done>\n"}, {Do: "usage", N: 9, Cost: ptr(0.5)}}
	for name, tc := range map[string]struct {
		capabilities string
		forgets      bool
		way          string // the mark of it; "" for a new session
	}{
		"resumed":                        {`{"loadSession":true,"sessionCapabilities":{"resume":{}}}`, false, opResume},
		"loaded, with a replay":          {`{"loadSession":true}`, false, opLoad},
		"resume that is declined":        {`{"loadSession":true,"sessionCapabilities":{"resume":null}}`, false, opLoad},
		"an agent that can do neither":   {`{}`, false, ""},
		"a session that nobody knows":    {`{"sessionCapabilities":{"resume":{}}}`, true, ""},
		"a session that is not loadable": {`{"loadSession":true}`, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script := say(step{Do: "say", Text: "going on"}, step{Do: "usage", N: 9, Cost: ptr(0.75)})
			script.Capabilities, script.Forgets, script.Models = []byte(tc.capabilities), tc.forgets, []string{"a", "b"}
			if !tc.forgets {
				script.At = map[string][]step{opLoad: replay}
			}
			b := newBench(t, script)
			b.cfg.Resume = &Earlier{Session: "old-1", CostUSD: 0.5}
			b.cfg.Model = "b"
			s := b.start(t)
			turn, err := s.Prompt(t.Context(), "Assigned Task t-0123abcd")
			check.OK(t, err)
			check.That(t, textOf(turn) == "going on", "got %q, want nothing of what was replayed", textOf(turn))
			wantCost := 0.25
			if tc.way == "" {
				wantCost = 0.75
			}
			check.Equal(t, "cost", wantCost, *turn.Usage.CostUSD)
			if resumed := tc.way != ""; s.About().Resumed != resumed || (s.ID() == "old-1") != resumed {
				t.Errorf("got session %s, resumed: %v", s.ID(), s.About().Resumed)
			}
			check.Equal(t, "model, as in a new session", "b", s.Model().Effective)
			for _, way := range []string{opResume, opLoad} {
				check.Equal(t, way+" used", way == tc.way, len(b.marks(t, way)) == 1)
			}
		})
	}
}

func TestAnAgentThatDiesWhileItLoadsIsAnError(t *testing.T) {
	t.Parallel()
	for way, capabilities := range map[string]string{opResume: `{"sessionCapabilities":{"resume":{}}}`, opLoad: `{"loadSession":true}`} {
		b := newBench(t, fakeagent.Script{Capabilities: []byte(capabilities), At: map[string][]step{way: {{Do: "exit", Code: 3}}}})
		b.cfg.Resume = &Earlier{Session: "old-1"}
		_, err := Start(t.Context(), b.cfg)
		if e := wantKind(t, err, Died); e.Op != way || e.Exit.Code != 3 {
			t.Errorf("got %v, want a death at %s", e, way)
		}
		b.wantNothingLeft(t)
	}
}

// TestMCPServersReachTheSession: those that the agent can use; of others we warn.
func TestMCPServersReachTheSession(t *testing.T) {
	t.Parallel()
	servers := []MCPServer{
		{Name: "docs", Type: "stdio", Command: "/bin/docs", Args: []string{"--stdio"}, Env: map[string]string{"B": "2", "A": "1"}},
		{Name: "web", Type: "http", URL: "http://localhost/mcp", Headers: map[string]string{"X-Key": "k"}},
		{Name: "old", Type: "sse", URL: "http://localhost/sse"},
	}
	const (
		docs = `{"args":["--stdio"],"command":"/bin/docs","env":[{"name":"A","value":"1"},{"name":"B","value":"2"}],"name":"docs"}`
		web  = `{"headers":[{"name":"X-Key","value":"k"}],"name":"web","type":"http","url":"http://localhost/mcp"}`
		old  = `{"headers":[],"name":"old","type":"sse","url":"http://localhost/sse"}`
	)
	for name, tc := range map[string]struct {
		capabilities string
		want         string
		warned       []string
	}{
		"all kinds":     {`{"mcpCapabilities":{"http":true,"sse":true}}`, "[" + docs + "," + web + "," + old + "]", nil},
		"commands only": {`{}`, "[" + docs + "]", []string{"web", "old"}},
		"not over SSE":  {`{"mcpCapabilities":{"http":true,"sse":false}}`, "[" + docs + "," + web + "]", []string{"old"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, fakeagent.Script{Capabilities: []byte(tc.capabilities)})
			b.cfg.MCP = servers
			var warnings []string
			b.cfg.Observe = func(e Event) {
				if w, ok := e.(Warned); ok {
					warnings = append(warnings, w.Text)
				}
			}
			s := b.start(t)
			check.OK(t, s.Close())
			check.Equal(t, "servers", []string{tc.want}, b.marks(t, "mcp"))
			if len(warnings) != len(tc.warned) {
				t.Fatalf("got warnings %v, want one for each of %v", warnings, tc.warned)
			}
			for i, name := range tc.warned {
				check.That(t, strings.Contains(warnings[i], "MCP server "+name), "got warning %q, want it about %s", warnings[i], name)
			}
		})
	}
}

func TestAboutIsWhatTheAgentSays(t *testing.T) {
	t.Parallel()
	b := newBench(t, fakeagent.Script{
		AuthMethods:  []string{"key"},
		Modes:        []string{"ask", "code"},
		Capabilities: []byte(`{"loadSession":true,"promptCapabilities":{"image":true,"embeddedContext":"yes"},"mcpCapabilities":{"http":true},"sessionCapabilities":{"resume":{}}}`),
	})
	var steps []string
	b.cfg.Stepped = func(op string, took time.Duration) {
		check.That(t, took >= 0, "%s took %s", op, took)
		steps = append(steps, op)
	}
	s := b.start(t)
	want := About{
		Agent:        Agent{Name: "fakeagent", Version: "1"},
		Methods:      []AuthMethod{{ID: "key", Name: "Log in with key"}},
		Capabilities: s.About().Capabilities, // in words below
		Mode:         "ask", Modes: []string{"ask", "code"},
	}
	check.Equal(t, "about", want, s.About())
	check.Equal(t, "result", []string{"load sessions", "resume sessions", "images", "MCP over HTTP"}, s.About().Capabilities.Words())
	if _, err := s.Prompt(t.Context(), "x"); err != nil {
		t.Fatal(err)
	}
	check.OK(t, s.Close())
	check.Equal(t, "steps", []string{"start", "initialize", opNew, opPrompt}, steps)
}
