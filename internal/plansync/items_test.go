package plansync

import (
	"bytes"
	"slices"
	"testing"

	"ralph/dag"
	"ralph/internal/taskfile"
	"ralph/internal/testing/check"
)

// TestEqualPlansAreWrittenAlike lets two clones learn of the same tasks in different orders.
func TestEqualPlansAreWrittenAlike(t *testing.T) {
	t.Parallel()
	plan := []dag.Spec{{Ref: three, Detail: dag.Detail{Title: "three"}}, {Ref: two, Detail: dag.Detail{Title: "two"}}, {Ref: one, Detail: dag.Detail{Title: "one"}, After: []string{three, two}, Related: []string{three, two}}}
	var written [2]string
	for i := range written {
		c := newClone(t.Context(), t, t.TempDir())
		defer c.close()
		for _, s := range plan[:2] {
			c.add(s)
		}
		c.add(plan[2])
		slices.Reverse(plan[:2])
		check.OK(t, c.Store.View(c.ctx, func(g *dag.Graph) error {
			items, _, err := Items(g, dag.Filter{})
			var b bytes.Buffer
			check.OK(t, taskfile.Write(&b, items[2:], true))
			written[i] = b.String()
			return err
		}))
	}
	check.Equal(t, "line", written[0], written[1])
}
