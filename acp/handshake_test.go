package acp

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"ralph/internal/proc"
	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
)

func TestStartErrors(t *testing.T) {
	t.Parallel()
	at := func(point string, steps ...step) fakeagent.Script {
		return fakeagent.Script{At: map[string][]step{point: steps}}
	}
	silent := step{Do: "hang", Ignore: true}
	for name, tc := range map[string]struct {
		script fakeagent.Script
		change func(*Config)
		want   Error
	}{
		"exits at once":                  {at("start", step{Do: "stderr", Text: "no licence\n"}, step{Do: "exit", Code: 4}), nil, Error{Kind: Died, Op: "initialize", Exit: &proc.Exit{Code: 4}, Stderr: "no licence\n"}},
		"exits 0 at initialize":          {at("initialize", step{Do: "exit"}), nil, Error{Kind: Died, Op: "initialize", Exit: &proc.Exit{}}},
		"exits at session/new":           {at("session/new", step{Do: "exit", Code: 1}), nil, Error{Kind: Died, Op: "session/new", Exit: &proc.Exit{Code: 1}}},
		"silent at initialize":           {at("initialize", silent), func(c *Config) { c.HandshakeTimeout = time.Millisecond }, Error{Kind: HandshakeTimeout, Op: "initialize"}},
		"silent at session/new":          {at("session/new", silent), func(c *Config) { c.HandshakeTimeout = 300 * time.Millisecond }, Error{Kind: HandshakeTimeout}},
		"closes stdout":                  {at("initialize", step{Do: "close_stdout"}, silent), func(c *Config) { c.Grace = time.Millisecond }, Error{Kind: Protocol, Op: "initialize"}},
		"another version":                {fakeagent.Script{Protocol: 2}, nil, Error{Kind: WrongVersion, Op: "initialize"}},
		"no credentials":                 {fakeagent.Script{AuthMethods: []string{"web"}, AuthNeeded: "web"}, nil, Error{Kind: AuthRequired, Op: "session/new", Code: -32000, Methods: []AuthMethod{{ID: "web", Name: "Log in with web"}}}},
		"credentials refused":            {fakeagent.Script{AuthMethods: []string{"web"}, AuthNeeded: "-"}, func(c *Config) { c.AuthMethod = "web" }, Error{Kind: AuthRequired, Op: "authenticate", Code: -32000, Methods: []AuthMethod{{ID: "web", Name: "Log in with web"}}}},
		"model not offered":              {fakeagent.Script{Models: []string{"a", "b"}}, func(c *Config) { c.Model = "c" }, Error{Kind: ModelUnknown, Op: "choose model", Offered: []string{"a", "b"}}},
		"model not offered by set_model": {fakeagent.Script{Models: []string{"a"}, ModelStyle: "set_model"}, func(c *Config) { c.Model = "c" }, Error{Kind: ModelUnknown, Op: "choose model", Offered: []string{"a"}}},
		"no such command":                {fakeagent.Script{}, func(c *Config) { c.Argv = []string{"no-such-agent"} }, Error{Kind: NotFound, Op: "start"}},
		"not a program":                  {fakeagent.Script{}, func(c *Config) { c.Argv = []string{notAProgram(c.Dir)} }, Error{Kind: CannotStart, Op: "start"}},
		"no such folder":                 {fakeagent.Script{}, func(c *Config) { c.Dir += "/none" }, Error{Kind: CannotStart, Op: "start"}},
		"malformed answer":               {at("initialize", step{Do: "raw", Text: `{"jsonrpc":"2.0","id":1,"error":"no object"}`}), nil, Error{Kind: Protocol, Op: "initialize"}},
		"answer of another shape":        {at("initialize", step{Do: "raw", Text: `{"jsonrpc":"2.0","id":1,"result":[1,2]}`}), nil, Error{Kind: Protocol, Op: "initialize"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, tc.script)
			b.cfg.Grace = time.Second
			if tc.change != nil {
				tc.change(&b.cfg)
			}
			s, err := Start(t.Context(), b.cfg)
			if err == nil {
				s.Close()
				t.Fatal("no error")
			}
			got := wantKind(t, err, tc.want.Kind)
			ignore := []string{"Text", "Err"}
			if tc.want.Kind == HandshakeTimeout {
				ignore = append(ignore, "Op", "Stderr") // a slow machine may be earlier in it
			}
			check.Equal(t, "result", &tc.want, got, cmpopts.IgnoreFields(Error{}, ignore...), cmpopts.EquateEmpty())
			if tc.want.Exit != nil || tc.want.Kind == WrongVersion {
				b.wantNothingLeft(t)
			}
		})
	}
}

func notAProgram(dir string) string {
	path := dir + "/nonsense"
	if err := os.WriteFile(path, []byte("\x7fELFnonsense"), 0o755); err != nil {
		panic(err)
	}
	return path
}

func TestHandshakeCancelled(t *testing.T) {
	t.Parallel()
	b := newBench(t, fakeagent.Script{At: map[string][]step{"initialize": {{Do: "hang", Ignore: true}}}})
	ctx, cancel := context.WithCancel(t.Context())
	b.cfg.Started = func(proc.Identity) error { cancel(); return nil }
	b.cfg.Grace = 50 * time.Millisecond
	_, err := Start(ctx, b.cfg)
	wantKind(t, err, Cancelled)
}

func TestAuthenticatesOnlyWhenAsked(t *testing.T) {
	t.Parallel()
	b := newBench(t, fakeagent.Script{AuthMethods: []string{"web", "key"}, AuthNeeded: "key"})
	b.cfg.AuthMethod = "key"
	b.start(t)
	check.That(t, strings.Contains(b.transcript.String(), `"methodId":"key"`), "not authenticated")
	b = newBench(t, fakeagent.Script{AuthMethods: []string{"key"}})
	b.cfg.AuthMethod = "key"
	b.start(t)
	check.That(t, !strings.Contains(b.transcript.String(), `"methodId"`), "authenticated without being asked to")
}

func TestModelChannels(t *testing.T) {
	t.Parallel()
	offered := []string{"p/small", "p/big"}
	for name, tc := range map[string]struct {
		script   fakeagent.Script
		model    string
		channels []ModelChannel
		want     ModelChoice
	}{
		"config option":                      {fakeagent.Script{Models: offered}, "p/big", nil, ModelChoice{Requested: "p/big", Effective: "p/big", Channel: ChannelConfig, Offered: offered}},
		"beside an option of unknown kind":   {fakeagent.Script{Models: offered, OddOption: true}, "p/big", nil, ModelChoice{Requested: "p/big", Effective: "p/big", Channel: ChannelConfig, Offered: offered}},
		"set_model":                          {fakeagent.Script{Models: offered, ModelStyle: "set_model"}, "p/big", nil, ModelChoice{Requested: "p/big", Effective: "p/big", Channel: ChannelSetModel, Offered: offered}},
		"without its provider, in any case":  {fakeagent.Script{Models: offered}, "BIG", nil, ModelChoice{Requested: "BIG", Effective: "p/big", Channel: ChannelConfig, Offered: offered}},
		"the agent's own choice":             {fakeagent.Script{Models: offered, ModelCurrent: "p/big"}, "", nil, ModelChoice{Effective: "p/big", Offered: offered}},
		"already chosen":                     {fakeagent.Script{Models: offered}, "p/small", nil, ModelChoice{Requested: "p/small", Effective: "p/small", Channel: ChannelConfig, Offered: offered}},
		"an agent that offers nothing":       {fakeagent.Script{}, "x", nil, ModelChoice{Requested: "x", Channel: ChannelEnv}},
		"nothing offered and no environment": {fakeagent.Script{}, "x", []ModelChannel{ChannelConfig}, ModelChoice{Requested: "x"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, tc.script)
			b.cfg.Model, b.cfg.ModelChannels = tc.model, tc.channels
			s := b.start(t)
			check.Equal(t, "result", tc.want, s.Model(), cmpopts.EquateEmpty())
			check.Equal(t, "agent", Agent{Name: "fakeagent", Version: "1"}, s.About().Agent)
		})
	}
}

// TestModes: the first wanted mode that is offered is chosen, in either of the two
// ways; what is not offered, or refused, leaves the session as it is.
func TestModes(t *testing.T) {
	t.Parallel()
	modes := []string{"ask", "code", "full"}
	for name, tc := range map[string]struct {
		script fakeagent.Script
		want   []string
		mode   string
		sent   string
	}{
		"the method of the protocol": {fakeagent.Script{Modes: modes}, []string{"none", "full", "code"}, "full", `"method":"session/set_mode"`},
		"an option":                  {fakeagent.Script{Modes: modes, ModeStyle: "config"}, []string{"full"}, "full", `"configId":"mode"`},
		"nothing is wanted":          {fakeagent.Script{Modes: modes}, nil, "ask", ""},
		"it is in that mode":         {fakeagent.Script{Modes: modes}, []string{"ask"}, "ask", ""},
		"it is not offered":          {fakeagent.Script{Modes: modes}, []string{"other"}, "ask", ""},
		"nothing is offered":         {fakeagent.Script{}, []string{"full"}, "", ""},
		"it is refused":              {fakeagent.Script{Modes: modes, ModeStyle: "refused"}, []string{"full"}, "ask", `"method":"session/set_mode"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, tc.script)
			b.cfg.Modes = tc.want
			s := b.start(t)
			check.Equal(t, "mode", tc.mode, s.About().Mode)
			sent := strings.Contains(b.transcript.String(), "session/set_")
			if sent != (tc.sent != "") || !strings.Contains(b.transcript.String(), tc.sent) {
				t.Errorf("got %s, want %s", b.transcript.String(), tc.sent)
			}
		})
	}
}

func TestAnswerErrors(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		step step
		want Error
	}{
		"plain":                 {step{Code: -32603, Text: "broken"}, Error{Kind: Refused, Code: -32603, Text: "broken"}},
		"429 as code":           {step{Code: 429, Text: "slow down"}, Error{Kind: RateLimited, Code: 429, Text: "slow down"}},
		"429 in data":           {step{Code: -32603, Text: "x", Data: []byte(`{"error":{"statusCode":429,"retry_after":"30"}}`)}, Error{Kind: RateLimited, Code: -32603, RetryAfter: 30 * time.Second, Text: "x"}},
		"529 in text":           {step{Code: -32603, Text: "API error 529 overloaded"}, Error{Kind: RateLimited, Code: -32603, Text: "API error 529 overloaded"}},
		"only words":            {step{Code: -32603, Text: "Internal error", Data: []byte(`{"details":"Rate limit reached"}`)}, Error{Kind: RateLimited, Code: -32603, Text: "Internal error: Rate limit reached"}},
		"a time in words":       {step{Code: -32603, Text: "You've hit your limit, try again in 90m"}, Error{Kind: RateLimited, Code: -32603, RetryAfter: 90 * time.Minute, Text: "You've hit your limit, try again in 90m"}},
		"a line, no status":     {step{Code: -32603, Text: "line 429 of the patch does not apply"}, Error{Kind: Refused, Code: -32603, Text: "line 429 of the patch does not apply"}},
		"not every limit":       {step{Code: -32603, Text: "unlimited rates limitations"}, Error{Kind: Refused, Code: -32603, Text: "unlimited rates limitations"}},
		"401 as code":           {step{Code: 401, Text: "no"}, Error{Kind: AuthRequired, Code: 401, Text: "no"}},
		"401 in data":           {step{Code: -32603, Text: "x", Data: []byte(`{"status":401}`)}, Error{Kind: AuthRequired, Code: -32603, Text: "x"}},
		"ways to log in":        {step{Code: -32000, Text: "Authentication required", Data: []byte(`{"details":"log in first","authMethods":[{"id":"openai","type":"terminal"}]}`)}, Error{Kind: AuthRequired, Code: -32000, Text: "Authentication required: log in first"}},
		"no money, not a limit": {step{Code: -32000, Text: "Authentication required", Data: []byte(`{"error":"You exceeded your current quota (HTTP 429)"}`)}, Error{Kind: AuthRequired, Code: -32000, Text: "Authentication required: You exceeded your current quota (HTTP 429)"}},
		"the protocol's code":   {step{Code: -32000, Text: "Authentication required"}, Error{Kind: AuthRequired, Code: -32000, Text: "Authentication required"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.step.Do = "error"
			turn, err := newBench(t, say(step{Do: "say", Text: "so far"}, tc.step)).prompt(t)
			got := wantKind(t, err, tc.want.Kind)
			tc.want.Op = opPrompt
			check.Equal(t, "result", &tc.want, got, cmpopts.IgnoreFields(Error{}, "Err", "Until"))
			check.That(t, (got.RetryAfter > 0) != got.Until.IsZero(), "retry after %v, but until %v", got.RetryAfter, got.Until)
			check.That(t, textOf(turn) == "so far", "got %q, want what was said before", textOf(turn))
		})
	}
}
