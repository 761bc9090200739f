package dag_test

import (
	"testing"

	"ralph/dag"
	"ralph/internal/testing/check"
)

func TestTrapResetOfAFailedChildMakesItReadyAgain(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		fail  []string
		reset func(*world)
		ready []string
		want  map[string]dag.Status
	}{
		"its only failed sibling is itself": {
			fail: []string{"a"}, reset: func(w *world) { w.person(reset, "a") }, ready: []string{"a", "b", "c"},
			want: map[string]dag.Status{"top": dag.Pending, "group": dag.Pending, "a": dag.Pending},
		},
		"another child of the same parent is still failed": {
			fail: []string{"a", "b"}, reset: func(w *world) { w.person(reset, "a") }, ready: []string{"a", "c"},
			want: map[string]dag.Status{"top": dag.Pending, "group": dag.Pending, "a": dag.Pending, "b": dag.Failed},
		},
		"the grandparent was given up by a person": {
			fail: []string{"a", "top"}, reset: func(w *world) { w.person(reset, "a") }, ready: []string{"a", "b", "c"},
			want: map[string]dag.Status{"top": dag.Pending, "group": dag.Pending},
		},
		"only the grandparent failed": {
			fail: []string{"top"}, reset: func(w *world) { w.person(reset, "a") }, ready: []string{"a", "b", "c"},
			want: map[string]dag.Status{"top": dag.Pending, "group": dag.Pending},
		},
		"the whole tree": {
			fail: []string{"a", "b"}, reset: func(w *world) { w.person(resetTree, "group") }, ready: []string{"a", "b", "c"},
			want: map[string]dag.Status{"top": dag.Pending, "group": dag.Pending, "b": dag.Pending},
		},
		"everything that failed": {
			fail: []string{"a", "b"},
			reset: func(w *world) {
				w.update(func(g *dag.Graph) error { _, err := g.ResetFailed(""); return err })
			},
			ready: []string{"a", "b", "c"},
			want:  map[string]dag.Status{"top": dag.Pending, "group": dag.Pending, "b": dag.Pending},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.plan("top feature f", "group in top", "a in group", "b in group", "c in top")
			for _, title := range test.fail {
				w.person(giveUp, title)
			}
			w.wantReady()
			w.wantFeature("f", dag.FeatureFailed)
			test.reset(w)
			w.wantStatuses(test.want)
			w.wantReady(test.ready...)
			if test.want["b"] != dag.Failed {
				w.wantFeature("f", dag.FeatureReady)
			}
			w.sound()
		})
	}
}

func TestResetOfADoneTaskMakesWhatWaitedForItWaitAgain(t *testing.T) {
	t.Parallel()
	tests := map[string]func(*world){
		"of the task": func(w *world) { w.person(reset, "a") },
		"of the tree": func(w *world) { w.person(resetTree, "group") },
	}
	for name, do := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.plan("group", "a in group", "after-group after group", "after-leaf after a", "waiting after group", "below in waiting")
			w.work("a")
			w.wantReady("after-group", "after-leaf", "below")
			do(w)
			w.wantReady("a")
			w.work("a")
			w.wantReady("after-group", "after-leaf", "below")
			w.sound()
		})
	}
}

func TestResetOfAGroup(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		before  func(*world)
		refused bool
	}{
		"given up with open children is reopened": {func(w *world) { w.person(giveUp, "group") }, false},
		"blocked with open children is reopened":  {func(w *world) { w.person(block, "group") }, false},
		"whose children are all done is refused":  {func(w *world) { w.work("a"); w.work("b") }, true},
		"whose children have all ended is refused": {
			func(w *world) { w.spoil("a"); w.work("b") }, true,
		},
		"blocked above children that have all ended is refused": {
			func(w *world) { w.person(block, "group"); w.person(finish, "a"); w.person(giveUp, "b") }, true,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.plan("group", "a in group", "b in group")
			test.before(w)
			if test.refused {
				w.refused(dag.ErrRefused, func(g *dag.Graph) error { return g.Reset(w.id("group")) })
				w.person(resetTree, "group")
			} else {
				w.person(reset, "group")
			}
			w.wantReady("a", "b")
			w.sound()
		})
	}
}

// Flags that agree at the top of a tree say nothing about those further down.
func TestResetOfATreeFreesWhatLiesBelowItsInnerGroups(t *testing.T) {
	t.Parallel()
	tests := map[string]func(*world){
		"an inner group was blocked": func(w *world) { w.person(block, "inner") },
		"an inner group was given up, and the tree reopened": func(w *world) {
			w.person(giveUp, "inner")
			w.person(reset, "b")
		},
		"an inner group waits for a task of the tree that was done": func(w *world) {
			w.update(func(g *dag.Graph) error { return g.Link(w.id("b"), w.id("inner")) })
		},
		"a task below runs": func(w *world) { w.claim("a") },
	}
	for name, do := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.plan("top", "group in top", "inner in group", "deeper in inner", "a in deeper", "b in group")
			do(w)
			generation := w.task("a").Generation
			running := w.task("a").Status == dag.InProgress
			w.person(resetTree, "group")
			w.sound()
			if got := w.task("a"); running && got.Generation != generation+1 {
				t.Errorf("generation: got %d, want %d", got.Generation, generation+1)
			}
			if name == "an inner group waits for a task of the tree that was done" {
				w.work("b")
				w.person(resetTree, "group")
				w.sound()
				w.wantReady("b")
				return
			}
			w.wantReady("a", "b")
		})
	}
}

func TestResetFailedStaysWithinItsScope(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan("one", "a in one", "b in one", "two", "c in two")
	for _, title := range []string{"a", "b", "c"} {
		w.spoil(title)
	}
	var got []string
	w.update(func(g *dag.Graph) (err error) { got, err = g.ResetFailed(w.id("one")); return err })
	check.Equal(t, "reset", []string{w.id("a"), w.id("b")}, got)
	w.wantStatuses(map[string]dag.Status{"one": dag.Pending, "two": dag.Failed, "c": dag.Failed})
	w.wantReady("a", "b")
}
