package dag_test

import (
	"errors"
	"testing"

	"ralph/dag"
	"ralph/internal/testing/check"
)

// undo stores a commit that takes back the work of a task that is done, and returns the ID of its task.
func (w *world) undo(title string) string {
	w.t.Helper()
	var c dag.Claim
	of := w.id(title)
	w.update(func(g *dag.Graph) (err error) {
		c, err = g.Plan.Undo(dag.NewTask{Detail: dag.Detail{Title: "Revert " + title}}, dag.NewMerge{Target: "main", Base: "tip", Work: "revert", Patch: "back"}, of)
		return err
	})
	return c.Task.ID
}

func TestTakingBackIsFinishedWorkThatSomebodyAccepted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan("a")
	w.put("a", dag.MergeLanded)
	id, a := w.undo("a"), w.task("a")
	undoing := func(g *dag.Graph) (string, error) { return g.Tasks.Undoing(a) }
	w.refused(dag.ErrRefused, func(g *dag.Graph) error { // one at a time
		_, err := g.Plan.Undo(dag.NewTask{Detail: dag.Detail{Title: "again"}}, dag.NewMerge{Target: "main"}, a.ID)
		return err
	})
	check.Equal(t, "locks", []dag.LockHolder(nil), get(w, func(g *dag.Graph) ([]dag.LockHolder, error) { return g.Queue.Locks() }))
	c, ok := w.next(dag.ClaimOptions{Finished: true, Slots: true})
	check.That(t, ok && c.Task.ID == id && c.Resume && c.Merge.Accepted && c.Merge.Work == "revert", "got %+v", c)
	check.Equal(t, "while it is not done", id, get(w, undoing))

	var m dag.Merge
	w.update(func(g *dag.Graph) (err error) {
		m, err = g.Queue.Enter(c, dag.NewMerge{Target: "main", Base: "tip", Work: "revert", Patch: "back"})
		return err
	})
	check.That(t, m.Accepted, "it is to be reviewed")
	for _, step := range []string{"built", "tested", "landing", "landed"} {
		w.update(func(g *dag.Graph) error { return queueVerbs()[step](g, c, m.N) })
	}
	w.wantReady("a")
	check.Equal(t, "afterwards", "", get(w, undoing))
	check.Equal(t, "what it undid", []string{a.ID}, get(w, func(g *dag.Graph) ([]string, error) { return g.Tasks.Undone(c.Task) }))
	w.sound()
}

func TestWorkIsNotTakenBackUnderAnAgentThatBuildsOnIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan("a", "b after a", "c after b")
	w.put("a", dag.MergeLanded)
	w.put("b", dag.MergeLanded)
	c := w.claim("c")
	undo := func(titles ...string) func(g *dag.Graph) error {
		return func(g *dag.Graph) error {
			_, err := g.Plan.Undo(dag.NewTask{Detail: dag.Detail{Title: "Revert"}}, dag.NewMerge{Target: "main"}, titles...)
			return err
		}
	}
	a, b := w.id("a"), w.id("b")
	for _, list := range [][]string{{a}, {b}, {b, a}} {
		err := w.refused(dag.ErrRefused, undo(list...))
		check.Err(t, "undo", c.Task.ID, err)
	}
	w.update(func(g *dag.Graph) error { return g.Queue.Release(c, dag.Release{}) })
	w.update(undo(b, a))
	w.sound()
}

// TestATaskThatCannotTakeBackAnyMoreIsGone: there is nothing in it for an agent.
func TestATaskThatCannotTakeBackAnyMoreIsGone(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*dag.Graph, dag.Claim) error{
		"failed":  func(g *dag.Graph, c dag.Claim) error { return g.Queue.Fail(c, "no") },
		"retried": func(g *dag.Graph, c dag.Claim) error { _, err := g.Queue.RetryAtMost(c, "no", 3); return err },
		"died": func(g *dag.Graph, c dag.Claim) error {
			return g.Queue.Reclaim(must(g.Tasks.Get(c.Task.ID)), dag.ReclaimOptions{})
		},
		"gave up": func(g *dag.Graph, c dag.Claim) error {
			return g.Queue.Reclaim(must(g.Tasks.Get(c.Task.ID)), dag.ReclaimOptions{Fail: true})
		},
		"reset": func(g *dag.Graph, c dag.Claim) error {
			return cmpErr(g.Tasks.Reset(c.Task.ID), g.History.AbandonAttempt(c.Attempt, "interrupted", ""))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.plan("a")
			w.put("a", dag.MergeLanded)
			id := w.undo("a")
			c, _ := w.next(dag.ClaimOptions{Slots: true})
			w.update(func(g *dag.Graph) error { return end(g, c) })
			if name == "reset" { // a person may do so; the next claim finds nothing in it
				c, ok := w.next(dag.ClaimOptions{})
				check.That(t, !ok, "an agent gets %s", c.Task.Title)
			}
			err := w.try(func(g *dag.Graph) error { _, err := g.Tasks.Get(id); return err })
			check.That(t, errors.Is(err, dag.ErrNotFound), "it is still there: %v", err)
			w.wantStatuses(map[string]dag.Status{"a": dag.Done})
			w.undo("a")
			w.sound()
		})
	}
}

// landRevert brings a commit that takes back the work of a task to where its target may have moved.
func (w *world) landRevert(title string) (id string, c dag.Claim, n int64) {
	w.t.Helper()
	id = w.undo(title)
	c, _ = w.next(dag.ClaimOptions{Finished: true, Slots: true})
	n = w.enter(c, "main").N
	for _, step := range []string{"built", "tested", "landing"} {
		w.update(func(g *dag.Graph) error { return queueVerbs()[step](g, c, n) })
	}
	return id, c, n
}

// TestARevertThatMayHaveLandedStaysUntilThatIsKnown: its task says what is open again then.
func TestARevertThatMayHaveLandedStaysUntilThatIsKnown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan("a")
	w.put("a", dag.MergeLanded)
	id, c, n := w.landRevert("a")
	for _, verb := range []func(*dag.Graph) error{
		func(g *dag.Graph) error { return g.Plan.Delete(id) },
		func(g *dag.Graph) error { return g.Plan.DeleteTree(id) },
		func(g *dag.Graph) error { return g.Tasks.Reset(id) },
		func(g *dag.Graph) error { _, err := g.Tasks.ResetTree(id); return err },
		func(g *dag.Graph) error { return g.Tasks.Block(id, "") },
		func(g *dag.Graph) error { return g.Queue.Reclaim(must(g.Tasks.Get(id)), dag.ReclaimOptions{}) },
	} {
		check.Err(t, "take it away", "ralph recover", w.refused(dag.ErrRefused, verb))
	}
	w.update(func(g *dag.Graph) error { return g.Queue.Drop(c, n, "the target did not move") })
	w.update(func(g *dag.Graph) error { return g.Plan.Delete(id) })
	w.sound()
}

func TestWhatALandedRevertUndidIsOpenEvenIfItsClaimWasLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan("a")
	w.put("a", dag.MergeLanded)
	id, c, n := w.landRevert("a")
	w.abandon(c)
	w.update(func(g *dag.Graph) error { return g.Queue.SettleLanding(n, true, "") })
	w.wantReady("a")
	err := w.try(func(g *dag.Graph) error { _, err := g.Tasks.Get(id); return err })
	check.That(t, errors.Is(err, dag.ErrNotFound), "it would land once more: %v", err)
	w.sound()
}

// TestARateLimitKeepsOnlyBackWhatMayNeedAnAgent: what died while it was verified may need a verifier.
func TestARateLimitKeepsOnlyBackWhatMayNeedAnAgent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan("a", "b")
	c, _ := w.put("a", dag.MergeGreen)
	w.reclaim("a", dag.ReclaimOptions{Unverified: c.Attempt})
	w.put("b", dag.MergeHeld)
	limited := dag.ClaimOptions{Finished: true, Skip: dag.Skip{Agent: "fake", Agents: []string{"fake"}}}
	_, ok := w.next(limited)
	check.That(t, !ok, "got work that may need an agent")
	refused := get(w, func(g *dag.Graph) (dag.Refused, error) { return g.Queue.Refused(limited) })
	check.That(t, refused.Limited, "got %+v", refused)
	w.person(accept, "b")
	c, _ = w.next(limited)
	check.Equal(t, "claimed", "b", c.Task.Title)
	w.sound()
}

func must(t dag.Task, err error) dag.Task {
	if err != nil {
		panic(err)
	}
	return t
}
