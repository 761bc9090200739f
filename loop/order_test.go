package loop

import (
	"errors"
	"sync"
	"testing"
	"time"

	"ralph/dag"
	"ralph/internal/budget"
	"ralph/internal/event"
	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
)

// soon fails a test that hangs.
const soon = 20 * time.Second

// TestAWakeUpDuringALookIsNotLost: the last attempt of another worker is settled after
// this one has seen that it runs, and before it begins to wait.
func TestAWakeUpDuringALookIsNotLost(t *testing.T) {
	t.Parallel()
	s := newStage(t, say(done()))
	ids := s.add(t, dag.NewTask{Detail: dag.Detail{Title: "mine"}})
	s.update(t, func(g *dag.Graph) error { return g.Tasks.Finish(ids[0]) })
	var r *Runner
	var settle sync.Once
	looking := false
	s.opts.Host.Now = func() time.Time {
		if looking { // a look reads the clock
			settle.Do(func() {
				r.ledger.settle(entry{})
				r.signal.Wake()
			})
		}
		return time.Now()
	}
	r = s.start(t)
	r.ledger.begin(1)
	looking = true
	over := make(chan bool, 1)
	go func() { _, ok := r.claimer.next(t.Context()); over <- !ok }()
	select {
	case <-over:
		check.That(t, r.ending != nil && r.ending.kind == event.OutcomeComplete, "got %+v, want a complete run", r.ending)
	case <-time.After(soon):
		t.Error("the worker waits for an attempt that has ended")
	}
}

// TestAnAttemptIsInOneSumWhileItSettles: what it used is counted by whoever claims just
// before it is settled, and just after, once.
func TestAnAttemptIsInOneSumWhileItSettles(t *testing.T) {
	t.Parallel()
	cost := 0.3
	s := newStage(t, say(fakeagent.Step{Do: "usage", N: 1, Cost: &cost}, done()))
	s.opts.Limits.Budgets.Run = budget.Limits{CostUSD: 100}
	s.add(t, dag.NewTask{Detail: dag.Detail{Title: "mine"}})
	var r *Runner
	wantCost := func(g *dag.Graph, when string) error {
		accounts, err := r.spending.accounts(g, nil)
		check.That(t, err == nil && len(accounts) == 1 && accounts[0].Used.CostUSD == cost,
			"%s: got %+v, %v; want %v spent", when, accounts, err, cost)
		return nil
	}
	var claims sync.WaitGroup
	s.opts.Host.Gone = func() bool { // asked right before an attempt is settled
		begun := make(chan struct{})
		claims.Go(func() {
			s.update(t, func(g *dag.Graph) error {
				close(begun)
				for range 500 { // until the attempt waits for this transaction to end
					if err := wantCost(g, "before"); err != nil || t.Failed() {
						return err
					}
				}
				return nil
			})
		})
		<-begun
		return false
	}
	s.on(func(e event.Event) {
		if e.Type == event.AttemptEnded {
			s.update(t, func(g *dag.Graph) error { return wantCost(g, "after") })
		}
	})
	r = s.start(t)
	s.finish(t, r, t.Context())
	claims.Wait()
}

// TestAHeartbeatDoesNotUncountAnIteration: one worker has stored that its iteration
// counts, and has not counted it in memory when the claim of another one is renewed.
func TestAHeartbeatDoesNotUncountAnIteration(t *testing.T) {
	t.Parallel()
	s := newStage(t, say(done()))
	ids := s.add(t, dag.NewTask{Detail: dag.Detail{Title: "quick"}}, dag.NewTask{Detail: dag.Detail{Title: "slow"}})
	s.script.Conversations = []fakeagent.Conversation{
		{When: fakeagent.When{Task: ids[0]}, Steps: []fakeagent.Step{{Do: "await", Path: "begun"}, done()}},
		{When: fakeagent.When{Task: ids[1]}, Steps: []fakeagent.Step{{Do: "file", Path: "begun"}, {Do: "await", Path: "go"}, done()}},
	}
	s.opts.Workers.Jobs, s.opts.Workers.Lease = 2, 150*time.Millisecond
	s.on(func(e event.Event) {
		if e.Type != event.AttemptEnded || e.Task != ids[0] {
			return
		}
		for before := s.task(t, ids[1]).LeaseUntil; !s.task(t, ids[1]).LeaseUntil.After(before); { // the next heartbeat renews it
		}
		var run dag.Run
		var slow dag.Task
		var beats []dag.Attempt
		s.update(t, func(g *dag.Graph) (err error) {
			run, _ = g.History.LastRun(dag.Scope{})
			slow, _ = g.Tasks.Get(ids[1])
			beats, err = g.History.Attempts(slow)
			return err
		})
		check.That(t, run.Iterations == 1, "got %d iterations, want 1", run.Iterations)
		check.Equal(t, "lease from the heartbeat on", s.opts.Workers.Lease, slow.LeaseUntil.Sub(beats[0].Heartbeat))
		s.write(t, "go", "")
	})
	out := s.run(t)
	check.That(t, out.Iterations == 2, "got %+v, want 2 iterations", out)
}

// TestAClaimThatMissesSomethingIsNotKept: finished work whose attempt is gone from a damaged file ends the run as an error,
// while a scope that is gone is a run without a plan.
func TestAClaimThatMissesSomethingIsNotKept(t *testing.T) {
	t.Parallel()
	s := newStage(t, fakeagent.Script{})
	id := s.add(t, dag.NewTask{Detail: dag.Detail{Title: "finished"}})[0]
	s.update(t, func(g *dag.Graph) error {
		return g.Tx().Exec(`UPDATE tasks SET unverified = 'a-gone' WHERE id = :id;`, ":id", id)
	})
	out, err := s.start(t).Run(t.Context())
	check.That(t, errors.Is(err, dag.ErrNotFound) && out.Outcome == event.OutcomeError, "got %s, %v", out.Outcome, err)
	check.Equal(t, "status of the task", dag.Pending, s.task(t, id).Status)

	s.opts.Graph.Scope.Task = id
	r := s.start(t)
	s.update(t, func(g *dag.Graph) error { return g.Plan.Delete(id) })
	out, err = r.Run(t.Context())
	check.OK(t, err)
	check.Equal(t, "outcome without the scope", event.OutcomeNoPlan, out.Outcome)
}
