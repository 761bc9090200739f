package dag_test

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"ralph/dag"
	"ralph/internal/testing/check"
	"ralph/internal/testing/raced"
)

// TestApplyingIsImportingIntoNothing holds Apply to its oracle: whatever the graph was before, it is then what an import
// of the plan into an empty one makes of it, and everything derived is right.
func TestApplyingIsImportingIntoNothing(t *testing.T) {
	raced.Long(t, "one plan after the other is applied here")
	t.Parallel()
	dir := t.TempDir()
	n := 0
	checkWorlds(t, func(rt *rapid.T, w *world) {
		n++
		fresh := openWorld(t.Context(), rt, filepath.Join(dir, fmt.Sprint(n)))
		defer fresh.close()
		old, wanted := drawTasks(rt, "old"), drawTasks(rt, "new")
		if w.try(func(g *dag.Graph) error { _, err := g.Plan.Import(old); return err }) != nil {
			rt.Skip("no plan to begin with")
		}
		for i := range old { // some of it goes on here
			switch rapid.IntRange(0, 3).Draw(rt, "work") {
			case 0:
				_ = w.try(func(g *dag.Graph) error { return g.Tasks.Finish(old[i].Ref) })
			case 1:
				_ = w.try(func(g *dag.Graph) error { return g.Tasks.Block(old[i].Ref, "") })
			}
		}
		var gone []string
		for _, s := range old {
			if !slices.ContainsFunc(wanted, func(other dag.Spec) bool { return other.Ref == s.Ref }) {
				gone = append(gone, s.Ref)
			}
		}
		imported := fresh.try(func(g *dag.Graph) error { _, err := g.Plan.Import(slices.Clone(wanted)); return err })
		before := w.dump()
		err := w.try(func(g *dag.Graph) error {
			_, err := g.Plan.Apply(dag.Wanted{Specs: wanted, Deleted: gone, Key: dag.ByID, Busy: dag.Postpone})
			return err
		})
		if err != nil {
			if !errors.As(err, new(dag.PlanError)) || imported == nil {
				rt.Fatalf("got %v, want %v", err, imported)
			}
			if diff := cmp.Diff(before, w.dump()); diff != "" {
				rt.Fatalf("a refused plan changed something:\n%s", diff)
			}
			return
		}
		w.sound()
		if imported != nil {
			if !strings.Contains(imported.Error(), "it is done, but") {
				rt.Fatalf("applied what an import refuses: %v", imported)
			}
			return
		}
		check.Equal(rt, "plan", exported(fresh), exported(w))
		again := applied(w, wanted, gone)
		check.Equal(rt, "applied again", dag.Applied{}, again)
	})
}

// TestApplyingAPartKeepsTheGraphSound applies plans that name only some tasks: all that is derived stays right, and a cycle is
// found if, and only if, all tasks together have one.
func TestApplyingAPartKeepsTheGraphSound(t *testing.T) {
	t.Parallel()
	checkWorlds(t, func(rt *rapid.T, w *world) {
		old, wanted := drawTasks(rt, "old"), drawTasks(rt, "new")
		if w.try(func(g *dag.Graph) error { _, err := g.Plan.Import(old); return err }) != nil {
			rt.Skip("no plan to begin with")
		}
		for i := range old {
			switch rapid.IntRange(0, 5).Draw(rt, "work") {
			case 0:
				_ = w.try(func(g *dag.Graph) error { return g.Tasks.Finish(old[i].Ref) })
			case 1:
				_ = w.try(func(g *dag.Graph) error { return g.Tasks.GiveUp(old[i].Ref, "") })
			}
		}
		w.sound()
		var gone []string
		for _, s := range old {
			if rapid.IntRange(0, 3).Draw(rt, "gone") == 0 {
				gone = append(gone, s.Ref)
			}
		}
		all := stored(w)
		for _, id := range gone {
			delete(all, id)
		}
		for _, s := range wanted {
			all[s.Ref] = s
		}
		err := w.try(func(g *dag.Graph) error {
			_, err := g.Plan.Apply(dag.Wanted{Specs: wanted, Deleted: gone, Key: dag.ByID, Busy: dag.Postpone})
			return err
		})
		together := dag.FindCycle(slices.Collect(maps.Values(all)))
		switch {
		case err == nil && together != nil:
			rt.Fatalf("applied, although %v", together)
		case errors.As(err, new(*dag.CycleError)) && together == nil:
			rt.Fatalf("got %v, and there is none", err)
		case err != nil && !errors.As(err, new(dag.PlanError)):
			rt.Fatalf("got %v, want a PlanError", err)
		}
		w.sound()
	})
}

// stored are the places of all tasks, by ID.
func stored(w *world) map[string]dag.Spec {
	all := map[string]dag.Spec{}
	w.view(func(g *dag.Graph) error {
		return g.Tasks.Each(dag.Filter{}, func(t dag.Task) error {
			after, _, err := g.Tasks.BlockerIDs(t)
			s := t.Spec()
			s.Parent, s.After = t.Parent, after
			all[t.ID] = s
			return err
		})
	})
	return all
}

func applied(w *world, specs []dag.Spec, deleted []string) (done dag.Applied) {
	w.t.Helper()
	w.update(func(g *dag.Graph) (err error) {
		done, err = g.Plan.Apply(dag.Wanted{Specs: specs, Deleted: deleted, Key: dag.ByID, Busy: dag.Postpone})
		return err
	})
	return done
}

// exported are all tasks as a plan says them, by ID.
func exported(w *world) map[string]string {
	all := map[string]string{}
	w.view(func(g *dag.Graph) error {
		return g.Tasks.Each(dag.Filter{}, func(t dag.Task) error {
			after, _, err := g.Tasks.BlockerIDs(t)
			slices.Sort(after)
			related, rerr := g.Tasks.Related(t)
			var same []string
			for _, other := range related {
				if other.Feature == t.Feature {
					same = append(same, other.ID)
				}
			}
			slices.Sort(same)
			err = errors.Join(err, rerr)
			all[t.ID] = fmt.Sprint(t.Title, "|", t.Description, "|", t.Priority, t.Parent, after, t.Feature, t.Kind, t.Agent, t.Model, t.Gates, t.MaxRetries != nil,
				t.Locks, t.Paths, t.MayChange, t.ExpectRed, t.Status, t.Retries, t.Verification, t.Children, t.OpenDeps, t.Held, t.Doomed,
				same, t.Tags, t.Context, t.Output, t.Timeout, t.OnFail, t.Emptied, t.Origin, t.DiscoveredFrom, t.Satisfies)
			return err
		})
	})
	return all
}

func drawTasks(rt *rapid.T, label string) []dag.Spec {
	const pool = 7
	ref := func(i int) string { return fmt.Sprintf("t-0000000%d", i) }
	order := rapid.Permutation([]int{1, 2, 3, 4, 5, 6, 7}).Draw(rt, label)[:rapid.IntRange(0, pool).Draw(rt, "tasks")]
	specs := make([]dag.Spec, len(order))
	for i, n := range order {
		s := dag.Spec{Line: i + 1, Ref: ref(n), Detail: dag.Detail{Title: rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "title"), Priority: int64(rapid.IntRange(0, 2).Draw(rt, "priority"))}}
		if rapid.IntRange(0, 3).Draw(rt, "more") == 0 {
			retries := 2
			s.Description, s.Kind, s.Agent, s.Model, s.Gates, s.MaxRetries = "d", dag.Check, "shell", "m", []string{"true"}, &retries
			s.Locks, s.Paths, s.MayChange, s.ExpectRed, s.Retries, s.Verification = []string{"gpu"}, []string{"a/"}, []string{"a/"}, "true", 1, "passed"
		}
		s.Status = rapid.SampledFrom([]dag.Status{"", "", dag.Done, dag.Failed, dag.Blocked, dag.InProgress, dag.Cancelled}).Draw(rt, "status")
		if rapid.IntRange(0, 3).Draw(rt, "even more") == 0 {
			s.Tags, s.Context, s.Output, s.Timeout, s.OnFail, s.Group, s.Origin, s.DiscoveredFrom = []string{"api"}, []string{"ls"}, "o", time.Second, dag.Continue, true, "x", "y"
		}
		s.Satisfied = s.Status == dag.Cancelled && rapid.Bool().Draw(rt, "satisfied")
		if i > 0 && rapid.Bool().Draw(rt, "has a parent") {
			s.Parent = ref(order[rapid.IntRange(0, i-1).Draw(rt, "parent")])
		}
		for range rapid.IntRange(0, 2).Draw(rt, "blockers") {
			if other := ref(order[rapid.IntRange(0, len(order)-1).Draw(rt, "after")]); other != s.Ref && !slices.Contains(s.After, other) {
				s.After = append(s.After, other)
			}
		}
		if other := ref(order[rapid.IntRange(0, len(order)-1).Draw(rt, "related")]); other != s.Ref && rapid.Bool().Draw(rt, "is related") {
			s.Related = []string{other}
		}
		if s.Parent == "" {
			s.Feature = rapid.SampledFrom([]string{"", "", "f", "g"}).Draw(rt, "feature")
		}
		specs[i] = s
	}
	return specs
}

// TestApplyLeavesAloneWhatRuns shows that no plan changes or deletes a task under its agent, and that the same plan does
// so when it has ended.
func TestApplyLeavesAloneWhatRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := func(n int) string { return fmt.Sprintf("t-0000000%d", n) }
	w.update(func(g *dag.Graph) error {
		_, err := g.Plan.Import([]dag.Spec{
			{Ref: id(1), Detail: dag.Detail{Title: "group"}}, {Ref: id(2), Detail: dag.Detail{Title: "runs", Priority: -1}, Parent: id(1)}, {Ref: id(3), Detail: dag.Detail{Title: "waits"}}, {Ref: id(4), Detail: dag.Detail{Title: "gone"}},
		})
		return err
	})
	claim := w.take("runs", dag.ClaimOptions{})
	plan := []dag.Spec{{Line: 1, Ref: id(3), Detail: dag.Detail{Title: "waits no more"}}, {Line: 2, Ref: id(2), Detail: dag.Detail{Title: "other"}}, {Line: 3, Ref: id(5), Detail: dag.Detail{Title: "below"}, Parent: id(2)}, {Line: 4, Ref: id(6), Detail: dag.Detail{Title: "after it"}, After: []string{id(5)}}}
	done := applied(w, plan, []string{id(1), id(4)})
	check.Equal(t, "applied", dag.Applied{Changed: []string{id(3)}, Deleted: []string{id(4)}, Postponed: []string{id(1), id(2), id(5), id(6)}}, done)
	check.Equal(t, "title", "runs", w.task(id(2)).Title)
	w.sound()

	done = applied(w, []dag.Spec{{Ref: id(2), Detail: dag.Detail{Title: "runs", Priority: -1}, Parent: id(1)}}, nil)
	check.Equal(t, "what says the same", dag.Applied{}, done)

	w.update(func(g *dag.Graph) error { return g.Queue.Release(claim, dag.Release{}) })
	done = applied(w, plan, []string{id(1), id(4)})
	check.Equal(t, "applied", dag.Applied{Added: []string{id(5), id(6)}, Changed: []string{id(2)}, Deleted: []string{id(1)}}, done)
	w.sound()
}

// TestApplyRefusals names the line of each.
func TestApplyRefusals(t *testing.T) {
	t.Parallel()
	for want, plan := range map[string][]dag.Spec{
		`line 2: that would be a cycle: t-00000002 waits for t-00000003, which waits for t-00000002`: {
			{Line: 2, Ref: "t-00000002", Detail: dag.Detail{Title: "a"}, After: []string{"t-00000003"}}, {Line: 3, Ref: "t-00000003", Detail: dag.Detail{Title: "b"}, After: []string{"t-00000002"}},
		},
		`line 4: after "t-000000ff" is neither a ref of this file nor a task`:                {{Line: 4, Ref: "t-00000002", Detail: dag.Detail{Title: "a"}, After: []string{"t-000000ff"}}},
		`line 5: refused: ref "lexer" is not the ID of a task, which is t- and 8 hex digits`: {{Line: 5, Ref: "lexer", Detail: dag.Detail{Title: "a"}}},
		`line 6: refused: a title must not be empty`:                                         {{Line: 6, Ref: "t-00000002"}},
		`line 8: ref "t-00000002" is taken by line 7`:                                        {{Line: 7, Ref: "t-00000002", Detail: dag.Detail{Title: "a"}}, {Line: 8, Ref: "t-00000002", Detail: dag.Detail{Title: "b"}}},
		`line 9: feature "x" differs from its parent's, none`:                                {{Line: 9, Ref: "t-00000002", Detail: dag.Detail{Title: "a"}, Parent: "t-00000001", Feature: "x"}},
	} {
		w := newWorld(t)
		w.update(func(g *dag.Graph) error {
			_, err := g.Plan.Import([]dag.Spec{{Ref: "t-00000001", Detail: dag.Detail{Title: "old"}}})
			return err
		})
		before := w.dump()
		err := w.try(func(g *dag.Graph) error {
			_, err := g.Plan.Apply(dag.Wanted{Specs: plan, Key: dag.ByID, Busy: dag.Postpone})
			return err
		})
		if err == nil || err.Error() != want || !errors.Is(err, dag.ErrRefused) {
			t.Errorf("got %v, want %s", err, want)
		}
		check.Equal(t, "graph", before, w.dump())
	}
}

// TestAGroupThatAPlanDoesNotNameFollowsWhatItHolds shows the same of a plan that is applied as of a task that is added, ends or leaves.
func TestAGroupThatAPlanDoesNotNameFollowsWhatItHolds(t *testing.T) {
	t.Parallel()
	group, child, top := "t-00000001", "t-00000002", "t-00000003"
	for name, test := range map[string]struct {
		plan   []dag.Spec
		gone   []string
		group  dag.Status
		top    dag.Status
		groups []string // that changed
	}{
		"a new subtask opens it":    {[]dag.Spec{{Ref: "t-00000004", Detail: dag.Detail{Title: "new"}, Parent: group}}, nil, dag.Pending, dag.Pending, []string{group, top}},
		"a subtask is done":         {[]dag.Spec{{Ref: child, Detail: dag.Detail{Title: "child"}, Parent: group, Status: dag.Done}}, nil, dag.Done, dag.Done, []string{child, group, top}},
		"its last subtask leaves":   {[]dag.Spec{{Ref: child, Detail: dag.Detail{Title: "child"}, Status: dag.Failed}}, nil, dag.Failed, dag.Failed, []string{child}},
		"its last subtask is gone":  {nil, []string{child}, dag.Failed, dag.Failed, nil},
		"what it holds is the same": {[]dag.Spec{{Ref: child, Detail: dag.Detail{Title: "child"}, Parent: group, Status: dag.Failed}}, nil, dag.Failed, dag.Failed, nil},
	} {
		w := newWorld(t)
		w.update(func(g *dag.Graph) error {
			_, err := g.Plan.Import([]dag.Spec{
				{Ref: top, Detail: dag.Detail{Title: "top"}},
				{Ref: group, Detail: dag.Detail{Title: "group"}, Parent: top},
				{Ref: child, Detail: dag.Detail{Title: "child"}, Parent: group, Status: dag.Failed},
			})
			return err
		})
		done := applied(w, test.plan, test.gone)
		slices.Sort(done.Changed)
		check.Equal(t, name+": changed", slices.Sorted(slices.Values(test.groups)), done.Changed)
		check.Equal(t, name+": group", test.group, w.task(group).Status)
		check.Equal(t, name+": top", test.top, w.task(top).Status)
		check.Equal(t, name+": a group all the same", true, w.task(group).Children > 0 || w.task(group).Emptied)
		w.sound()
	}
}

// TestATaskThatComesBackHasItsNumber also if new ones come with it.
func TestATaskThatComesBackHasItsNumber(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first, second, third := "t-00000001", "t-00000002", "t-00000003"
	say := func(id string) dag.Spec { return dag.Spec{Ref: id, Detail: dag.Detail{Title: "task"}} }
	applied(w, []dag.Spec{say(first), say(second)}, nil)
	number := w.task(second).N
	applied(w, nil, []string{second})
	applied(w, []dag.Spec{say(second), say(third)}, nil)
	check.Equal(t, "number", number, w.task(second).N)
	w.sound()
}
