package dag_test

import (
	"testing"

	"ralph/dag"
	"ralph/internal/testing/check"
)

// TestRelationsOfAPlan shows that the smaller ID tells of a relation, whatever file the other is in, and whether or not it is here.
func TestRelationsOfAPlan(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const one, two, three = "t-00000001", "t-00000002", "t-00000003"
	first := dag.Spec{Line: 1, Ref: one, Detail: dag.Detail{Title: "one"}, Feature: "a"}
	second := dag.Spec{Line: 2, Ref: two, Detail: dag.Detail{Title: "two"}, Feature: "b"}
	related := func(id string) (ids []string) {
		task := w.task(id)
		w.view(func(g *dag.Graph) error {
			list, err := g.Tasks.Related(task)
			for _, other := range list {
				ids = append(ids, other.ID)
			}
			return err
		})
		return ids
	}
	missing := func() (list []dag.Unmet) {
		w.view(func(g *dag.Graph) (err error) { list, err = g.Plan.Unmet(); return err })
		return list
	}
	tells := first
	tells.Related = []string{two, three}
	applied(w, []dag.Spec{tells}, nil)
	check.Equal(t, "not here", 2, len(missing()))
	applied(w, []dag.Spec{second}, nil)
	check.Equal(t, "the other file came", []string{one}, related(two))
	check.Equal(t, "still not here", []dag.Unmet{{N: w.task(one).N, ID: one, Other: three}}, missing())
	check.Equal(t, "the file of the greater ID says nothing", dag.Applied{}, applied(w, []dag.Spec{second}, nil))
	check.Equal(t, "related", []string{one}, related(two))

	applied(w, nil, []string{two})
	check.Equal(t, "another branch", 2, len(missing()))
	applied(w, []dag.Spec{second}, nil)
	check.Equal(t, "and back", []string{one}, related(two))

	claim := w.take("one", dag.ClaimOptions{})
	check.Equal(t, "under an agent", dag.Applied{Changed: []string{one, two}}, applied(w, []dag.Spec{first}, nil))
	check.Equal(t, "taken back", 0, len(related(two))+len(missing()))
	tells.Related = []string{two}
	applied(w, []dag.Spec{tells}, nil)
	check.Equal(t, "told again", []string{one}, related(two))
	w.update(func(g *dag.Graph) error { return g.Queue.Release(claim, dag.Release{}) })

	applied(w, nil, []string{one})
	check.Equal(t, "gone with its line", 0, len(related(two))+len(missing()))
	w.sound()
}
