package dag_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"ralph/dag"
	"ralph/internal/testing/check"
)

var someAdditions = dag.AdditionLimits{PerAttempt: 20, Depth: 3}

// addFrom adds a task for a claim.
func (w *world) addFrom(c dag.Claim, a dag.Addition) (id string) {
	w.update(func(g *dag.Graph) (err error) { id, err = g.Plan.AddFrom(c, a, someAdditions); return err })
	w.ids[a.Title] = id
	return id
}

func TestATaskBecomesAGroupOfWhatItsAgentAddedWhenItIsDone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan("caller", "next after caller")
	c := w.claim("caller")
	a := w.addFrom(c, dag.Addition{NewTask: dag.NewTask{Detail: dag.Detail{Title: "a"}}, Place: dag.Below, Closing: true})
	w.addFrom(c, dag.Addition{NewTask: dag.NewTask{Detail: dag.Detail{Title: "b"}, After: []string{a}}, Place: dag.Below})
	w.addFrom(c, dag.Addition{NewTask: dag.NewTask{Detail: dag.Detail{Title: "beside"}}, Place: dag.Beside})
	w.addFrom(c, dag.Addition{NewTask: dag.NewTask{Detail: dag.Detail{Title: "behind"}}, Place: dag.Behind})
	w.wantReady("beside")
	check.Equal(t, "no subtask while an agent works on it", 0, w.task("caller").Children)
	w.update(func(g *dag.Graph) error { return g.Queue.Complete(c, "passed") })
	w.wantStatuses(map[string]dag.Status{"caller": dag.Pending, "next": dag.Pending, "behind": dag.Pending})
	check.Equal(t, "parent", w.id("caller"), w.task("a").Parent)
	check.Equal(t, "subtasks", 3, w.task("caller").Children)
	w.wantReady("a", "beside")
	w.work("a")
	w.work("b")
	group := w.task("caller")
	closing := get(w, func(g *dag.Graph) ([]dag.Task, error) { return g.Tasks.Children(group) })[2]
	check.Equal(t, "the closing task", "Finish: caller", closing.Title)
	check.Equal(t, "it may find all done", dag.Check, closing.Kind)
	w.ids[closing.Title] = closing.ID
	w.wantReady("beside", "Finish: caller")
	w.work("Finish: caller")
	w.wantStatuses(map[string]dag.Status{"caller": dag.Done})
	w.wantReady("next", "beside", "behind")
	w.sound()
}

func TestWhatAnAgentAddedStaysIfItsAttemptIsLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan("caller")
	c := w.claim("caller")
	first := w.addFrom(c, dag.Addition{NewTask: dag.NewTask{Detail: dag.Detail{Title: "a"}}, Place: dag.Below})
	died := w.task("caller")
	w.update(func(g *dag.Graph) error { return g.Queue.Reclaim(died, dag.ReclaimOptions{Reason: "its run died"}) })
	w.refused(dag.ErrLost, func(g *dag.Graph) error {
		_, err := g.Plan.AddFrom(c, dag.Addition{NewTask: dag.NewTask{Detail: dag.Detail{Title: "late"}}, Place: dag.Beside}, someAdditions)
		return err
	})
	w.wantReady("caller")
	again := w.claim("caller")
	check.Equal(t, "the same task", first, w.addFrom(again, dag.Addition{NewTask: dag.NewTask{Detail: dag.Detail{Title: "a"}}, Place: dag.Below}))
	w.update(func(g *dag.Graph) error { return g.Queue.Complete(again, "passed") })
	check.Equal(t, "subtasks", 1, w.task("caller").Children)
	w.work("a")
	w.wantStatuses(map[string]dag.Status{"caller": dag.Done})
	w.sound()
}

func TestASubtaskThatWouldWaitForItsCallerIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan("caller", "next after caller", "later after next")
	c := w.claim("caller")
	behind := w.addFrom(c, dag.Addition{NewTask: dag.NewTask{Detail: dag.Detail{Title: "behind"}}, Place: dag.Behind})
	for _, after := range []string{w.id("next"), w.id("later"), behind} {
		err := w.refused(dag.ErrRefused, func(g *dag.Graph) error {
			_, err := g.Plan.AddFrom(c, dag.Addition{NewTask: dag.NewTask{Detail: dag.Detail{Title: "x"}, After: []string{after}}, Place: dag.Below}, someAdditions)
			return err
		})
		check.That(t, strings.Contains(fmt.Sprint(err), after), "%v", err)
	}
	w.addFrom(c, dag.Addition{NewTask: dag.NewTask{Detail: dag.Detail{Title: "x"}, After: []string{w.id("next")}}, Place: dag.Behind})
	w.update(func(g *dag.Graph) error { return g.Queue.Complete(c, "passed") })
	w.wantReady("next", "behind")
	w.sound()
}

// TestWhatChangedMeanwhileDoesNotKeepATaskFromEnding changes the graph by hand between adding subtasks and the end of the caller.
func TestWhatChangedMeanwhileDoesNotKeepATaskFromEnding(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(w *world, g *dag.Graph) error
		below  []string // the caller's subtasks
		ready  []string // afterwards
	}{
		"a subtask no longer waits for the caller": {
			below:  []string{"a", "b", "Finish: caller"},
			change: func(w *world, g *dag.Graph) error { return g.Plan.Unlink(w.id("caller"), w.id("a")) },
			ready:  []string{"a", "b"},
		},
		"the first waits for the second": {
			below:  []string{"a", "b", "Finish: caller"},
			change: func(w *world, g *dag.Graph) error { return g.Plan.Link(w.id("b"), w.id("a")) },
			ready:  []string{"b"},
		},
		"a subtask waits for what waits for the caller": {
			below:  []string{"a", "Finish: caller"},
			change: func(w *world, g *dag.Graph) error { return g.Plan.Link(w.id("next"), w.id("b")) },
			ready:  []string{"a"},
		},
		"both do": {
			below: []string{"Finish: caller"},
			change: func(w *world, g *dag.Graph) error {
				return errors.Join(g.Plan.Link(w.id("next"), w.id("b")), g.Plan.Link(w.id("b"), w.id("a")))
			},
			ready: []string{"Finish: caller"},
		},
		"the caller waits for a subtask": {
			below: []string{"b", "Finish: caller"},
			change: func(w *world, g *dag.Graph) error {
				return errors.Join(g.Plan.Unlink(w.id("caller"), w.id("a")), g.Plan.Link(w.id("a"), w.id("caller")))
			},
			ready: []string{"a"},
		},
		"a subtask was deleted": {
			below:  []string{"b"},
			change: func(w *world, g *dag.Graph) error { return g.Plan.Delete(w.id("a")) },
			ready:  []string{"b"},
		},
		"a subtask failed": {
			below:  []string{"a", "b", "Finish: caller"},
			change: func(w *world, g *dag.Graph) error { return g.Tasks.GiveUp(w.id("a"), "not needed") },
			ready:  []string{"b"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.plan("caller", "next after caller")
			c := w.claim("caller")
			w.addFrom(c, dag.Addition{NewTask: dag.NewTask{Detail: dag.Detail{Title: "a"}}, Place: dag.Below, Closing: true})
			w.addFrom(c, dag.Addition{NewTask: dag.NewTask{Detail: dag.Detail{Title: "b"}}, Place: dag.Below})
			w.update(func(g *dag.Graph) error { return tc.change(w, g) })
			w.update(func(g *dag.Graph) error { return g.Queue.Complete(c, "passed") })
			w.wantReady(tc.ready...)
			var below []string
			for _, child := range get(w, func(g *dag.Graph) ([]dag.Task, error) { return g.Tasks.Children(c.Task) }) {
				below = append(below, child.Title)
			}
			check.Equal(t, "subtasks", tc.below, below)
			w.sound()
		})
	}
}

func TestAgentsAddOnlySoMuch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan("0")
	add := func(c dag.Claim, title string, a dag.Addition) error {
		return w.try(func(g *dag.Graph) error {
			a.Title = title
			id, err := g.Plan.AddFrom(c, a, dag.AdditionLimits{PerAttempt: 2, Depth: 3})
			w.ids[title] = id
			return err
		})
	}
	for depth := range 3 { // a task of a task of a task
		c := w.claim(fmt.Sprint(depth))
		check.OK(t, add(c, fmt.Sprint(depth+1), dag.Addition{Place: dag.Beside}))
		if depth == 0 {
			check.OK(t, add(c, "second", dag.Addition{Place: dag.Behind}))
			for title, want := range map[string]string{"third": "run.max_subtasks", "x": "run.max_subtasks"} {
				err := add(c, title, dag.Addition{Place: dag.Beside})
				check.That(t, err != nil && strings.Contains(err.Error(), want), "%s: %v", title, err)
			}
		}
		w.update(func(g *dag.Graph) error { return g.Queue.Complete(c, "passed") })
	}
	c := w.claim("3")
	for title, a := range map[string]dag.Addition{
		"run.max_depth":  {Place: dag.Beside},
		"not \"inside\"": {Place: "inside"},
		"closing is":     {Place: dag.Beside, Closing: true},
	} {
		err := add(c, title, a)
		check.That(t, err != nil && strings.Contains(err.Error(), title), "%s: %v", title, err)
	}
}
