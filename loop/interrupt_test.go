package loop

import (
	"context"
	"errors"
	"strings"
	"testing"

	"ralph/dag"
	"ralph/internal/budget"
	"ralph/internal/event"
	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
	"ralph/loop/attempt"
)

// TestInterruptedInEveryPhase ends the context at each point of an attempt:
// the task is pending, nothing is charged, the journal has a row, nothing lives.
func TestInterruptedInEveryPhase(t *testing.T) {
	t.Parallel()
	hang := fakeagent.Step{Do: "hang"}
	mark := fakeagent.Step{Do: "mark", Text: "at work"}
	tests := map[string]struct {
		script fakeagent.Script
		gate   string
	}{
		"in the handshake": {script: fakeagent.Script{At: map[string][]fakeagent.Step{
			"initialize": {mark, {Do: "hang", Ignore: true}},
		}}},
		"in a turn":          {script: say(mark, hang)},
		"after it said done": {script: say(done(), mark, hang)},
		"in a gate":          {script: say(done()), gate: "echo '{\"event\":\"mark\",\"name\":\"at work\"}' >> \"$LEDGER/ledger.jsonl\"; sleep 600"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, tt.script)
			task := dag.NewTask{Detail: dag.Detail{Title: "mine"}}
			if tt.gate != "" {
				task.Gates = []string{strings.ReplaceAll(tt.gate, "$LEDGER", s.ledger)}
			}
			ids := s.add(t, task)
			ctx, cancel := context.WithCancelCause(t.Context())
			r, ended := s.begin(t, ctx)
			s.awaitMark(t, "at work")
			cancel(errors.New("caught a signal"))
			out := <-ended
			check.That(t, out.Outcome == event.OutcomeInterrupted && out.Iterations == 0,
				"got %s after %d iterations, want interrupted after none", out.Outcome, out.Iterations)
			if got := s.task(t, ids[0]); got.Status != dag.Pending || got.Attempts != 0 || got.Owner != "" {
				t.Errorf("got %s with %d attempts, owned by %q; want pending with none, by nobody", got.Status, got.Attempts, got.Owner)
			}
			if got := s.journal(t, r.ID()); len(got) != 1 || got[0].Outcome != "interrupted" {
				t.Errorf("got journal %+v, want one interrupted row", got)
			}
			check.Equal(t, "interrupted tasks", ids, r.Interrupted())
		})
	}
}

// TestARunGoesOnAfterAnInterruption runs the same runner again, as after Ctrl-C
// and "go on": the counters continue, the limit too.
func TestARunGoesOnAfterAnInterruption(t *testing.T) {
	t.Parallel()
	s := newStage(t, fakeagent.Script{Conversations: []fakeagent.Conversation{
		{When: fakeagent.When{Attempt: 1, Contains: "second"}, Steps: []fakeagent.Step{{Do: "mark", Text: "at work"}, {Do: "hang"}}},
	}})
	s.opts.Limits.Iterations = 2
	s.add(t, dag.NewTask{Detail: dag.Detail{Title: "first"}}, dag.NewTask{Detail: dag.Detail{Title: "second"}}, dag.NewTask{Detail: dag.Detail{Title: "third"}})
	r := s.start(t)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		s.awaitMark(t, "at work")
		cancel()
	}()
	out, err := r.Run(ctx)
	if err != nil || out.Outcome != event.OutcomeInterrupted || out.Iterations != 1 {
		t.Fatalf("got %+v, %v; want interrupted after 1 counted iteration", out, err)
	}
	out = s.finish(t, r, t.Context())
	check.That(t, out.Outcome == event.OutcomeLimit && out.Iterations == 2 && out.Counts.Done == 2,
		"got %+v, want the limit after 2 counted iterations", out)
}

// TestAPromiseOfFailureIsTheLastThingThatRuns looks for work as another worker
// would, as soon as the task was given back.
func TestAPromiseOfFailureIsTheLastThingThatRuns(t *testing.T) {
	t.Parallel()
	s := newStage(t, say(fakeagent.Step{Do: "say", Text: "<promise>FAILURE</promise>\n"}))
	s.add(t, dag.NewTask{Detail: dag.Detail{Title: "mine"}})
	var r *Runner
	s.on(func(e event.Event) {
		if e.Type != event.AttemptEnded {
			return
		}
		next, ok := r.claimer.next(t.Context())
		check.That(t, !ok, "got %s, want nothing after the promise", next.claim.Task.ID)
	})
	r = s.start(t)
	out := s.finish(t, r, t.Context())
	check.That(t, out.Outcome == event.OutcomeFailure, "got %s, want failure", out.Outcome)
}

// TestWorkThatIsFinishedWhileTheRunIsStoppedIsOnlyVerified interrupts a run when its
// agent has just said "done": the next one must not pay for the work again.
func TestWorkThatIsFinishedWhileTheRunIsStoppedIsOnlyVerified(t *testing.T) {
	t.Parallel()
	s := newStage(t, say(fakeagent.Step{Do: "file", Path: "work", Text: "x"}, done()))
	ids := s.add(t, dag.NewTask{Detail: dag.Detail{Title: "mine"}})
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	s.opts.Host.Observe = func(e event.Event) {
		if e.Type == event.AgentText && strings.Contains(e.Text, "task-done") {
			interrupt()
		}
		s.observe(e)
	}
	r := s.start(t)
	if out := s.finish(t, r, ctx); out.Outcome != event.OutcomeInterrupted || out.Iterations != 0 {
		t.Errorf("got %s after %d counted iterations, want interrupted after none", out.Outcome, out.Iterations)
	}
	s.wantUncharged(t, ids[0])
	s.opts.Host.Observe = s.observe
	if out := s.run(t); out.Outcome != event.OutcomeComplete || out.Counts.Done != 1 {
		t.Errorf("got %+v, want complete", out)
	}
	check.Equal(t, "prompts", 1, s.count(t, "prompted"))
}

// TestTheRunIsOverWhenItsClaimerSaysSo: if it ended only later, another worker could look
// meanwhile and claim a task.
func TestTheRunIsOverWhenItsClaimerSaysSo(t *testing.T) {
	t.Parallel()
	r := newStage(t, say(done())).start(t)
	if _, ok := r.claimer.next(t.Context()); ok {
		t.Fatal("got a claim without a task")
	}
	if ended, _ := r.over(); !ended {
		t.Error("another worker may still claim")
	}
}

// TestAnInterruptionBeforeTheBriefIsNoError: the task is given back, and the run ends as
// one that was interrupted. Finished work is still to be verified.
func TestAnInterruptionBeforeTheBriefIsNoError(t *testing.T) {
	t.Parallel()
	for name, finished := range map[string]*attempt.Finished{"to do": nil, "finished": {}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, say(done()))
			s.repository(t)
			s.opts.Limits.Budgets.Task = budget.Limits{Tokens: 1000}
			id := s.add(t, dag.NewTask{Detail: dag.Detail{Title: "one"}})[0]
			r := s.start(t)
			next, ok := r.claimer.next(t.Context())
			if !ok {
				t.Fatal("got no claim")
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			j := r.briefer.assign(next.claim, "fake", next.iteration)
			j.Finished = finished
			err := r.attempt(ctx, next.claim, j)
			task := s.task(t, id)
			check.That(t, err == nil && task.Status == dag.Pending && (task.Unverified != "") == (finished != nil),
				"got %v, and the task is %s, finished by %q", err, task.Status, task.Unverified)
		})
	}
}
