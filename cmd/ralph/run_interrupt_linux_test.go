package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ralph/event"
	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
)

// TestASignalEndsARun: the agent and its whole family are ended, the task is
// given back and not charged, and the exit status names the signal.
func TestASignalEndsARun(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		signal os.Signal
		status int
	}{
		"Ctrl-C":  {syscall.SIGINT, 130},
		"SIGTERM": {syscall.SIGTERM, 143},
		"SIGHUP":  {syscall.SIGHUP, 129},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, say(append(family(), fakeagent.Step{Do: "hang"})...))
			p.plan(t, "mine")
			r := p.start(t, "run", "--json")
			p.awaitMark(t, "at work")
			if got := p.processes(); len(got) < 5 {
				t.Fatalf("got %q, want ralph, the agent and three of its family: the judge is blind", got)
			}
			r.signal(t, tt.signal)
			out := r.wait(t, tt.status)
			p.wantNothingLeft(t)
			p.wantInterrupted(t)
			out.inStdout(t, `"outcome":"interrupted"`)
		})
	}
}

// wantInterrupted checks what an interruption leaves: one attempt that costs nothing.
func (p *place) wantInterrupted(t *testing.T) {
	t.Helper()
	check.Equal(t, "attempts", []string{"interrupted"}, p.ended(t))
	task := p.task(t, "t-00000001")
	if task.Status != "pending" || task.Attempts != 0 || task.ClaimedBy != "" {
		t.Errorf("got %s with %d attempts, claimed by %v; want pending with none, by nobody", task.Status, task.Attempts, task.ClaimedBy)
	}
	p.want(t, 0, "doctor")
}

// TestASecondSignalKillsAtOnce has an agent that hears the cancel and goes on,
// and ignores every signal.
func TestASecondSignalKillsAtOnce(t *testing.T) {
	t.Parallel()
	script := say(append(family(), fakeagent.Step{Do: "hang", Ignore: true})...)
	script.KeepRunning = true
	p := newPlace(t, script)
	p.plan(t, "mine")
	r := p.start(t, "run")
	p.awaitMark(t, "at work")
	interrupt := func() {
		r.signal(t, os.Interrupt)
	}
	interrupt()
	p.awaitMark(t, "cancel")
	interrupt()
	r.wait(t, 130)
	// Without the second one it is asked to end, and given time to.
	if p.marked(t, "SIGTERM") {
		t.Error("the agent was asked to end, want it killed")
	}
	p.wantNothingLeft(t)
	p.wantInterrupted(t)
}

// TestASignalWhileWaitingEndsARun has nothing to do until a limit is over.
func TestASignalWhileWaitingEndsARun(t *testing.T) {
	t.Parallel()
	p := newPlace(t, say(fakeagent.Step{Do: "error", Code: -32603, Text: "429 too many requests"}))
	p.plan(t, "mine")
	r := p.start(t, "run")
	eventually(t, "the run waits", func() bool {
		for _, e := range p.events(t) {
			if e.Type == event.Waiting {
				return true
			}
		}
		return false
	})
	r.signal(t, syscall.SIGTERM)
	r.wait(t, 143)
	check.Equal(t, "attempts", []string{"limited"}, p.ended(t))
}

// TestDiffersAKilledRunIsRecovered: kill -9 takes the whole family along; the next
// run releases the claim, charges nothing, tells the agent, and finishes.
func TestDiffersAKilledRunIsRecovered(t *testing.T) {
	t.Parallel()
	p := newPlace(t, fakeagent.Script{Conversations: []fakeagent.Conversation{
		{When: fakeagent.When{Attempt: 1}, Steps: append(family(), fakeagent.Step{Do: "file", Path: "half.txt", Text: "x"}, fakeagent.Step{Do: "mark", Text: "half"}, fakeagent.Step{Do: "hang"})},
	}})
	p.repository(t)
	p.plan(t, "mine")
	r := p.start(t, "run")
	p.awaitMark(t, "half")
	r.kill(t)
	eventually(t, "nothing of it lives", func() bool { return len(p.processes()) == 0 })
	p.wantStatus(t, "t-00000001", "in_progress")
	p.want(t, 1, "doctor")
	p.want(t, 0, "run", "--json").inStdout(t, `"iterations":1,"done":1`)
	task := p.task(t, "t-00000001")
	if task.Status != "done" || task.Attempts != 1 {
		t.Errorf("got %s with %d attempts charged, want done with 1", task.Status, task.Attempts)
	}
	last := p.prompts(t)[1]
	for _, want := range []string{"was interrupted", "uncommitted: half.txt"} {
		if !strings.Contains(last, want) {
			t.Errorf("the prompt does not say %q:\n%s", want, last)
		}
	}
	p.want(t, 0, "doctor")
}

// TestASecondRunDoesNotTouchALiveOne runs both at once on one task: it is
// executed once, and the second run says that it is blocked.
func TestASecondRunDoesNotTouchALiveOne(t *testing.T) {
	t.Parallel()
	p := newPlace(t, say(fakeagent.Step{Do: "mark", Text: "at work"}, fakeagent.Step{Do: "await", Path: "go"}, saysDone()))
	p.plan(t, "mine")
	first := p.start(t, "run")
	p.awaitMark(t, "at work")
	p.want(t, 2, "run")
	p.write(t, "go", "")
	first.wait(t, 0)
	started := 0
	for _, e := range p.entries(t) {
		if e.Event == "started" {
			started++
		}
	}
	if started != 1 {
		t.Errorf("got %d agents, want 1", started)
	}
}

// repository makes the place a git repository.
func (p *place) repository(t *testing.T) {
	t.Helper()
	p.want(t, 0, "init")
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"commit", "-qm", "first"}} {
		cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@localhost"}, args...)...)
		cmd.Dir, cmd.Env = p.dir, p.env
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	p.append(t, ".git/info/exclude", "/ledger\n")
}

func (p *place) append(t *testing.T, name, text string) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(p.dir, name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	check.OK(t, err)
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

// TestAnAgentThatIsUpdatedMeanwhileIsStartedAgain: its program is missing when the
// second task begins, and comes back after the first try.
func TestAnAgentThatIsUpdatedMeanwhileIsStartedAgain(t *testing.T) {
	t.Parallel()
	p := newPlace(t, say(fakeagent.Step{Do: "mark", Text: "at work"}, fakeagent.Step{Do: "await", Path: "go"}, saysDone()), "breaker = 1")
	agent, away := filepath.Join(p.dir, "agent"), filepath.Join(p.dir, "away")
	check.OK(t, os.WriteFile(agent, []byte("#!/bin/sh\nexec fakeagent\n"), 0o700))
	config, err := os.ReadFile(filepath.Join(p.dir, ".ralph.toml"))
	check.OK(t, err)
	p.write(t, ".ralph.toml", strings.Replace(string(config), `command = "fakeagent"`, `command = "`+agent+`"`, 1))
	p.plan(t, "one", "two")
	r := p.start(t, "run", "--no-verify")
	p.awaitMark(t, "at work")
	rename := func(from, to string) {
		t.Helper()
		check.OK(t, os.Rename(from, to))
	}
	rename(agent, away)
	p.write(t, "go", "")
	eventually(t, "the start fails and is tried again", func() bool {
		files, err := filepath.Glob(filepath.Join(p.dir, ".ralph/runs/*/events.jsonl"))
		if err != nil || len(files) != 1 {
			return false
		}
		events, err := os.ReadFile(files[0])
		return err == nil && strings.Contains(string(events), "could not be started")
	})
	rename(away, agent)
	r.wait(t, 0)
	retries := 0
	for _, e := range p.events(t) {
		if e.Type == event.Warned && strings.Contains(e.Text, "fake could not be started: start: not found: ") && strings.Contains(e.Text, "; retry ") {
			retries++
		}
	}
	if retries == 0 {
		t.Error("no warning says what failed and that it is tried again")
	}
	if task := p.task(t, "t-00000002"); task.Status != "done" || task.Attempts > 1 {
		t.Errorf("got %s with %d attempts, want done at the first", task.Status, task.Attempts)
	}
}

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
