package modelagent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	ralph "ralph/acp"
	"ralph/internal/testing/check"
	"ralph/internal/toolcall"
)

func TestATurnRunsToolsUntilTheModelIsDone(t *testing.T) {
	t.Parallel()
	m := perform(t, inOrder(
		calls("write", `{"path":"a.txt","content":"one\n"}`).counted(Usage{Input: 10, CacheRead: 5, Output: 3}),
		calls("read", `{"path":"a.txt"}`, "nonsense", `{}`, "read", `"{broken"`).counted(Usage{Input: 20, CacheWrite: 7, Output: 4}),
		says("It is done.").counted(Usage{Input: 30, Output: 5}),
	))
	c := m.client()
	text, turn := c.ask(t, "Write a.txt.")
	check.Equal(t, "text", "It is done.", text)
	check.Equal(t, "stop", ralph.StopEnd, turn.Stop)
	check.Equal(t, "usage", ralph.Usage{Input: 60, CacheRead: 5, CacheWrite: 7, Output: 12, Total: 84}, turn.Usage)
	data, err := os.ReadFile(filepath.Join(c.dir, "a.txt"))
	check.OK(t, err)
	check.Equal(t, "file", "one\n", string(data))
	got := results(m.asked()[2])
	check.Equal(t, "results", 3, len(got))
	check.Contains(t, "read", "one", got[0])
	check.Contains(t, "unknown tool", "nonsense", got[1])
	check.Contains(t, "malformed", "JSON", got[2])
	for _, want := range []string{`"status":"pending"`, `"status":"in_progress"`, `"status":"completed"`, `"status":"failed"`, `"kind":"edit"`, `"type":"diff"`} {
		check.Contains(t, "transcript", want, c.heard())
	}
	check.Contains(t, "sign of life", `{"content":{"text":"","type":"text"},"sessionUpdate":"agent_thought_chunk"}`, c.heard())
	check.Contains(t, "live usage", `"inputTokens":30,"outputTokens":7`, strings.ReplaceAll(c.heard(), `"cachedReadTokens":5,"cachedWriteTokens":7,`, ""))
}

func TestADeniedCallIsNotRunAndTheTurnGoesOn(t *testing.T) {
	t.Parallel()
	m := perform(t, inOrder(calls("bash", bash("echo > made"), "read", `{"path":"missing"}`), says("Then not.")))
	c, err := m.connect(func(c *ralph.Config) {
		c.Decide = func(_ context.Context, call toolcall.Call) ralph.Decision {
			return ralph.Decision{Allow: call.Command == "", Reason: "no shells here"}
		}
	})
	check.OK(t, err)
	text, _ := c.ask(t, "Go.")
	check.Equal(t, "text", "Then not.", text)
	check.Equal(t, "result", "denied: no shells here", results(m.asked()[1])[0])
	_, err = os.Stat(filepath.Join(c.dir, "made"))
	check.That(t, errors.Is(err, os.ErrNotExist), "a denied command ran")
}

// TestCallsWithoutEffectsRunTogether shows it by a barrier: no page is served before all were asked for. The command
// between them runs alone, and results keep the order of the calls.
func TestCallsWithoutEffectsRunTogether(t *testing.T) {
	t.Parallel()
	const together = 3
	var first, second sync.WaitGroup
	first.Add(together)
	second.Add(together)
	pages := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		barrier := &first
		if strings.HasPrefix(r.URL.Path, "/second") {
			barrier = &second
		}
		barrier.Done()
		barrier.Wait()
		fmt.Fprint(w, r.URL.Path)
	}))
	defer pages.Close()
	var pairs, want []string
	for _, group := range []string{"/first", "/second"} {
		for i := range together {
			path := fmt.Sprintf("%s/%d", group, i)
			pairs = append(pairs, "fetch", `{"url":"`+pages.URL+path+`"}`)
			want = append(want, path)
		}
		pairs = append(pairs, "bash", bash("echo between"))
		want = append(want, "between\n")
	}
	m := perform(t, inOrder(calls(pairs...), says("ok")))
	m.client().ask(t, "Go.")
	check.Equal(t, "results", want, results(m.asked()[1]))
}

func TestCallsWithEffectsRunInTheirOrder(t *testing.T) {
	t.Parallel()
	m := perform(t, inOrder(
		calls("bash", bash("echo 1 >> log"), "bash", bash("echo 2 >> log"), "read", `{"path":"log"}`, "bash", bash("echo 3 >> log"), "read", `{"path":"log"}`),
		says("ok"),
	))
	m.client().ask(t, "Go.")
	got := results(m.asked()[1])
	check.That(t, strings.Contains(got[2], "2") && !strings.Contains(got[2], "3") && strings.Contains(got[4], "3"), "results: %q", got)
}

func TestHowAnswersEnd(t *testing.T) {
	t.Parallel()
	long := func(text string) said {
		s := says(text)
		s.Reply.Stop = StopLength
		return s
	}
	refusing := says("I will not.")
	refusing.Reply.Stop = StopRefuse
	cut := calls("bash", bash("echo 1 > one"), "bash", bash("echo 2 > two"))
	cut.Reply.Stop = StopLength
	empty := says(" \n")
	tests := map[string]struct {
		answers  []said
		text     string
		stop     ralph.StopReason
		requests int
		last     string // in the last request
	}{
		"an answer that is too long is continued":  {[]said{long("<task-do"), long("ne>t-1</task"), says("-done>")}, "<task-done>t-1</task-done>", ralph.StopEnd, 3, goOn},
		"but not for ever":                         {[]said{long("a"), long("b"), long("c"), long("d"), long("e"), long("f"), says("g")}, "abcdef", ralph.StopMaxTokens, 6, goOn},
		"a refusal":                                {[]said{refusing}, "I will not.", ralph.StopRefusal, 1, "Go."},
		"an empty answer is asked for again, once": {[]said{empty, empty, says("never")}, "", ralph.StopEnd, 2, sayMore},
		"and may be followed by a full one":        {[]said{empty, says("x")}, "x", ralph.StopEnd, 2, sayMore},
		"a call that was cut off is not run":       {[]said{cut, says("x")}, "x", ralph.StopEnd, 2, "not run: your answer was too long"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := perform(t, inOrder(tt.answers...))
			c := m.client()
			text, turn := c.ask(t, "Go.")
			check.Equal(t, "text", tt.text, text)
			check.Equal(t, "stop", tt.stop, turn.Stop)
			check.Equal(t, "segments", tt.text != "", len(turn.Segments) == 1)
			asked := m.asked()
			check.Equal(t, "requests", tt.requests, len(asked))
			last, _ := json.Marshal(asked[len(asked)-1].Messages)
			check.Contains(t, "last request", tt.last, string(last))
			_, err := os.Stat(filepath.Join(c.dir, "two"))
			check.That(t, err != nil, "a call ran that was cut off")
		})
	}
}

func TestFailuresAreWhatRalphKnows(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		f     Failure
		kind  ralph.Kind
		after time.Duration
		text  string
	}{
		"a limit with a time":    {Failure{Limited, 429, 90 * time.Second, "slow down"}, ralph.RateLimited, 90 * time.Second, "slow down"},
		"an overloaded provider": {Failure{Overloaded, 503, 61 * time.Second, "busy"}, ralph.RateLimited, 61 * time.Second, "busy"},
		"a wrong key":            {Failure{NoKey, 401, 0, "invalid x-api-key; check ANTHROPIC_API_KEY"}, ralph.AuthRequired, 0, "check ANTHROPIC_API_KEY"},
		"an unknown model":       {Failure{NoModel, 404, 0, "model: no-such"}, ralph.Refused, 0, "choose a model that it has: sonnet, haiku"},
		"a bad request":          {Failure{Bad, 400, 0, "messages: wrong"}, ralph.Refused, 0, "messages: wrong"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := perform(t, func(int, Request) said { return said{Failure: &tt.f} })
			_, err := m.client().Prompt(t.Context(), "Go.")
			var e *ralph.Error
			check.That(t, errors.As(err, &e), "got %v", err)
			check.Equal(t, "kind", tt.kind, e.Kind)
			check.Equal(t, "after", tt.after, e.RetryAfter.Round(time.Second))
			check.Contains(t, "text", tt.text, e.Text)
		})
	}
}

func TestAKeyThatIsRefusedIsToldBeforeTheFirstPrompt(t *testing.T) {
	t.Parallel()
	m := perform(t, inOrder())
	m.failed = &Failure{NoKey, 401, 0, "invalid x-api-key; check ANTHROPIC_API_KEY"}
	_, err := m.connect(nil)
	check.That(t, errors.Is(err, ralph.AuthRequired), "got %v", err)
	check.Err(t, "session/new", "check ANTHROPIC_API_KEY", err)

	m.failed = &Failure{Kind: Broken, Text: "no answer"}
	c := m.client() // the session opens all the same
	_, err = c.Prompt(t.Context(), "Go.")
	check.Err(t, "without a model", "no answer", err)
}

func TestModelsAndEffortsAreOptions(t *testing.T) {
	t.Parallel()
	m := perform(t, inOrder())
	m.models = []Model{{ID: "first"}, {ID: "second"}}
	c, err := m.connect(func(c *ralph.Config) { c.Model = "second" })
	check.OK(t, err)
	check.Equal(t, "model", ralph.ModelChoice{Requested: "second", Effective: "second", Channel: ralph.ChannelConfig, Offered: []string{"first", "second"}}, c.Model())
	c.ask(t, "Go.")
	check.Equal(t, "asked", "second", m.asked()[0].Model)
	_, err = m.connect(func(c *ralph.Config) { c.Model = "third" })
	check.That(t, errors.Is(err, ralph.ModelUnknown), "got %v", err)
	check.Contains(t, "options", `"category":"thought_level","currentValue":"default"`, c.heard())
}

func TestACancelEndsTheCommandAndIsRemembered(t *testing.T) {
	t.Parallel()
	m := perform(t, inOrder(calls("bash", bash("echo begun > begun; sleep 1000"), "bash", bash("echo > second")), says("ok")))
	c := m.client()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		c.await(`"status":"in_progress"`)
		cancel()
	}()
	turn, err := c.Prompt(ctx, "Go.")
	check.That(t, errors.Is(err, ralph.Cancelled), "got %v", err)
	check.Equal(t, "stop", ralph.StopCancelled, turn.Stop)
	c.ask(t, "Go on.")
	got := m.asked()[1]
	check.Contains(t, "first result", "look at what it did before you run it again", results(got)[0])
	check.Equal(t, "second result", "not run: the turn was cancelled", results(got)[1])
	check.Equal(t, "prompt", "Go on.", textOf(got.Messages[len(got.Messages)-1]))
	_, err = os.Stat(filepath.Join(c.dir, "second"))
	check.That(t, err != nil, "a command ran after the cancel")
}

func TestACancelEndsTheRequest(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan struct{})
	m := perform(t, func(n int, _ Request) said {
		if n == 0 {
			cancel()
			<-over // the answer never comes
		}
		return says("ok")
	})
	c := m.client()
	turn, err := c.Prompt(ctx, "Go.")
	check.That(t, errors.Is(err, ralph.Cancelled), "got %v", err)
	check.Equal(t, "stop", ralph.StopCancelled, turn.Stop)
	close(over)
	c.ask(t, "Go on.")
	asked := m.asked()
	check.Equal(t, "prompts", "Go.Go on.", textOf(asked[len(asked)-1].Messages[0]))
}
