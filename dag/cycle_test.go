package dag_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ralph/dag"
	"ralph/internal/testing/check"
	"ralph/internal/testing/raced"
	_ "ralph/internal/testing/seeded" // the same values each time
)

// TestAllSearchesForCyclesAgree draws a forest with dependencies and one more
// edge, and asks the incremental search, the search over the whole stored graph,
// the one of import, and the naive one whether that edge is a deadlock.
func TestAllSearchesForCyclesAgree(t *testing.T) {
	t.Parallel()
	checkWorlds(t, searchesAgree)
}

func searchesAgree(rt *rapid.T, w *world) {
	m := newModel(w.clock())
	size := rapid.IntRange(2, 9).Draw(rt, "size")
	specs := make([]dag.Spec, size)
	ids := make([]string, size)
	for i := range specs {
		ids[i] = fmt.Sprintf("t-%08d", i)
		specs[i] = dag.Spec{Line: i + 1, Ref: ids[i], Detail: dag.Detail{Title: "task"}}
		t := m.add(ids[i])
		if p := rapid.IntRange(-1, i-1).Draw(rt, "parent"); p >= 0 {
			specs[i].Parent, t.parent = ids[p], ids[p]
		}
	}
	any := rapid.IntRange(0, size-1)
	for range rapid.IntRange(0, size).Draw(rt, "edges") {
		from, to := any.Draw(rt, "blocker"), any.Draw(rt, "blocked")
		was := m.tasks[ids[to]].after[ids[from]]
		m.tasks[ids[to]].after[ids[from]] = true
		if m.stuck() {
			if !was {
				delete(m.tasks[ids[to]].after, ids[from])
			}
			continue
		}
		specs[to].After = append(specs[to].After, ids[from])
	}
	w.update(func(g *dag.Graph) error { _, err := g.Plan.Import(specs); return err })

	from, to := any.Draw(rt, "one more blocker"), any.Draw(rt, "one more blocked")
	m.tasks[ids[to]].after[ids[from]] = true
	want := m.stuck()
	verdicts := map[string]bool{
		"link":   isCycle(rt, m, w.try(func(g *dag.Graph) error { return keepNot(g.Plan.Link(ids[from], ids[to])) })),
		"verify": storedCycle(w, ids[from], ids[to]),
	}
	specs[to].After = append(specs[to].After, ids[from])
	verdicts["import"] = isCycle(rt, m, w.try(func(g *dag.Graph) error {
		if err := g.Plan.DeleteTree(ids[0]); err != nil {
			return err
		}
		for _, id := range ids[1:] {
			if err := g.Plan.DeleteTree(id); err != nil && !errors.Is(err, dag.ErrNotFound) {
				return err
			}
		}
		_, err := g.Plan.Import(specs)
		return keepNot(err)
	}))
	for search, got := range verdicts {
		check.Equal(rt, search+" finds a cycle", want, got)
	}
}

// keepNot makes a success one that is not kept.
func keepNot(err error) error {
	if err == nil {
		return errNotKept
	}
	return err
}

// isCycle says whether err describes a cycle, and checks each of its words.
func isCycle(t check.TB, m *model, err error) bool {
	t.Helper()
	if errors.Is(err, errNotKept) {
		return false
	}
	cycle := closedCycle(t, err)
	for i, step := range cycle.Steps {
		a, b := m.tasks[cycle.IDs[i]], m.tasks[cycle.IDs[i+1]]
		holds := map[string]bool{"waits for": a.after[b.id], "contains": b.parent == a.id, "is part of": a.parent == b.id}
		check.That(t, holds[step], "%s %s %s is not so: %v", a.id, step, b.id, cycle)
	}
	return true
}

// storedCycle puts the edge into the table behind everybody's back.
func storedCycle(w *world, blocker, blocked string) (found bool) {
	err := w.try(func(g *dag.Graph) error {
		if blocker == blocked {
			found = true // the table itself refuses it
			return errNotKept
		}
		err := g.Tx().Exec(`INSERT OR IGNORE INTO dependencies SELECT a.n, b.n FROM tasks a, tasks b WHERE a.id = :a AND b.id = :b;`,
			":a", blocker, ":b", blocked)
		if err != nil {
			return err
		}
		faults, err := g.Verify()
		for _, f := range faults {
			found = found || strings.Contains(f.Text, "cycle")
		}
		return keepNot(err)
	})
	if !errors.Is(err, errNotKept) {
		w.t.Fatalf("%v", err)
	}
	return found
}

// TestLongChains shows that depth costs memory, not the process.
func TestLongChains(t *testing.T) {
	raced.Long(t, "a long chain is searched here")
	t.Parallel()
	const length = 10_000 / raced.Scale
	w := newWorld(t)
	specs, ids := w.importMany(length, func(specs []dag.Spec, i int) {
		if i > 0 {
			specs[i].After = []string{specs[i-1].Ref}
		}
	})
	err := w.try(func(g *dag.Graph) error { return g.Plan.Link(ids[length-1], ids[0]) })
	check.Equal(t, "length of the cycle", length+1, len(closedCycle(t, err).IDs))
	w.take("task 0", dag.ClaimOptions{})
	w.sound()

	specs[0].After = []string{specs[length-1].Ref}
	closedCycle(t, w.try(func(g *dag.Graph) error { _, err := g.Plan.Import(specs); return err }))
}

func TestDeepNesting(t *testing.T) {
	raced.Long(t, "a deep tree is walked here")
	t.Parallel()
	const depth = 2_000 / raced.Scale
	w := newWorld(t)
	_, ids := w.importMany(depth, func(specs []dag.Spec, i int) {
		if i > 0 {
			specs[i].Parent = specs[i-1].Ref
		}
	})
	w.plan("after after " + ids[0])
	top, bottom := ids[0], fmt.Sprint("task ", depth-1)
	w.ids[bottom] = ids[depth-1]
	w.person(block, top)
	w.wantReady()
	w.person(unblock, top)
	w.spoil(bottom)
	w.wantTally(map[dag.Status]int{dag.Failed: 1, dag.Pending: 1}, map[dag.Status]int{dag.Failed: depth - 1})
	w.person(reset, bottom)
	w.wantTally(map[dag.Status]int{dag.Pending: 2}, map[dag.Status]int{dag.Pending: depth - 1})
	w.wantReady(bottom)
	w.work(bottom)
	w.wantTally(map[dag.Status]int{dag.Done: 1, dag.Pending: 1}, map[dag.Status]int{dag.Done: depth - 1})
	w.wantReady("after")
	w.sound()
	w.update(func(g *dag.Graph) error { return g.Plan.DeleteTree(top) })
	w.wantReady("after")
}

func TestALongCycleIsToldInAFewWords(t *testing.T) {
	t.Parallel()
	e := &dag.CycleError{}
	for i := range 1000 {
		e.IDs = append(e.IDs, fmt.Sprintf("t-%08d", i))
		e.Steps = append(e.Steps, "waits for")
	}
	e.IDs = append(e.IDs, e.IDs[0])
	got := e.Error()
	want := "t-00000009 ... 989 more ..., which waits for t-00000999, which waits for t-00000000"
	if len(got) > 500 || !strings.HasSuffix(got, want) {
		t.Errorf("got %q, want it to end with %q", got, want)
	}
}
