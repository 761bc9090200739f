package loop

import (
	"context"
	"testing"

	"ralph/budget"
	"ralph/dag"
	"ralph/loop/attempt"
)

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
			id := s.add(t, dag.NewTask{Title: "one"})[0]
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
			if err != nil || task.Status != dag.Pending || (task.Unverified != "") != (finished != nil) {
				t.Errorf("got %v, and the task is %s, finished by %q", err, task.Status, task.Unverified)
			}
		})
	}
}
