package dag_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ralph/dag"
)

func TestTrapADependencyOnAGroupMakesItsLeavesWait(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan("first", "group after first", "inner in group", "leaf in inner", "sibling in group")
	w.wantReady("first")
	w.plan("late in inner") // added while the group waits
	w.wantReady("first")
	w.work("first")
	w.wantReady("leaf", "sibling", "late")
	w.update(func(g *dag.Graph) error { return g.Unlink(w.id("first"), w.id("group")) })
	w.plan("second")
	w.update(func(g *dag.Graph) error { return g.Link(w.id("second"), w.id("group")) })
	w.wantReady("second")
	w.person(remove, "second")
	w.wantReady("leaf", "sibling", "late")
	w.sound()
}

func TestAGroupThatAPersonBlockedHoldsItsLeaves(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan("group", "inner in group", "a in inner", "b in inner")
	c := w.claim("a")
	w.person(block, "group")
	w.wantReady()
	if _, ok := w.next(dag.ClaimOptions{KeepGoing: true}); ok {
		t.Error("keep-going claimed a task below a blocked group")
	}
	w.update(func(g *dag.Graph) error { return g.Complete(c, "passed") }) // what runs may end
	w.person(finish, "b")
	w.wantStatuses(map[string]dag.Status{"inner": dag.Done, "group": dag.Blocked})
	w.person(unblock, "group")
	w.wantStatuses(map[string]dag.Status{"group": dag.Done})
	w.sound()
}

func TestTrapAnAutomaticallyCompletedParentUnblocksWhatWaitedForIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan("top", "group in top", "a in group", "b in group", "after-group after group", "after-top after top", "waiting after top", "below in waiting")
	w.work("a")
	w.wantReady("b")
	w.work("b")
	w.wantStatuses(map[string]dag.Status{"group": dag.Done, "top": dag.Done})
	w.wantReady("after-group", "after-top", "below")
	w.sound()
}

func TestTrapAFailedGrandparentStopsAllItsLeaves(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan("top", "group in top", "inner in group", "deep in inner", "near in top", "elsewhere")
	w.spoil("near")
	w.wantStatuses(map[string]dag.Status{"top": dag.Failed, "group": dag.Pending, "inner": dag.Pending, "deep": dag.Pending})
	w.wantReady("elsewhere")
	w.take("elsewhere", dag.ClaimOptions{})
	if c, ok := w.next(dag.ClaimOptions{}); ok {
		t.Errorf("claimed %s below a failed grandparent", c.Task.Title)
	}
	w.take("deep", dag.ClaimOptions{KeepGoing: true})
	w.sound()
}

// TestTrapAGroupThatAPersonGaveUpStaysSo also in runs that keep going, until it is reset.
func TestTrapAGroupThatAPersonGaveUpStaysSo(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]func(*world){
		"before anything failed":        func(*world) {},
		"after a task of it has failed": func(w *world) { w.spoil("near") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.plan("top", "group in top", "deep in group", "near in top")
			first(w)
			w.person(giveUp, "top")
			w.sound()
			if c, ok := w.next(dag.ClaimOptions{KeepGoing: true}); ok {
				t.Errorf("claimed %s below a group that was given up", c.Task.Title)
			}
			w.person(reset, "top")
			w.sound()
			w.take("deep", dag.ClaimOptions{})
		})
	}
}

func TestTrapAChildThatDependsOnItsOwnAncestorIsRefused(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		do   func(*dag.Graph, *world) error
		want string // the cycle, in titles
	}{
		"on its parent": {
			func(g *dag.Graph, w *world) error { return g.Link(w.id("group"), w.id("leaf")) },
			"leaf waits for group, which contains leaf",
		},
		"on its grandparent": {
			func(g *dag.Graph, w *world) error { return g.Link(w.id("top"), w.id("leaf")) },
			"leaf waits for top, which contains group, which contains leaf",
		},
		"when it is added": {
			func(g *dag.Graph, w *world) error {
				_, err := g.Add(dag.NewTask{Title: "x", Parent: w.id("group"), After: []string{w.id("top")}})
				return err
			},
			"",
		},
		"an ancestor on its leaf": {
			func(g *dag.Graph, w *world) error { return g.Link(w.id("leaf"), w.id("top")) },
			"top waits for leaf, which is part of group, which is part of top",
		},
		"on itself": {
			func(g *dag.Graph, w *world) error { return g.Link(w.id("leaf"), w.id("leaf")) },
			"leaf waits for leaf",
		},
		"two that wait for each other": {
			func(g *dag.Graph, w *world) error { return g.Link(w.id("after"), w.id("other")) },
			"other waits for after, which waits for other",
		},
		"through a group that waits": {
			func(g *dag.Graph, w *world) error { return g.Link(w.id("below"), w.id("leaf")) },
			"leaf waits for below, which is part of waiting, which waits for top, which contains group, which contains leaf",
		},
		"moved below what it waits for": {
			func(g *dag.Graph, w *world) error { return g.Move(w.id("after"), w.id("other")) }, "",
		},
		"moved below what waits for it": {
			func(g *dag.Graph, w *world) error { return g.Move(w.id("other"), w.id("after")) }, "",
		},
		"moved below itself":     {func(g *dag.Graph, w *world) error { return g.Move(w.id("top"), w.id("top")) }, ""},
		"moved below its leaf":   {func(g *dag.Graph, w *world) error { return g.Move(w.id("top"), w.id("leaf")) }, ""},
		"moved below what waits": {func(g *dag.Graph, w *world) error { return g.Move(w.id("top"), w.id("below")) }, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.plan("top", "group in top", "leaf in group", "other", "after after other", "waiting after top", "below in waiting")
			err := w.refused(dag.ErrRefused, func(g *dag.Graph) error { return test.do(g, w) })
			var cycle *dag.CycleError
			if !errors.As(err, &cycle) {
				t.Fatalf("got %v, want a cycle", err)
			}
			if ids := cycle.IDs; len(ids) != len(cycle.Steps)+1 || ids[0] != ids[len(ids)-1] {
				t.Errorf("got %v, want a closed path", err)
			}
			got := strings.TrimPrefix(err.Error(), "that would be a cycle: ")
			for title, id := range w.ids {
				got = strings.ReplaceAll(got, id, title)
			}
			if diff := cmp.Diff(test.want, got); test.want != "" && diff != "" {
				t.Errorf("cycle (-want +got):\n%s", diff)
			}
		})
	}
}

func TestADependencyIsOneHoweverOftenItIsMade(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan("a", "b after a,a")
	w.update(func(g *dag.Graph) error { return g.Link(w.id("a"), w.id("b")) })
	if got := w.task("b").OpenDeps; got != 1 {
		t.Errorf("got %d open blockers, want 1", got)
	}
	w.update(func(g *dag.Graph) error { return g.Unlink(w.id("a"), w.id("b")) })
	w.wantReady("a", "b")
	w.refused(dag.ErrNotFound, func(g *dag.Graph) error { return g.Unlink(w.id("a"), w.id("b")) })
	w.sound()
}

func TestSubtasks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan("running", "done", "after after done", "group feature f", "a in group")
	w.claim("running")
	w.work("done")
	w.refused(dag.ErrRefused, func(g *dag.Graph) error {
		_, err := g.Add(dag.NewTask{Title: "x", Parent: w.id("running")})
		return err
	})
	w.refused(dag.ErrRefused, func(g *dag.Graph) error { return g.Move(w.id("a"), w.id("running")) })
	w.refused(dag.ErrRefused, func(g *dag.Graph) error { return g.Delete(w.id("group")) })
	w.refused(dag.ErrRefused, func(g *dag.Graph) error { return g.Finish(w.id("group")) })
	w.wantReady("after", "a")
	w.plan("more in done") // reopens it, and what waited for it waits again
	w.wantStatuses(map[string]dag.Status{"done": dag.Pending})
	w.wantReady("a", "more")
	w.update(func(g *dag.Graph) error { return g.Move(w.id("more"), w.id("group")) })
	if got := w.task("more").Feature; got != "f" {
		t.Errorf("feature of a task that moved: got %q, want f", got)
	}
	w.wantReady("done", "a", "more") // done has no subtask any more: it is a leaf again
	w.sound()
}
