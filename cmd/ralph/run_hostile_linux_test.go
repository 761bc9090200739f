package main

import (
	"cmp"
	"encoding/json"
	"strings"
	"syscall"
	"testing"

	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
)

// TestHostileAgents: whatever an agent does, there is no panic, it ends by its
// configured limit, memory is bounded, what is stored is valid, the user reads why,
// and nothing is left running. The exit status is 0 if its work counts after all,
// and 1 if its only task failed: each has one attempt.
func TestHostileAgents(t *testing.T) {
	t.Parallel()
	done := saysDone()
	unknown := func(method string, params object) step {
		raw, err := json.Marshal(params)
		check.OK(t, err)
		return step{Do: "request", Method: method, Params: raw}
	}
	tests := map[string]struct {
		script fakeagent.Script
		status int
		reason string // that the user reads
		idle   string
		turn   string
	}{
		"exits at once": {script: fakeagent.Script{At: map[string][]step{"start": {{Do: "exit", Code: 4}}}}, status: 1, reason: "exit status 4"},
		"exits in the handshake": {
			script: fakeagent.Script{At: map[string][]step{"session/new": {{Do: "stderr", Text: "no licence\n"}, {Do: "exit", Code: 4}}}},
			status: 1, reason: "no licence",
		},
		"exits 0 without an answer":             {script: say(step{Do: "exit"}), status: 1, reason: "exit status 0"},
		"says done and exits without an answer": {script: say(done, step{Do: "exit"}), status: 1, reason: "exit status 0"},
		"is silent":                             {script: say(step{Do: "hang"}), status: 1, reason: "idle timeout", idle: "300ms"},
		"does not read stdin":                   {script: say(step{Do: "deaf"}, step{Do: "hang"}), status: 1, reason: "idle timeout", idle: "300ms"},
		"ignores the cancel, signals and the end of its stdin": {
			script: fakeagent.Script{KeepRunning: true, Conversations: []fakeagent.Conversation{{Steps: append(family(), step{Do: "hang", Ignore: true})}}},
			status: 1, reason: "idle timeout", idle: "300ms",
		},
		"never exits after its answer": {script: fakeagent.Script{KeepRunning: true}},
		"sends garbage lines": {
			script: say(step{Do: "raw", Text: "\x1b[31m not JSON {{{", N: 1000}, step{Do: "raw", Text: `{"jsonrpc":"2.0"}`}, step{Do: "raw", Text: `[1,2]`}, done),
		},
		"sends a line without end": {script: say(step{Do: "endless_line"}), status: 1, reason: "protocol", turn: "20s"},
		"sends JSON 100,000 deep":  {script: say(step{Do: "deep", N: 100_000}, done)},
		"answers nobody": {
			script: say(step{Do: "raw", Text: `{"jsonrpc":"2.0","id":"nobody","result":{"stopReason":"end_turn"}}`}, step{Do: "never"}),
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
		"floods updates and then answers": {script: say(step{Do: "flood", Text: "word ", N: 20_000}, done)},
		"floods updates for ever":         {script: say(step{Do: "flood", Text: "word "}), status: 1, reason: "turn timeout", turn: "1s"},
		"floods tool calls":               {script: say(step{Do: "flood", Kind: "other", Text: "look", N: 20_000}, done)},
		"floods stderr for ever": {
			script: say(step{Do: "stderr", N: -1, Text: strings.Repeat("complaint ", 100) + "\n"}),
			status: 1, reason: "idle timeout", idle: "1s",
		},
		"floods the output of a terminal": {
			script: say(step{Do: "terminal", Argv: []string{"sh", "-c", "yes | head -c 30000000"}, Limit: 1000}, done),
		},
		"leaves a terminal running": {script: say(step{Do: "terminal_start", Argv: []string{"sh", "-c", "trap '' TERM; sleep 600"}}, done)},
		"asks 20,000 things at once": {
			script: say(step{Do: "requests", Method: "fs/read_text_file", N: 20_000, Params: json.RawMessage(`{"sessionId":"x","path":"/nowhere"}`)}, done),
		},
		"forks daemons": {script: say(append(family(), done)...)},
		"asks permission with no usable option": {
			script: say(
				step{Do: "permission", Text: "may I", Kind: "edit", Options: []fakeagent.Option{}},
				step{Do: "permission", Text: "may I", Kind: "edit", Options: []fakeagent.Option{{ID: "x", Kind: "perhaps", Name: "Perhaps"}}},
				done,
			),
		},
		"answers twice": {script: say(done, step{Do: "stop", Text: "end_turn"}, step{Do: "stop", Text: "refusal"})},
		"sends updates after the end": {
			script: say(done, step{Do: "stop", Text: "end_turn"}, step{Do: "flood", Text: "<task-failed>{{task}}: too late</task-failed>\n", N: 100}),
		},
		"closes its stdout": {
			script: say(step{Do: "close_stdout"}, step{Do: "hang", Ignore: true}),
			status: 1, reason: "the agent closed its output", idle: "60s",
		},
		"stops for a reason that nobody knows": {script: say(done, step{Do: "stop", Text: "bored"})},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, tt.script, "max_attempts = 1")
			p.plan("mine")
			r := p.start("run", "--json", "--idle-timeout", cmp.Or(tt.idle, "10m"), "--turn-timeout", cmp.Or(tt.turn, "1h"))
			out := r.wait(tt.status)
			p.wantNothingLeft()
			out.inStdout(tt.reason)
			for _, bad := range []string{"panic:", "goroutine ", "DATA RACE"} {
				check.That(t, !strings.Contains(out.stderr, bad), "got %q in:\n%s", bad, out.stderr)
			}
			// A process begins with the peak of the one that started it, which is this
			// test with all its neighbours: what is below that peak says nothing.
			var own syscall.Rusage
			check.OK(t, syscall.Getrusage(syscall.RUSAGE_SELF, &own))
			if usage, ok := r.cmd.ProcessState.SysUsage().(*syscall.Rusage); ok && usage.Maxrss > max(512<<10, own.Maxrss) {
				t.Errorf("it took %d MiB", usage.Maxrss>>10)
			}
			p.events()
			p.wantSound()
			want := map[int]string{0: "done", 1: "failed"}[tt.status]
			got := p.task("t-00000001")
			check.That(t, string(got.Status) == want && got.ClaimedBy == "", "got %s, claimed by %v; want %s, by nobody", got.Status, got.ClaimedBy, want)
			if t.Failed() {
				t.Logf("%.3000s", out.stderr)
			}
		})
	}
}

type object = map[string]any
