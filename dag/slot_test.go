package dag_test

import (
	"testing"

	"ralph/dag"
	"ralph/internal/event"
	"ralph/internal/testing/check"
)

func TestAClaimTakesTheLowestFreeSlotOrThatOfItsLastAttempt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan("a", "b", "c", "d")
	opts := dag.ClaimOptions{Slots: true}
	a, b, c := w.take("a", opts), w.take("b", opts), w.take("c", opts)
	check.Equal(t, "slots", []int{1, 2, 3}, []int{a.Slot, b.Slot, c.Slot})
	w.update(func(g *dag.Graph) error { return g.Queue.Release(c, dag.Release{}) })
	w.update(func(g *dag.Graph) error { return g.Queue.Release(a, dag.Release{}) })
	c = w.take("c", dag.ClaimOptions{Scope: dag.Scope{Task: w.id("c")}, Slots: true})
	check.Equal(t, "the slot that it had", 3, c.Slot)
	w.update(func(g *dag.Graph) error { return g.Queue.Complete(c, "passed") })
	w.plan("new prio -1")
	check.Equal(t, "the slot of one that is new", 1, w.take("new", opts).Slot)
	check.Equal(t, "the slot of one that had another's", 3, w.take("a", opts).Slot)
	check.Equal(t, "on record", 3, get(w, func(g *dag.Graph) (dag.Attempt, error) { return g.History.Attempt(c.Attempt) }).Slot)
	check.Equal(t, "without slots", 0, w.take("d", dag.ClaimOptions{}).Slot)
	w.sound()
}

// TestAnAgentThatIsStillAtWorkKeepsItsSlotAndItsLocks takes tasks away from agents, which are at work until they
// were told.
func TestAnAgentThatIsStillAtWorkKeepsItsSlotAndItsLocks(t *testing.T) {
	t.Parallel()
	gone := map[string]func(*world, dag.Claim){
		"it was stopped": func(w *world, c dag.Claim) { w.abandon(c) },
		"its run died":   func(w *world, c dag.Claim) { w.update(func(g *dag.Graph) error { return g.Queue.Left(c.Attempt) }) },
		"its run was closed": func(w *world, _ dag.Claim) {
			w.update(func(g *dag.Graph) error { _, err := g.Queue.Died(w.run.ID, "gone"); return err })
		},
		"its run ended by then": func(w *world, _ dag.Claim) {
			w.update(func(g *dag.Graph) error { return g.History.EndRun(w.run.ID, event.OutcomeStopped, "", 1) })
		},
	}
	taken := map[string]func(*world){
		"reset": func(w *world) { w.update(func(g *dag.Graph) error { return g.Tasks.Reset(w.id("a")) }) },
		"tree reset": func(w *world) {
			w.update(func(g *dag.Graph) error { _, err := g.Tasks.ResetTree(w.id("a")); return err })
		},
		"done":    func(w *world) { w.update(func(g *dag.Graph) error { return g.Tasks.Finish(w.id("a")) }) },
		"deleted": func(w *world) { w.update(func(g *dag.Graph) error { return g.Plan.Delete(w.id("a")) }) },
		"reset, deleted": func(w *world) {
			w.update(func(g *dag.Graph) error { return cmpErr(g.Tasks.Reset(w.id("a")), g.Plan.Delete(w.id("a"))) })
		},
	}
	for how, take := range taken {
		for end, leave := range gone {
			t.Run(how+", "+end, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				w.add(dag.NewTask{Detail: dag.Detail{Title: "a", Locks: []string{"gpu"}}})
				c := w.take("a", dag.ClaimOptions{Slots: true})
				take(w)
				held := []dag.LockHolder{{Name: "gpu", Attempt: c.Attempt, Task: c.Task.ID}, {Name: "slot:1", Attempt: c.Attempt, Task: c.Task.ID}}
				check.Equal(t, "while it is at work", held, get(w, func(g *dag.Graph) ([]dag.LockHolder, error) { return g.Queue.Locks() }))
				check.Equal(t, "who has a slot", c.Attempt, get(w, func(g *dag.Graph) ([]dag.Attempt, error) { return g.Queue.InSlots() })[0].ID)
				w.sound()
				leave(w, c)
				check.Equal(t, "when it is gone", []dag.LockHolder(nil), get(w, func(g *dag.Graph) ([]dag.LockHolder, error) { return g.Queue.Locks() }))
				w.sound()
			})
		}
	}
}

func cmpErr(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
