package loop

import (
	"strings"
	"testing"
	"time"

	"ralph/dag"
	"ralph/internal/event"
	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
)

// claimed makes a run of another process that holds a claim.
func (s *stage) claimed(t *testing.T) (dag.Run, dag.Claim) {
	t.Helper()
	var run dag.Run
	var claim dag.Claim
	s.update(t, func(g *dag.Graph) (err error) {
		if run, err = g.History.StartRun(dag.Scope{}, dag.Process{PID: 1, Start: 1, BootID: "elsewhere"}); err != nil {
			return err
		}
		claim, _, err = g.Queue.Claim(dag.ClaimOptions{Run: run, Lease: -1, Iteration: 1})
		return err
	})
	return run, claim
}

// TestDiffersStaleClaimsAreRecoveredAtTheStart: what a dead run left running is
// ended first, then its task is released without being charged.
func TestDiffersStaleClaimsAreRecoveredAtTheStart(t *testing.T) {
	t.Parallel()
	s := newStage(t, fakeagent.Script{})
	ids := s.add(t, dag.NewTask{Detail: dag.Detail{Title: "mine"}})
	dead, _ := s.claimed(t)
	var swept []string
	s.opts.Recovery.Life = func(dag.Process) dag.Life { return dag.Dead }
	s.opts.Recovery.Sweep = func(owner string) (int, error) {
		swept = append(swept, owner)
		if got := s.task(t, ids[0]).Status; got != dag.InProgress {
			t.Errorf("got %s while its agent may still run, want in_progress", got)
		}
		return 1, nil
	}
	r := s.start(t)
	check.Equal(t, "swept owners", []string{dead.Owner}, swept)
	s.wantUncharged(t, ids[0])
	if got := s.await(t, ofType(event.Recovered)); got.Task != ids[0] {
		t.Errorf("got %+v, want the task", got)
	}
	s.update(t, func(g *dag.Graph) error {
		run, err := g.History.Owner(dead.Owner)
		check.That(t, run.Outcome == "died" && !run.EndedAt.IsZero(), "got the dead run as %+v, want died", run)
		return err
	})
	s.opts.Recovery.Life = func(dag.Process) dag.Life { return dag.Alive }
	out := s.finish(t, r, t.Context())
	check.That(t, out.Outcome == event.OutcomeComplete, "got %s, want complete", out.Outcome)
}

// TestALiveOwnerIsWaitedForAndNeverTakenForDead though its lease ran out: a laptop slept.
func TestALiveOwnerIsWaitedForAndNeverTakenForDead(t *testing.T) {
	t.Parallel()
	s := newStage(t, fakeagent.Script{})
	s.add(t, dag.NewTask{Detail: dag.Detail{Title: "mine"}})
	other, claim := s.claimed(t)
	s.opts.Workers.Poll = 10 * time.Millisecond
	s.opts.Recovery.Life = func(dag.Process) dag.Life { return dag.Alive }
	s.opts.Recovery.Sweep = func(owner string) (int, error) { t.Errorf("swept %s", owner); return 0, nil }
	_, ended := s.begin(t, t.Context())
	waits := s.await(t, ofType(event.Waiting))
	check.That(t, strings.Contains(waits.Reason, other.ID), "it waits for %q, want the run %s", waits.Reason, other.ID)
	s.update(t, func(g *dag.Graph) error { return g.Queue.Complete(claim, "skipped") })
	out := <-ended
	check.That(t, out.Outcome == event.OutcomeComplete && out.Iterations == 0 && out.Counts.Done == 1, "got %+v, want complete without an iteration", out)
}

// TestATaskGivenBackWhileARunLooksIsDone: a run finds nothing but a task of another run, and
// that task is released before the run has decided what to do about it.
func TestATaskGivenBackWhileARunLooksIsDone(t *testing.T) {
	t.Parallel()
	s := newStage(t, say(fakeagent.Step{Do: "say", Text: "<task-done>{{task}}</task-done>"}))
	ids := s.add(t, dag.NewTask{Detail: dag.Detail{Title: "mine"}})
	_, claim := s.claimed(t)
	looks := false
	s.opts.Recovery.Sweep = func(string) (int, error) { return 0, nil }
	s.opts.Recovery.Life = func(dag.Process) dag.Life {
		if looks && s.task(t, ids[0]).Status == dag.InProgress {
			s.update(t, func(g *dag.Graph) error { return g.Queue.Release(claim, dag.Release{Uncounted: true}) })
		}
		return dag.Alive
	}
	r := s.start(t)
	looks = true
	check.Equal(t, "outcome", event.OutcomeComplete, s.finish(t, r, t.Context()).Outcome)
	check.Equal(t, "status", dag.Done, s.task(t, ids[0]).Status)
}
