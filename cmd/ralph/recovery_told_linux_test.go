package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ralph/event"
	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
	"ralph/report"
)

// TestR11RecoveryIsTold on the terminal, in the events, in the journal, as JSON and as a notification.
func TestR11RecoveryIsTold(t *testing.T) {
	t.Parallel()
	p := killedInTheMiddle(t, true, "[[notify]]\non = ['recovered']\ncommand = 'cat >> recovered.json'")
	p.write(t, "go", "")
	out := p.want(t, 0, "run")
	if data, err := os.ReadFile(filepath.Join(p.dir, "recovered.json")); err != nil || strings.Count(string(data), `"event":"recovered"`) != 1 ||
		!strings.Contains(string(data), `at work (t-00000002): its run died while its agent was at work; released\n`) {
		t.Errorf("got notifications %s, %v; want one that says what became of the tasks", data, err)
	}
	out.inStderr(t, []string{
		"recovery: 1 run had died, 1 task released, 1 task resumed at verification, ", "orphaned process",
		"t-00000001 recovered: its run died while its finished work was being verified; resumed at verification",
		"t-00000002 recovered: its run died while its agent was at work; released",
	}...)
	told := map[string]string{}
	for _, e := range p.events(t) {
		switch e.Type {
		case event.Recovered:
			told[e.Task] = e.Outcome
		case event.RecoveryDone:
			if e.Recovery.Runs == 1 {
				told["summary"] = fmt.Sprint(e.Recovery.Released, e.Recovery.Resumed, e.Recovery.Orphans > 0)
			}
		}
	}
	want := map[string]string{"t-00000001": "resumed", "t-00000002": "released", "summary": "1 1 true"}
	check.Equal(t, "events", want, told)
	journal := p.want(t, 0, "journal", "list")
	journal.inStdout(t, "1 run had died, 1 task released")
	var attempts int
	for _, id := range []string{"t-00000001", "t-00000002"} {
		attempts += p.task(t, id).Attempts
	}
	if attempts != 2 {
		t.Errorf("got %d attempts charged, want 2: a death costs nothing", attempts)
	}
}

// TestR12ACleanStartHasNothingToRecover, and says so to those who ask.
func TestR12ACleanStartHasNothingToRecover(t *testing.T) {
	t.Parallel()
	p := newPlace(t, fakeagent.Script{})
	p.plan(t, "mine")
	if out := p.want(t, 0, "recover"); out.stdout != "nothing to recover\n" {
		t.Errorf("got %q", out.stdout)
	}
	out := p.want(t, 0, "run", "-v")
	out.inStderr(t, "nothing to recover")
	if out := p.want(t, 0, "run"); strings.Contains(out.stderr, "recover") {
		t.Errorf("it is told to those who did not ask:\n%s", out.stderr)
	}
}

// TestTheCheckpointOfAnAttempt is shown by the status while an agent is at work, and
// what it cost is still known when ralph dies a moment later.
func TestTheCheckpointOfAnAttempt(t *testing.T) {
	t.Parallel()
	p := newCrash(t)
	p.plan(t, "first")
	r := p.start(t, "run")
	p.awaitMark(t, "waits t-00000001")
	var status report.Overview
	eventually(t, "the cost is stored", func() bool {
		p.json(t, &status, "status")
		return len(status.Runs) == 1 && len(status.Runs[0].Attempts) == 1 && status.Runs[0].Attempts[0].CostUSD != nil
	})
	run := status.Runs[0]
	if at := run.Attempts[0]; run.State != "running" || at.Phase != "prompted" || at.Iteration != 1 || *at.CostUSD != 0.5 || at.Heartbeat.IsZero() {
		t.Errorf("got %+v with %+v, want the checkpoint", run, at)
	}
	p.want(t, 0, "status").inStdout(t, "t-00000001 prompted for", "$0.50, heartbeat")
	r.kill(t)
	p.want(t, 0, "status").inStdout(t, "has died, everything, 0 iterations; continue it: ralph run --continue r-")
	p.want(t, 0, "recover")
	var task struct {
		CostUSD *float64 `json:"cost_usd"`
	}
	p.json(t, &task, "task", "show", "t-00000001")
	if task.CostUSD == nil || *task.CostUSD != 0.5 {
		t.Errorf("got %v, want what the dead attempt cost", task.CostUSD)
	}
}
