package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"ralph/internal/event"
	"ralph/internal/testing/check"
)

// newRejected is a place with a task whose gate has rejected its work, and would accept it by now.
func newRejected(t *testing.T, prepare ...func(*place)) *place {
	t.Helper()
	p := newPlace(t, worker())
	for _, do := range prepare {
		do(p)
	}
	p.imports(fmt.Sprintf(`{"ref":"t-00000001","title":"first","gates":["test -e %s/repaired"]}`, p.ledger)) // rooms have it, too
	p.write("go-t-00000001", "")
	p.want(1, "run", "--in-place", "--max-retries", "0")
	p.wantStatus("t-00000001", "failed")
	check.OK(t, os.WriteFile(filepath.Join(p.ledger, "repaired"), nil, 0o600))
	return p
}

func withGit(p *place) {
	p.repository()
	p.append(".git/info/exclude", "/go-*\n")
}

// TestAKilledAcceptLosesNothing kills ralph task accept at every point that it comes to. The task is what it was, or
// accepted, and in both cases it is done without its agent being asked again.
func TestAKilledAcceptLosesNothing(t *testing.T) {
	notRaced(t)
	for _, point := range []string{"after-choice", "in-claim", "after-claim", "after-done", "in-gate", "in-settlement", "after-settlement"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			p := newRejected(t, withGit)
			p.dying(point, "task", "accept", "t-00000001").wait(-1)
			p.awaitGone()
			if point != "after-settlement" { // there it is done
				p.want(0, "task", "accept", "t-00000001")
			}
			p.wantTask("t-00000001", "done", 2)
			p.want(0, "run", "--in-place")
			started := slices.DeleteFunc(p.events(), func(e event.Event) bool { return e.Type != event.AgentStarted })
			check.Equal(t, "agents that were started", 1, len(started))
			p.wantSound()
			p.want(0, "doctor")
		})
	}
}

// TestTwoWhoAcceptAtOnce: one of them has the work checked, and the other waits or is refused. It happens once.
func TestTwoWhoAcceptAtOnce(t *testing.T) {
	notRaced(t)
	p := newRejected(t, withGit)
	both := []*running{p.start("task", "accept", "t-00000001"), p.start("task", "accept", "t-00000001")}
	for _, r := range both { // who is refused has come too late
		<-r.ended
	}
	p.wantTask("t-00000001", "done", 2)
	check.Equal(t, "attempts", 2, len(p.ended()))
}

// TestAcceptOutsideOfGit runs the gates, and lands the work.
func TestAcceptOutsideOfGit(t *testing.T) {
	notRaced(t)
	p := newRejected(t)
	said := filepath.Join(p.dir, "why")
	why := make([]byte, 100<<10)
	for i := range why {
		why[i] = "\x1b[31m\x07 x\n"[i%9]
	}
	check.OK(t, os.WriteFile(said, why, 0o600))
	p.want(0, "task", "accept", "t-00000001", "-m", "@"+said)
	p.wantTask("t-00000001", "done", 2)
	log := p.want(0, "task", "log", "t-00000001").stdout
	check.Contains(t, "the log", "accepted by hand: ", log)
	check.That(t, !slices.Contains([]byte(log), 0x1b), "an escape sequence is shown")
}

// TestAcceptBesideAnAgentInThisFolder does not test its half-finished work: whoever runs next checks what was accepted.
func TestAcceptBesideAnAgentInThisFolder(t *testing.T) {
	notRaced(t)
	p := newRejected(t, withGit)
	p.imports(`{"ref":"t-00000002","title":"second"}`)
	run := p.atWork("waits t-00000002", "run", "t-00000002", "--in-place")
	out := p.want(0, "task", "accept", "t-00000001")
	check.Contains(t, "what it says", "works in this folder: that run checks it, or the next one", out.stderr)
	p.wantTask("t-00000001", "pending", 1)
	p.write("go-t-00000002", "")
	run.wait(0)
	p.want(0, "run", "--in-place")
	p.wantTask("t-00000001", "done", 2)
	started := slices.DeleteFunc(p.events(), func(e event.Event) bool { return e.Type != event.AgentStarted })
	check.Equal(t, "agents that were started", 2, len(started))
}
