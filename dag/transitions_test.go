package dag_test

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ralph/dag"
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
	return map[dag.Trigger]verb{
		dag.ByClaim: func(g *dag.Graph, w *world, id string, _ dag.Claim) error {
			_, ok, err := g.Claim(dag.ClaimOptions{Run: w.run, Scope: dag.Scope{Task: id}, Lease: lease})
			if err == nil && !ok {
				err = dag.ErrRefused // finding nothing to claim is how a claim is refused
			}
			return err
		},
		dag.ByComplete: worker("complete"), dag.ByFail: worker("fail"), dag.ByRelease: worker("release"), dag.ByRetry: worker("retry"),
		dag.ByDone: person(finish), dag.ByGiveUp: person(giveUp), dag.ByReset: person(reset),
		dag.ByBlock: person(block), dag.ByUnblock: person(unblock),
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

// rollUps does everything that can happen below a group, to a group in every
// status that one can have, and returns what became of the group.
func rollUps(t *testing.T) (seen []dag.Transition) {
	events := map[string]func(w *world){
		"one is done":    func(w *world) { w.person(finish, "one") },
		"all are done":   func(w *world) { w.person(finish, "one"); w.person(finish, "two") },
		"one fails":      func(w *world) { w.person(giveUp, "one") },
		"one is reset":   func(w *world) { w.person(reset, "one") },
		"one is blocked": func(w *world) { w.person(block, "one") },
		"one is released": func(w *world) {
			c := w.claim("one")
			w.update(func(g *dag.Graph) error { return g.Release(c, dag.Release{}) })
		},
		"one is deleted":    func(w *world) { w.person(remove, "one") },
		"another is added":  func(w *world) { w.plan("three in group") },
		"one is taken away": func(w *world) { w.update(func(g *dag.Graph) error { return g.Move(w.id("one"), "") }) },
	}
	for name, event := range events {
		for _, from := range []dag.Status{dag.Pending, dag.Done, dag.Failed, dag.Blocked} {
			w := newWorld(t)
			w.plan("group", "one in group", "two in group")
			switch from {
			case dag.Done:
				w.person(finish, "one")
				w.person(finish, "two")
			case dag.Failed:
				w.person(giveUp, "one")
				if name == "all are done" || name == "one is released" || name == "one is blocked" {
					w.person(reset, "one")
					w.person(giveUp, "group")
				}
			case dag.Blocked:
				w.person(block, "group")
			}
			if !possible(w, event) {
				continue
			}
			if to := w.task("group").Status; to != from {
				seen = append(seen, dag.Transition{From: from, To: to, By: dag.ByRollUp})
			}
			w.sound()
		}
	}
	return seen
}

// possible runs an event unless the child cannot take part in it.
func possible(w *world, event func(*world)) (ok bool) {
	fatal := &silent{}
	outer := w.t
	w.t = fatal
	defer func() {
		w.t = outer
		if r := recover(); r != nil && r != fatal {
			panic(r)
		}
	}()
	event(w)
	return true
}

// silent ends an event that is impossible.
type silent struct{}

func (*silent) Helper()                 {}
func (*silent) Errorf(string, ...any)   {}
func (s *silent) Fatalf(string, ...any) { panic(s) }

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
	slices.Sort(table)
	slices.Sort(drawn)
	slices.Sort(code)
	if diff := cmp.Diff(code, table); diff != "" {
		t.Errorf("the table (-code +page):\n%s", diff)
	}
	if diff := cmp.Diff(code, drawn); diff != "" {
		t.Errorf("the drawing (-code +page):\n%s", diff)
	}
}

func arrow(from, to, by string) string {
	return strings.TrimSpace(from) + " -> " + strings.TrimSpace(to) + " by " + strings.TrimSpace(by)
}
