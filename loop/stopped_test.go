package loop

import (
	"context"
	"strings"
	"testing"

	"ralph/dag"
	"ralph/event"
	"ralph/internal/testing/fakeagent"
)

// TestWorkThatIsFinishedWhileTheRunIsStoppedIsOnlyVerified interrupts a run when its
// agent has just said "done": the next one must not pay for the work again.
func TestWorkThatIsFinishedWhileTheRunIsStoppedIsOnlyVerified(t *testing.T) {
	t.Parallel()
	s := newStage(t, say(fakeagent.Step{Do: "file", Path: "work", Text: "x"}, done()))
	ids := s.add(t, dag.NewTask{Title: "mine"})
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
	if task := s.task(t, ids[0]); task.Status != dag.Pending || task.Attempts != 0 {
		t.Errorf("got %s with %d attempts charged, want pending with none", task.Status, task.Attempts)
	}
	s.opts.Host.Observe = s.observe
	if out := s.run(t); out.Outcome != event.OutcomeComplete || out.Counts.Done != 1 {
		t.Errorf("got %+v, want complete", out)
	}
	if n := s.count(t, "prompted"); n != 1 {
		t.Errorf("the agent was prompted %d times, want once", n)
	}
}
