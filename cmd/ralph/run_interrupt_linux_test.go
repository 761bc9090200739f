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
	if got := p.task(t, "t-00000001"); got.Status != "in_progress" {
		t.Errorf("got %s, want in_progress: nobody was there to release it", got.Status)
	}
	p.want(t, 1, "doctor")
	out := p.want(t, 0, "run", "--json")
	out.inStdout(t, `"iterations":1,"done":1`)
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
