//go:build unix

package bench

import (
	"fmt"
	"testing"
	"time"

	"ralph/dag"
)

// BenchmarkSubtree measures the transitions whose cost grows with what lies below them,
// inside a graph of other tasks.
func BenchmarkSubtree(b *testing.B) {
	s := open(b, copyOf(b, sized(1_000, 100_000), layers), dag.Options{})
	t := newTable(b)
	for _, n := range sized([]int{10, 100, 1_000}, []int{10, 100, 1_000, 10_000}) {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			blocker, root, leaves := plant(s, n)
			for b.Loop() {
				costs := inTurns(5,
					here(func() { s.update(func(g *dag.Graph) error { return g.Tasks.Finish(blocker) }) }),
					here(func() { s.update(func(g *dag.Graph) error { return g.Tasks.GiveUp(root, "") }) }),
					here(func() {
						s.update(func(g *dag.Graph) (err error) {
							for _, id := range leaves {
								if err == nil {
									err = g.Tasks.Finish(id)
								}
							}
							return err
						})
					}),
					here(func() { s.update(func(g *dag.Graph) error { _, err := g.Tasks.ResetTree(root); return err }) }),
					here(func() { s.update(func(g *dag.Graph) error { return g.Tasks.Reset(blocker) }) }),
				)
				for _, verb := range []struct {
					name string
					wall time.Duration
				}{{"unblock", costs[0].wall}, {"fail", costs[1].wall}, {"reset", costs[3].wall}} {
					t.row(fmt.Sprintf("%s a group of %d", verb.name, n), show(verb.wall), "", show(verb.wall/time.Duration(n))+" each", "")
				}
			}
		})
	}
}

// plant makes a group of n descendants that waits for one task: groups of ten below it,
// and in each of them leaves of which every one waits for the one before.
func plant(s *store, n int) (blocker, root string, leaves []string) {
	specs := []dag.Spec{
		{Line: 1, Ref: "blocker", Detail: dag.Detail{Title: "blocker"}},
		{Line: 2, Ref: "root", Detail: dag.Detail{Title: "root"}, After: []string{"blocker"}},
	}
	group, before := "root", ""
	isGroup := func(i int) bool { return n > groupSize && i%groupSize == 0 }
	for i := range n {
		spec := dag.Spec{Line: i + 3, Ref: fmt.Sprintf("d%d", i), Detail: dag.Detail{Title: fmt.Sprintf("below %d", i)}, Parent: group}
		if isGroup(i) {
			spec.Parent, group, before = "root", spec.Ref, ""
		} else {
			if before != "" {
				spec.After = []string{before}
			}
			before = spec.Ref
		}
		specs = append(specs, spec)
	}
	s.update(func(g *dag.Graph) error {
		ids, err := g.Plan.Import(specs)
		if err != nil {
			return err
		}
		blocker, root = ids[0], ids[1]
		for i, id := range ids[2:] {
			if !isGroup(i) {
				leaves = append(leaves, id)
			}
		}
		return nil
	})
	return blocker, root, leaves
}
