package template

import (
	"cmp"

	"ralph/dag"
)

// Applied is what became of the tasks of an application, in their order.
type Applied struct {
	Specs []dag.Spec // those that are new
	IDs   []string   // of the new ones
	Found []Found    // those that were there already
}

// Found is a task that an earlier application made.
type Found struct{ Ref, ID string }

// Apply adds the tasks to a graph that are not there yet. One that is there is left alone, whatever became of it.
func Apply(g *dag.Graph, specs []dag.Spec) (Applied, error) {
	a, err := Missing(g, specs)
	if err != nil || len(a.Specs) == 0 {
		return a, err
	}
	done, err := g.Plan.Apply(dag.Wanted{Specs: a.Specs, Key: dag.ByOrigin})
	a.IDs = done.IDs
	return a, err
}

// Missing looks which tasks are there already, and has the others refer to those by their IDs.
func Missing(g *dag.Graph, specs []dag.Spec) (a Applied, err error) {
	origins, err := g.Plan.Origins()
	if err != nil {
		return a, err
	}
	ids := make([]string, len(specs))
	for i, s := range specs {
		ids[i] = cmp.Or(origins[s.Origin], s.Ref)
	}
	for i, s := range dag.WithIDs(specs, ids) {
		if origins[s.Origin] == "" {
			a.Specs = append(a.Specs, s)
		} else {
			a.Found = append(a.Found, Found{specs[i].Ref, s.Ref})
		}
	}
	return a, nil
}
