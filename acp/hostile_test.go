package acp

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
)

// Every hostile agent ends by a limit that was configured, with the error that
// belongs to it, and leaves nothing behind.
func TestHostileAgents(t *testing.T) {
	t.Parallel()
	hang := step{Do: "hang", Ignore: true}
	never := step{Do: "never"}
	for name, tc := range map[string]struct {
		script fakeagent.Script
		prompt string
		want   Kind   // empty: the turn succeeds
		text   string // what must have been received
	}{
		"exits 0 without an answer":    {say(step{Do: "say", Text: "half"}, step{Do: "exit"}), "x", Died, "half"},
		"closes stdin, lives on":       {keepRunning(fakeagent.Script{At: map[string][]step{"session/new": {{Do: "close_stdin"}}}}), "x", Protocol, ""},
		"silent":                       {say(hang), "x", IdleTimeout, ""},
		"answers never, lives on":      {say(never), "x", IdleTimeout, ""},
		"does not read stdin":          {fakeagent.Script{At: map[string][]step{"session/new": {{Do: "deaf"}}}, KeepRunning: true}, strings.Repeat("long ", 1<<16), IdleTimeout, ""},
		"ignores cancel and signals":   {keepRunning(say(hang)), "x", IdleTimeout, ""},
		"garbage lines":                {say(step{Do: "raw", Text: "Welcome to agent 1.0!", N: 5000}, step{Do: "raw", Text: "{\"a\":"}, step{Do: "say", Text: "fine"}), "x", "", "fine"},
		"messages of no kind":          {say(step{Do: "raw", Text: `{"jsonrpc":"2.0"}`}, step{Do: "raw", Text: `[1,2]`}, step{Do: "raw", Text: `null`}, step{Do: "raw", Text: `{"id":{},"method":7}`}, step{Do: "say", Text: "fine"}), "x", "", "fine"},
		"strange ids":                  {say(step{Do: "raw", Text: `{"id":1e400,"method":"fs/read_text_file"}`}, step{Do: "raw", Text: `{"id":{"a":1},"method":"x"}`}, step{Do: "raw", Text: `{"id":99,"result":{}}`}, step{Do: "say", Text: "fine"}), "x", "", "fine"},
		"an endless line":              {say(step{Do: "endless_line"}), "x", Protocol, ""},
		"a line of 11 MiB":             {say(step{Do: "say", Text: "before"}, step{Do: "endless_line", N: 11}, hang), "x", Protocol, "before"},
		"JSON 1e5 deep":                {say(step{Do: "deep", N: 100_000}, step{Do: "say", Text: "fine"}), "x", "", "fine"},
		"asks first, reads later":      {say(step{Do: "requests", Ignore: true, N: scaled(20_000), Method: "vendor/thing", Params: []byte(`{}`)}, step{Do: "say", Text: "fine"}), "x", "", "fine"},
		"an answer with a wrong id":    {say(step{Do: "raw", Text: `{"jsonrpc":"2.0","id":"nobody","result":{"stopReason":"end_turn"}}`}, never), "x", IdleTimeout, ""},
		"an unknown session":           {say(step{Do: "request", Method: "fs/read_text_file", Params: []byte(`{"sessionId":"nobody","path":"x"}`)}, step{Do: "say", Text: "fine"}), "x", "", "fine"},
		"answers twice":                {say(step{Do: "say", Text: "fine"}, step{Do: "stop", Text: "end_turn"}, step{Do: "stop", Text: "refusal"}), "x", "", "fine"},
		"updates after the end":        {say(step{Do: "say", Text: "fine"}, step{Do: "stop", Text: "end_turn"}, step{Do: "flood", N: 5000, Text: "late"}), "x", "", "fine"},
		"a flood of stderr":            {say(step{Do: "stderr", N: -1, Text: strings.Repeat("noise ", 1000)}), "x", IdleTimeout, ""},
		"a flood of updates for ever":  {say(step{Do: "flood", Text: strings.Repeat("x", 100)}), "x", TurnTimeout, "x"},
		"a flood of tool calls":        {say(step{Do: "flood", Kind: "other", N: scaled(50_000), Text: "tool"}, step{Do: "say", Text: "fine"}), "x", "", "fine"},
		"20,000 requests at once":      {say(step{Do: "requests", N: scaled(20_000), Method: "fs/read_text_file", Params: []byte(`{"sessionId":"nobody","path":"x"}`)}, step{Do: "say", Text: "fine"}), "x", "", "fine"},
		"20,000 unknown methods":       {say(step{Do: "requests", N: scaled(20_000), Method: "vendor/thing", Params: []byte(`{}`)}, step{Do: "say", Text: "fine"}), "x", "", "fine"},
		"a permission nobody can give": {say(step{Do: "permission", Options: []fakeagent.Option{}}, step{Do: "say", Text: "fine"}), "x", "", "fine"},
		"no stop reason":               {say(step{Do: "stop"}), "x", Protocol, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, tc.script)
			b.cfg.Grace = 50 * time.Millisecond
			switch tc.want {
			case IdleTimeout:
				b.cfg.IdleTimeout = 200 * time.Millisecond
			case TurnTimeout:
				b.cfg.TurnTimeout = 500 * time.Millisecond
			}
			s := b.start(t)
			turn, err := s.Prompt(t.Context(), tc.prompt)
			if tc.want != "" {
				wantKind(t, err, tc.want)
			} else if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(textOf(turn), tc.text) || tc.want == "" && textOf(turn) != tc.text {
				t.Errorf("got %q, want %q", cut(textOf(turn), 100), tc.text)
			}
			check.OK(t, s.Close())
			if tc.want != TurnTimeout {
				b.checkTranscript(t)
			}
			b.wantNothingLeft(t)
			if n := len(b.stderr.String()); n > maxStderr+1<<20 {
				t.Errorf("%d bytes of stderr kept", n)
			}
		})
	}
}

func scaled(n int) int {
	if underRace {
		return max(n/10, 2)
	}
	return n
}

func keepRunning(s fakeagent.Script) fakeagent.Script {
	s.KeepRunning = true
	return s
}

// An agent that asks without end and never reads an answer waits in its own
// pipe; what we hold is bounded.
func TestAskingWithoutReading(t *testing.T) {
	t.Parallel()
	b := newBench(t, say(step{Do: "requests", Ignore: true, N: 1_000_000, Method: "vendor/thing", Params: []byte(`{}`)}))
	b.cfg.Transcript = nil
	b.cfg.Grace = 50 * time.Millisecond
	b.cfg.IdleTimeout = 500 * time.Millisecond
	s := b.start(t)
	s.outlet.mu.Lock()
	s.outlet.limit = 1 << 16 // the same, sooner
	s.outlet.mu.Unlock()
	before := runtime.NumGoroutine()
	most := make(chan int)
	stop := make(chan struct{})
	go func() {
		n := 0
		for {
			select {
			case <-stop:
				most <- n - before
				return
			default:
				n = max(n, runtime.NumGoroutine())
				runtime.Gosched()
			}
		}
	}()
	_, err := s.Prompt(t.Context(), "x")
	close(stop)
	n := <-most
	wantKind(t, err, IdleTimeout)
	check.OK(t, s.Close())
	// Other tests run beside this one, so only the order of magnitude counts.
	check.That(t, n <= 2000, "%d goroutines more than before", n)
}

// A cancel right after the prompt must not overtake it: the agent would never
// hear it.
func TestCancelDoesNotOvertakeThePrompt(t *testing.T) {
	t.Parallel()
	b := newBench(t, say(step{Do: "hang"}))
	s := b.start(t)
	for range 200 {
		ctx, cancel := context.WithCancel(t.Context())
		go cancel()
		_, err := s.Prompt(ctx, "x") // without an answer it would wait out the grace
		wantKind(t, err, Cancelled)
	}
}

// Waits for terminals do not take the places that killing them needs.
func TestWaitsForTerminalsDoNotBlockOthers(t *testing.T) {
	t.Parallel()
	b := newBench(t, say(
		step{Do: "terminal_start", Argv: []string{"sleep", "1000"}},
		step{Do: "waits", N: maxRequests * 3, Method: "term-1"},
		step{Do: "say", Text: "fine"},
	))
	turn, err := b.prompt(t)
	check.That(t, err == nil && textOf(turn) == "fine", "got %q, %v", textOf(turn), err)
	if got, want := b.results(t)["waits"], fmt.Sprintf("%d answered, 0 refused", maxRequests*3); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// The burst that closes the connection of a bare SDK client, twenty times, also
// while whoever shows it is blocked.
func TestBurstsArriveWhole(t *testing.T) {
	t.Parallel()
	const size = 20_000
	for name, blocked := range map[string]bool{"observed": false, "while the observer is blocked": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, say(step{Do: "flood", N: size, Text: "update "}))
			b.cfg.Transcript = nil
			gate := make(chan struct{})
			b.cfg.Observe = func(Event) {
				if blocked {
					<-gate
				}
			}
			s := b.start(t)
			defer close(gate)
			var want strings.Builder
			for i := range size {
				fmt.Fprintf(&want, "update %d\n", i)
			}
			n := scaled(20)
			if blocked {
				n = 2 // each waits a second for the observer at its end
			}
			for i := range n {
				turn, err := s.Prompt(t.Context(), "x")
				if err != nil {
					t.Fatalf("burst %d: %v", i, err)
				}
				if textOf(turn) != want.String() {
					t.Fatalf("burst %d: got %d bytes, want %d", i, len(textOf(turn)), want.Len())
				}
			}
		})
	}
}

// Text that would fill the disk ends the turn.
func TestTextIsBounded(t *testing.T) {
	t.Parallel()
	b := newBench(t, say(step{Do: "flood", Text: "x", Chunk: 1 << 20}))
	b.cfg.Transcript, b.cfg.Grace = nil, 50*time.Millisecond
	s := b.start(t)
	s.maxText = 4 << 20 // the same with less
	turn, err := s.Prompt(t.Context(), "x")
	wantKind(t, err, Protocol)
	kept := 0
	check.OK(t, turn.Each(func(piece string, _ bool) { kept += len(piece) }))
	check.That(t, kept <= s.maxText && kept >= s.maxText/2, "kept %d bytes, want at most %d", kept, s.maxText)
	check.OK(t, s.Close())
	b.wantNothingLeft(t)
}
