package dag_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"ralph/dag"
	"ralph/internal/event"
	"ralph/internal/testing/check"
)

// verbs are the triggers that act on the task itself. Those of a worker use the
// claim it last had.
func verbs() map[dag.Trigger]func(g *dag.Graph, w *world, id string, c dag.Claim) error {
	type verb = func(g *dag.Graph, w *world, id string, c dag.Claim) error
	worker := func(name string) verb {
		return func(g *dag.Graph, _ *world, _ string, c dag.Claim) error { return returns()[name](g, c) }
	}
	person := func(do func(*dag.Graph, string) error) verb {
		return func(g *dag.Graph, _ *world, id string, _ dag.Claim) error { return do(g, id) }
	}
	decide := func(when dag.When) verb { // of a task that waited for one that is done
		return func(g *dag.Graph, _ *world, id string, _ dag.Claim) error {
			before, err := g.Plan.Add(dag.NewTask{Detail: dag.Detail{Title: "before", Output: "before"}})
			if err == nil {
				err = errors.Join(g.Tasks.Finish(before), g.Plan.Link(before, id), g.Plan.Edit(id, dag.Detail{When: &when}, "when"))
			}
			list, derr := g.Queue.Decide(dag.Scope{Task: id}, true)
			if len(list) == 0 && errors.Join(err, derr) == nil {
				err = dag.ErrRefused
			}
			return errors.Join(err, derr)
		}
	}
	return map[dag.Trigger]verb{
		dag.BySkip: decide(dag.When{Output: "before", Status: dag.Failed}), dag.ByDoubt: decide(dag.When{Output: "before", Matches: "x"}),
		dag.ByClaim: func(g *dag.Graph, w *world, id string, _ dag.Claim) error {
			_, ok, err := g.Queue.Claim(dag.ClaimOptions{Run: w.run, Scope: dag.Scope{Task: id}, Lease: lease})
			if err == nil && !ok {
				err = dag.ErrRefused // finding nothing to claim is how a claim is refused
			}
			return err
		},
		dag.ByComplete: worker("complete"), dag.ByFail: worker("fail"), dag.ByRelease: worker("release"), dag.ByRetry: worker("retry"),
		dag.ByDone: person(finish), dag.ByGiveUp: person(giveUp), dag.ByReset: person(reset),
		dag.ByBlock: person(block), dag.ByUnblock: person(unblock), dag.ByCancel: person(cancel),
		dag.ByAccept: func(g *dag.Graph, _ *world, id string, c dag.Claim) error {
			if err := g.History.NoteAttempt(c.Attempt, dag.Note{Rejected: event.RejectedTampering}); err != nil {
				return err
			}
			return accept(g, id)
		},
	}
}

// putLeaf brings a leaf into a status, by way of a claim, which it returns.
func putLeaf(w *world, title string, s dag.Status) dag.Claim {
	w.plan(title)
	c := w.claim(title)
	switch s {
	case dag.InProgress:
	case dag.Done:
		w.update(func(g *dag.Graph) error { return g.Queue.Complete(c, "passed") })
	case dag.Failed:
		w.update(func(g *dag.Graph) error { return g.Queue.Fail(c, "it broke") })
	default:
		w.update(func(g *dag.Graph) error { return g.Queue.Release(c, dag.Release{}) })
	}
	switch s {
	case dag.Blocked:
		w.person(block, title)
	case dag.Cancelled:
		w.person(cancel, title)
	}
	return c
}

// TestExactlyTheListedTransitionsHappen does every verb to a task in every status, and to
// children of a group what moves the group, and collects what changed.
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
				check.That(t, err == nil, "%s to a task that is %s: %v", by, from, err)
			case err == nil: // it was there already: a repetition, not a refusal
				check.That(t, repeats(from, by), "%s to a task that is %s: got no error and no change", by, from)
			case !errors.Is(err, dag.ErrRefused) && !errors.Is(err, dag.ErrLost):
				t.Errorf("%s to a task that is %s: got %v, want a refusal", by, from, err)
			default:
				check.Equal(t, fmt.Sprintf("after %s to a task that is %s was refused", by, from), before, w.dump())
			}
		}
	}
	w.plan("group", "one in group", "two in group", "stray")
	join := func(g *dag.Graph, id string) error { return g.Plan.Move(id, w.id("group")) }
	at := dag.Pending
	for _, child := range []struct {
		verb  func(*dag.Graph, string) error
		title string
	}{
		{finish, "one"},
		{finish, "two"},
		{reset, "one"},
		{giveUp, "one"},
		{reset, "one"},
		{giveUp, "one"},
		{cancel, "one"},
		{finish, "one"},
		{reset, "one"},
		{cancel, "one"},
		{reset, "one"},
		{giveUp, "one"},
		{remove, "one"},
		{cancel, "stray"},
		{join, "stray"},
	} {
		w.person(child.verb, child.title)
		if to := w.task("group").Status; to != at {
			seen[dag.Transition{From: at, To: to, By: dag.ByRollUp}] = true
			at = to
		}
	}
	w.sound()
	want := map[dag.Transition]bool{}
	for _, tr := range dag.Transitions() {
		want[tr] = true
	}
	check.Equal(t, "transitions that happened", want, seen)
}

// repeats says that the verb leads to where the task already is.
func repeats(at dag.Status, by dag.Trigger) bool {
	return slices.Contains([]dag.Transition{
		{From: dag.Done, By: dag.ByDone},
		{From: dag.Failed, By: dag.ByGiveUp},
		{From: dag.Pending, By: dag.ByReset},
		{From: dag.Blocked, By: dag.ByBlock},
		{From: dag.Cancelled, By: dag.ByCancel},
		{From: dag.Pending, By: dag.ByAccept}, // it is claimed without an agent now
	}, dag.Transition{From: at, By: by})
}

// TestTheGuardHoldsForEveryCombination asks the one place where statuses change
// for every (from, to, trigger) there is.
func TestTheGuardHoldsForEveryCombination(t *testing.T) {
	t.Parallel()
	triggers := []dag.Trigger{
		dag.ByClaim, dag.ByComplete, dag.ByFail, dag.ByRelease, dag.ByRetry, dag.ByRollUp,
		dag.ByDone, dag.ByGiveUp, dag.ByReset, dag.ByBlock, dag.ByUnblock, dag.ByAccept, dag.ByCancel,
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
				err := w.try(func(g *dag.Graph) error { return keepNot(g.MoveTo(w.id(string(from)), to, by)) })
				want := dag.ErrRefused
				if slices.Contains(dag.Transitions(), tr) {
					want = errNotKept
				}
				check.That(t, errors.Is(err, want), "%v: got %v, want %v", tr, err, want)
			}
		}
	}
}

// TestStateMachinePageAgreesWithTheCode compares the table and the drawing of
// docs/state-machine.md with Transitions, both ways.
func TestStateMachinePageAgreesWithTheCode(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/state-machine.md")
	check.OK(t, err)
	var table, drawn []string
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(line, "|")
		if len(cells) == 6 && slices.Contains(dag.Statuses(), dag.Status(strings.TrimSpace(cells[1]))) {
			table = append(table, arrow(cells[1], cells[2], cells[3]))
		}
		from, rest, isEdge := strings.Cut(line, " --> ")
		to, verbs, hasVerbs := strings.Cut(rest, ": ")
		if isEdge && hasVerbs {
			for _, by := range strings.Split(verbs, ", ") {
				drawn = append(drawn, arrow(from, to, by))
			}
		}
	}
	var code []string
	for _, tr := range dag.Transitions() {
		code = append(code, arrow(string(tr.From), string(tr.To), string(tr.By)))
	}
	sorted := cmpopts.SortSlices(strings.Compare)
	check.Equal(t, "the table of the page", code, table, sorted)
	check.Equal(t, "the drawing of the page", code, drawn, sorted)
}

func arrow(from, to, by string) string {
	return strings.TrimSpace(from) + " -> " + strings.TrimSpace(to) + " by " + strings.TrimSpace(by)
}
