package dag_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ralph/dag"
	"ralph/internal/testing/check"
)

// verbs are the triggers that act on the task itself. Those of a worker use the
// claim it last had.
func verbs() map[dag.Trigger]func(g *dag.Graph, w *world, id string, c dag.Claim) error {
	return map[dag.Trigger]func(g *dag.Graph, w *world, id string, c dag.Claim) error{
		dag.ByClaim: func(g *dag.Graph, w *world, id string, _ dag.Claim) error {
			_, ok, err := g.Claim(dag.ClaimOptions{Run: w.run, Scope: dag.Scope{Task: id}, Lease: lease})
			if err == nil && !ok {
				err = dag.ErrRefused // finding nothing to claim is how a claim is refused
			}
			return err
		},
		dag.ByComplete: func(g *dag.Graph, _ *world, _ string, c dag.Claim) error { return g.Complete(c, "passed") },
		dag.ByFail:     func(g *dag.Graph, _ *world, _ string, c dag.Claim) error { return g.Fail(c, "it broke") },
		dag.ByRelease: func(g *dag.Graph, _ *world, _ string, c dag.Claim) error {
			return g.Release(c, dag.Release{Reason: "no answer"})
		},
		dag.ByRetry: func(g *dag.Graph, _ *world, _ string, c dag.Claim) error {
			_, err := g.Retry(c, "not good", 3)
			return err
		},
		dag.ByDone:    func(g *dag.Graph, _ *world, id string, _ dag.Claim) error { return g.Finish(id) },
		dag.ByGiveUp:  func(g *dag.Graph, _ *world, id string, _ dag.Claim) error { return g.GiveUp(id, "") },
		dag.ByReset:   func(g *dag.Graph, _ *world, id string, _ dag.Claim) error { return g.Reset(id) },
		dag.ByBlock:   func(g *dag.Graph, _ *world, id string, _ dag.Claim) error { return g.Block(id, "") },
		dag.ByUnblock: func(g *dag.Graph, _ *world, id string, _ dag.Claim) error { return g.Unblock(id) },
	}
}

// putLeaf brings a leaf into a status, by way of a claim, which it returns.
func putLeaf(w *world, title string, s dag.Status) dag.Claim {
	w.plan(title)
	c := w.claim(title)
	switch s {
	case dag.InProgress:
	case dag.Done:
		w.update(func(g *dag.Graph) error { return g.Complete(c, "passed") })
	case dag.Failed:
		w.update(func(g *dag.Graph) error { return g.Fail(c, "it broke") })
	default:
		w.update(func(g *dag.Graph) error { return g.Release(c, dag.Release{}) })
	}
	if s == dag.Blocked {
		w.person(block, title)
	}
	return c
}

// TestExactlyTheListedTransitionsHappen does every verb to a task in every status
// and every event to a group in every status, and collects what changed.
func TestExactlyTheListedTransitionsHappen(t *testing.T) {
	t.Parallel()
	seen := map[dag.Transition]bool{}
	w := newWorld(t)
	for by, verb := range verbs() {
		for _, from := range dag.Statuses() {
			title := strings.ReplaceAll(string(by), " ", "-") + "-" + string(from)
			c := putLeaf(w, title, from)
			before := w.dump()
			err := w.try(func(g *dag.Graph) error { return verb(g, w, w.id(title), c) })
			to := w.task(title).Status
			switch {
			case to != from:
				seen[dag.Transition{From: from, To: to, By: by}] = true
				if err != nil {
					t.Errorf("%s to a task that is %s: %v", by, from, err)
				}
			case err == nil: // it was there already: a repetition, not a refusal
				if !repeats(from, by) {
					t.Errorf("%s to a task that is %s: got no error and no change", by, from)
				}
			case !errors.Is(err, dag.ErrRefused) && !errors.Is(err, dag.ErrLost):
				t.Errorf("%s to a task that is %s: got %v, want a refusal", by, from, err)
			default:
				if diff := cmp.Diff(before, w.dump()); diff != "" {
					t.Errorf("%s to a task that is %s was refused and changed something:\n%s", by, from, diff)
				}
			}
		}
	}
	w.sound()
	for _, tr := range rollUps(t) {
		seen[tr] = true
	}
	want := map[dag.Transition]bool{}
	for _, tr := range dag.Transitions() {
		want[tr] = true
	}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("transitions (-listed +seen):\n%s", diff)
	}
}

// repeats says that the verb leads to where the task already is.
func repeats(at dag.Status, by dag.Trigger) bool {
	return slices.Contains([]dag.Transition{
		{From: dag.Done, By: dag.ByDone},
		{From: dag.Failed, By: dag.ByGiveUp},
		{From: dag.Pending, By: dag.ByReset},
		{From: dag.Blocked, By: dag.ByBlock},
	}, dag.Transition{From: at, By: by})
}

// TestTheGuardHoldsForEveryCombination asks the one place where statuses change
// for every (from, to, trigger) there is.
func TestTheGuardHoldsForEveryCombination(t *testing.T) {
	t.Parallel()
	triggers := []dag.Trigger{
		dag.ByClaim, dag.ByComplete, dag.ByFail, dag.ByRelease, dag.ByRetry, dag.ByRollUp,
		dag.ByDone, dag.ByGiveUp, dag.ByReset, dag.ByBlock, dag.ByUnblock,
	}
	w := newWorld(t)
	for _, from := range dag.Statuses() {
		putLeaf(w, string(from), from)
		for _, to := range dag.Statuses() {
			for _, by := range triggers {
				tr := dag.Transition{From: from, To: to, By: by}
				if to == dag.InProgress && by == dag.ByClaim {
					continue // made by Claim itself, in its own statement
				}
				err := w.try(func(g *dag.Graph) error {
					if err := g.MoveTo(w.id(string(from)), to, by); err != nil {
						return err
					}
					return errNotKept
				})
				want := dag.ErrRefused
				if slices.Contains(dag.Transitions(), tr) {
					want = errNotKept
				}
				if !errors.Is(err, want) {
					t.Errorf("%v: got %v, want %v", tr, err, want)
				}
			}
		}
	}
}

func TestEveryTransitionOfARunningTaskFencesItsWorker(t *testing.T) {
	t.Parallel()
	for by, verb := range verbs() {
		t.Run(string(by), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			c := putLeaf(w, "a", dag.InProgress)
			err := w.try(func(g *dag.Graph) error { return verb(g, w, w.id("a"), c) })
			if refused := by == dag.ByClaim || by == dag.ByBlock || by == dag.ByUnblock; refused {
				if !errors.Is(err, dag.ErrRefused) {
					t.Fatalf("got %v, want a refusal", err)
				}
				return
			}
			check.OK(t, err)
			w.refused(dag.ErrLost, func(g *dag.Graph) error { return g.Heartbeat(c, time.Hour) })
			want := c.Generation // the worker itself gave it back
			if by == dag.ByDone || by == dag.ByGiveUp || by == dag.ByReset {
				want++ // it was taken away
			}
			if got := w.task("a").Generation; got != want {
				t.Errorf("generation: got %d, want %d", got, want)
			}
		})
	}
}
