package main

import (
	"encoding/json"
	"strings"
	"syscall"
	"testing"

	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
)

// TestHostileAgents: whatever an agent does, there is no panic, it ends by its
// configured limit, memory is bounded, what is stored is valid, the user is told,
// and nothing is left running. The exit status is 0 if its work counts after all,
// and 1 if its only task failed: each has one attempt.
func TestHostileAgents(t *testing.T) {
	t.Parallel()
	done := saysDone()
	unknown := func(method string, params object) fakeagent.Step {
		raw, err := json.Marshal(params)
		check.OK(t, err)
		return fakeagent.Step{Do: "request", Method: method, Params: raw}
	}
	tests := map[string]struct {
		script fakeagent.Script
		status int
		reason string // that the user is told
		idle   string
		turn   string
	}{
		"exits at once": {
			script: fakeagent.Script{At: map[string][]fakeagent.Step{"start": {{Do: "exit", Code: 4}}}},
			status: 1, reason: "exit status 4",
		},
		"exits in the handshake": {
			script: fakeagent.Script{At: map[string][]fakeagent.Step{"session/new": {{Do: "stderr", Text: "no licence\n"}, {Do: "exit", Code: 4}}}},
			status: 1, reason: "no licence",
		},
		"exits 0 without an answer": {
			script: say(fakeagent.Step{Do: "exit"}),
			status: 1, reason: "exit status 0",
		},
		"says done and exits without an answer": {
			script: say(done, fakeagent.Step{Do: "exit"}),
			status: 1, reason: "exit status 0",
		},
		"is silent": {
			script: say(fakeagent.Step{Do: "hang"}),
			status: 1, reason: "idle timeout", idle: "300ms",
		},
		"does not read stdin": {
			script: say(fakeagent.Step{Do: "deaf"}, fakeagent.Step{Do: "hang"}),
			status: 1, reason: "idle timeout", idle: "300ms",
		},
		"ignores the cancel, signals and the end of its stdin": {
			script: fakeagent.Script{KeepRunning: true, Conversations: []fakeagent.Conversation{{Steps: append(family(), fakeagent.Step{Do: "hang", Ignore: true})}}},
			status: 1, reason: "idle timeout", idle: "300ms",
		},
		"never exits after its answer": {
			script: fakeagent.Script{KeepRunning: true},
		},
		"sends garbage lines": {
			script: say(fakeagent.Step{Do: "raw", Text: "\x1b[31m not JSON {{{", N: 1000}, fakeagent.Step{Do: "raw", Text: `{"jsonrpc":"2.0"}`}, fakeagent.Step{Do: "raw", Text: `[1,2]`}, done),
		},
		"sends a line without end": {
			script: say(fakeagent.Step{Do: "endless_line"}),
			status: 1, reason: "protocol", turn: "20s",
		},
		"sends JSON 100,000 deep": {
			script: say(fakeagent.Step{Do: "deep", N: 100_000}, done),
		},
		"answers nobody": {
			script: say(fakeagent.Step{Do: "raw", Text: `{"jsonrpc":"2.0","id":"nobody","result":{"stopReason":"end_turn"}}`}, fakeagent.Step{Do: "never"}),
			status: 1, reason: "idle timeout", idle: "300ms",
		},
		"asks for unknown sessions, terminals and methods": {
			script: say(
				unknown("fs/read_text_file", object{"sessionId": "nobody", "path": "/etc/passwd"}),
				unknown("terminal/output", object{"sessionId": "nobody", "terminalId": "t-1"}),
				unknown("terminal/kill", object{"terminalId": 7}),
				unknown("session/launch", object{}),
				unknown("fs/write_text_file", object{}),
				done,
			),
		},
		"floods updates and then answers": {
			script: say(fakeagent.Step{Do: "flood", Text: "word ", N: 20_000}, done),
		},
		"floods updates for ever": {
			script: say(fakeagent.Step{Do: "flood", Text: "word "}),
			status: 1, reason: "turn timeout", turn: "1s",
		},
		"floods tool calls": {
			script: say(fakeagent.Step{Do: "flood", Kind: "other", Text: "look", N: 20_000}, done),
		},
		"floods stderr for ever": {
			script: say(fakeagent.Step{Do: "stderr", N: -1, Text: strings.Repeat("complaint ", 100) + "\n"}),
			status: 1, reason: "idle timeout", idle: "1s",
		},
		"floods the output of a terminal": {
			script: say(fakeagent.Step{Do: "terminal", Argv: []string{"sh", "-c", "yes | head -c 30000000"}, Limit: 1000}, done),
		},
		"leaves a terminal running": {
			script: say(fakeagent.Step{Do: "terminal_start", Argv: []string{"sh", "-c", "trap '' TERM; sleep 600"}}, done),
		},
		"asks 20,000 things at once": {
			script: say(fakeagent.Step{Do: "requests", Method: "fs/read_text_file", N: 20_000, Params: json.RawMessage(`{"sessionId":"x","path":"/nowhere"}`)}, done),
		},
		"forks daemons": {
			script: say(append(family(), done)...),
		},
		"asks permission with no usable option": {
			script: say(
				fakeagent.Step{Do: "permission", Text: "may I", Kind: "edit", Options: []fakeagent.Option{}},
				fakeagent.Step{Do: "permission", Text: "may I", Kind: "edit", Options: []fakeagent.Option{{ID: "x", Kind: "perhaps", Name: "Perhaps"}}},
				done,
			),
		},
		"answers twice": {
			script: say(done, fakeagent.Step{Do: "stop", Text: "end_turn"}, fakeagent.Step{Do: "stop", Text: "refusal"}),
		},
		"sends updates after the end": {
			script: say(done, fakeagent.Step{Do: "stop", Text: "end_turn"}, fakeagent.Step{Do: "flood", Text: "<task-failed>{{task}}: too late</task-failed>\n", N: 100}),
		},
		"closes its stdout": {
			script: say(fakeagent.Step{Do: "close_stdout"}, fakeagent.Step{Do: "hang", Ignore: true}),
			status: 1, reason: "the agent closed its output", idle: "60s",
		},
		"stops for a reason that nobody knows": {
			script: say(done, fakeagent.Step{Do: "stop", Text: "bored"}),
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, tt.script, "max_attempts = 1")
			p.plan("mine")
			args := []string{"run", "--json"}
			if tt.idle != "" {
				args = append(args, "--idle-timeout", tt.idle)
			}
			if tt.turn != "" {
				args = append(args, "--turn-timeout", tt.turn)
			}
			r := p.start(args...)
			out := r.wait(tt.status)
			p.wantNothingLeft()
			if !strings.Contains(out.stdout, tt.reason) {
				t.Errorf("got %s, want the reason %q", out.stdout, tt.reason)
			}
			for _, bad := range []string{"panic:", "goroutine ", "DATA RACE"} {
				if strings.Contains(out.stderr, bad) {
					t.Errorf("got %q in:\n%s", bad, out.stderr)
				}
			}
			// A process begins with the peak of the one that started it, which is this
			// test with all its neighbours: what is below that peak says nothing.
			var own syscall.Rusage
			if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); err != nil {
				t.Error(err)
			}
			if usage, ok := r.cmd.ProcessState.SysUsage().(*syscall.Rusage); ok && usage.Maxrss > max(512<<10, own.Maxrss) {
				t.Errorf("it took %d MiB", usage.Maxrss>>10)
			}
			p.events()
			p.wantSound()
			want := map[int]string{0: "done", 1: "failed"}[tt.status]
			if got := p.task("t-00000001"); string(got.Status) != want || got.ClaimedBy != "" {
				t.Errorf("got %s, claimed by %v; want %s, by nobody", got.Status, got.ClaimedBy, want)
			}
			if t.Failed() {
				t.Logf("%.3000s", out.stderr)
			}
		})
	}
}

type object = map[string]any
