package dag_test

import (
	"testing"
	"time"

	"ralph/dag"
	"ralph/internal/testing/check"
)

// A failed group is reopened when something below it is reopened or added, and
// by nothing less: a leaf that was open before is no news.
func TestAFailedGroupStaysFailedWhile(t *testing.T) {
	t.Parallel()
	tests := map[string]func(*world){
		"a task below it is taken with keep-going and released": func(w *world) {
			c := w.claim("b")
			w.update(func(g *dag.Graph) error { return g.Release(c, dag.Release{Reason: "no answer"}) })
		},
		"a task below it is released without being charged": func(w *world) {
			c := w.claim("b")
			w.update(func(g *dag.Graph) error { return g.Release(c, dag.Release{Uncounted: true}) })
		},
		"a task below it is sent back by the verifier": func(w *world) {
			c := w.claim("b")
			w.update(func(g *dag.Graph) error { _, err := g.Retry(c, "not good", 3); return err })
		},
		"a task below it is done": func(w *world) { w.work("b") },
		"a task below it is blocked and unblocked": func(w *world) {
			w.person(block, "b")
			w.person(unblock, "b")
		},
		"a task below it is deleted": func(w *world) { w.person(remove, "b") },
	}
	for name, do := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.plan("top", "group in top", "a in group", "b in group", "c in group", "d in top")
			w.spoil("a")
			do(w)
			w.wantStatuses(map[string]dag.Status{"top": dag.Failed, "group": dag.Failed, "c": dag.Pending})
			w.wantReady()
			w.sound()
		})
	}
}

// A done group never has a child that is not done.
func TestAFailedTaskPutBelowADoneOneFailsIt(t *testing.T) {
	t.Parallel()
	tests := map[string]func(*world){
		"by move": func(w *world) {
			w.plan("x")
			w.spoil("x")
			w.update(func(g *dag.Graph) error { return g.Move(w.id("x"), w.id("group")) })
		},
		"by import": func(w *world) {
			w.update(func(g *dag.Graph) error {
				_, err := g.Import([]dag.Spec{{Line: 1, Title: "x", Parent: w.id("group"), Status: dag.Failed}})
				return err
			})
		},
	}
	for name, do := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.plan("top", "group in top", "a in group", "later after top")
			w.work("a")
			w.wantStatuses(map[string]dag.Status{"top": dag.Done, "group": dag.Done})
			do(w)
			w.wantStatuses(map[string]dag.Status{"top": dag.Failed, "group": dag.Failed, "a": dag.Done})
			w.wantReady()
			w.sound()
		})
	}
}

func TestAFailedGroupIsReopenedWhenItsLastFailedChildGoes(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		do   func(*world)
		want dag.Status
	}{
		"deleted, others are open": {func(w *world) { w.person(remove, "a") }, dag.Pending},
		"moved away, others are open": {
			func(w *world) { w.update(func(g *dag.Graph) error { return g.Move(w.id("a"), "") }) }, dag.Pending,
		},
		"deleted, the others are done": {func(w *world) { w.work("b"); w.person(remove, "a") }, dag.Done},
		"deleted, another one failed":  {func(w *world) { w.spoil("b"); w.person(remove, "a") }, dag.Failed},
		"deleted, it was the only one": {func(w *world) { w.person(remove, "b"); w.person(remove, "a") }, dag.Failed},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.plan("top", "group in top", "a in group", "b in group")
			w.spoil("a")
			test.do(w)
			w.wantStatuses(map[string]dag.Status{"group": test.want, "top": test.want})
			w.sound()
		})
	}
}

func TestAPendingGroupFailsWhenItsLastOpenChildEndsBesideAFailedOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan("group", "a in group", "b in group", "c in group")
	w.spoil("a")
	w.person(reset, "b") // reopens the group beside the failed one
	w.wantStatuses(map[string]dag.Status{"group": dag.Pending, "a": dag.Failed})
	w.work("b")
	w.wantStatuses(map[string]dag.Status{"group": dag.Pending})
	w.work("c")
	w.wantStatuses(map[string]dag.Status{"group": dag.Failed})
	w.sound()
}

// Unblock does not touch what the task waits for.
func TestABlockKeepsTheWait(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan("a")
	c := w.claim("a")
	until := w.clock().Add(time.Minute)
	w.update(func(g *dag.Graph) error { return g.Release(c, dag.Release{NotBefore: until, Wait: "rate limit"}) })
	w.person(block, "a")
	w.person(unblock, "a")
	w.wantReady()
	if got := w.task("a"); !got.NotBefore.Equal(until) || got.WaitReason != "rate limit" {
		t.Errorf("got %v, %q, want %v, rate limit", got.NotBefore, got.WaitReason, until)
	}
	w.pass(time.Minute)
	w.wantReady("a")
	w.person(finish, "a")
	check.Equal(t, "not before of a task that ended", time.Time{}, w.task("a").NotBefore)
}
