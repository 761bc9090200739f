package main

import (
	"os"
	"strings"
	"testing"

	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
)

// resumable is an agent that is interrupted in its first session, having spent
// half a dollar. When that is loaded it says again that the task failed.
func resumable() fakeagent.Script {
	half, more := 0.5, 0.75
	return fakeagent.Script{
		Capabilities: []byte(`{"loadSession":true}`),
		At: map[string][]fakeagent.Step{"session/load": {
			{Do: "say", Text: "<task-failed>t-00000001</task-failed>\n"},
			{Do: "usage", Cost: &half},
		}},
		Conversations: []fakeagent.Conversation{
			{When: fakeagent.When{Attempt: 1}, Steps: []fakeagent.Step{{Do: "usage", Cost: &half}, {Do: "mark", Text: "half"}, {Do: "hang"}}},
			{Steps: []fakeagent.Step{{Do: "usage", Cost: &more}, {Do: "say", Text: "<task-done>{{task}}</task-done>\n"}}},
		},
	}
}

// interrupt runs until the agent is at work, and then ends the run so.
func (p *place) interrupt(t *testing.T, signal os.Signal) {
	t.Helper()
	r := p.start(t, "run")
	p.awaitMark(t, "half")
	check.OK(t, r.cmd.Process.Signal(signal))
	<-r.ended
	eventually(t, "nothing of it lives", func() bool { return len(p.processes()) == 0 })
}

// loaded says how often an earlier session was taken up.
func (p *place) loaded(t *testing.T) int {
	t.Helper()
	entries, err := fakeagent.ReadLedger(p.ledger)
	check.OK(t, err)
	n := 0
	for _, e := range entries {
		if e.Event == "mark" && e.Name == "session/load" {
			n++
		}
	}
	return n
}

// TestAnInterruptedSessionIsTakenUp: after Ctrl-C and after kill -9 the next
// attempt goes on in the same session. What is replayed counts for nothing, and
// nothing is paid twice.
func TestAnInterruptedSessionIsTakenUp(t *testing.T) {
	t.Parallel()
	for name, signal := range map[string]os.Signal{"Ctrl-C": os.Interrupt, "kill -9": os.Kill} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, resumable())
			p.plan(t, "mine")
			p.interrupt(t, signal)
			out := p.want(t, 0, "run", "--json", "-v")
			if n := p.loaded(t); n != 1 {
				t.Errorf("got %d sessions taken up, want 1", n)
			}
			out.inStderr(t, "continues in the session of the interrupted attempt")
			// After kill -9 nobody could tell of the first, or write down what it cost.
			ended, want := []string{"interrupted", "done"}, "0.25"
			if signal == os.Kill {
				ended, want = ended[1:], "0.75"
			}
			check.Equal(t, "attempts", ended, p.ended(t))
			if !strings.Contains(out.stdout, `"cost_usd":`+want+",") {
				t.Errorf("got %s, want a cost of %s", out.stdout, want)
			}
			p.want(t, 0, "task", "show", "t-00000001").inStdout(t, "$0.75")
		})
	}
}

func TestASessionIsNotTakenUp(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		config string
		before func(t *testing.T, p *place)
		args   []string
	}{
		"when that is switched off": {config: "[recovery]\nresume_session = false"},
		"after the task was reset":  {before: func(t *testing.T, p *place) { t.Helper(); p.want(t, 0, "task", "reset", "t-00000001") }},
		"by another agent":          {config: otherAgent, args: []string{"--agent", "other"}},
		"when the agent can do it not": {before: func(t *testing.T, p *place) {
			t.Helper()
			s := resumable()
			s.Capabilities = nil
			p.write(t, "script.json", s.JSON())
		}},
		"when the agent has lost it": {before: func(t *testing.T, p *place) {
			t.Helper()
			s := resumable()
			s.Forgets, s.At = true, nil
			p.write(t, "script.json", s.JSON())
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, resumable(), tt.config)
			p.plan(t, "mine")
			p.interrupt(t, os.Interrupt)
			if tt.before != nil {
				tt.before(t, p)
			}
			out := p.want(t, 0, append([]string{"run", "--json"}, tt.args...)...)
			if n := p.loaded(t); n != 0 {
				t.Errorf("got %d sessions taken up, want none", n)
			}
			out.inStdout(t, `"cost_usd":0.75,`)
		})
	}
}

const otherAgent = `[agents.other]
command = "fakeagent"
env = { FAKEAGENT_SCRIPT = "script.json", FAKEAGENT_LEDGER = "ledger", GORACE = "atexit_sleep_ms=0" }`
