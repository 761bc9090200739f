package bench

import (
	"fmt"
	"testing"

	"ralph/dag"
)

// BenchmarkSubtree measures the transitions whose cost grows with what lies below them,
// inside a graph of other tasks.
func BenchmarkSubtree(b *testing.B) {
	s := open(b, copyOf(b, sized(1_000, 100_000)), dag.Options{})
	for _, n := range sized([]int{10, 100, 1_000}, []int{10, 100, 1_000, 10_000}) {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			blocker, root, leaves := plant(s, n)
			for b.Loop() {
				times := inTurns(sized(3, 5),
					func() { s.update(func(g *dag.Graph) error { return g.Finish(blocker) }) },
					func() { s.update(func(g *dag.Graph) error { return g.GiveUp(root, "") }) },
					func() {
						s.update(func(g *dag.Graph) (err error) {
							for _, id := range leaves {
								if err == nil {
									err = g.Finish(id)
								}
							}
							return err
						})
					},
					func() { s.update(func(g *dag.Graph) error { _, err := g.ResetTree(root); return err }) },
					func() { s.update(func(g *dag.Graph) error { return g.Reset(blocker) }) },
				)
				for i, verb := range map[int]string{0: "unblock", 1: "fail", 3: "reset"} {
					b.ReportMetric(micros(times[i]), "us/"+verb)
					b.ReportMetric(micros(times[i])/float64(n), "us/"+verb+"/task")
				}
			}
		})
	}
}

// plant makes a group of n descendants that waits for one task: groups of ten below it,
// and in each of them leaves of which every one waits for the one before.
func plant(s *store, n int) (blocker, root string, leaves []string) {
	specs := []dag.Spec{
		{Line: 1, Ref: "blocker", Title: "blocker"},
		{Line: 2, Ref: "root", Title: "root", After: []string{"blocker"}},
	}
	group, before := "root", ""
	isGroup := func(i int) bool { return n > groupSize && i%groupSize == 0 }
	for i := range n {
		spec := dag.Spec{Line: i + 3, Ref: fmt.Sprintf("d%d", i), Title: fmt.Sprintf("below %d", i), Parent: group}
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
		ids, err := g.Import(specs)
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
