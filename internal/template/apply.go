package template

import (
	"slices"

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
	if err == nil && len(a.Specs) > 0 {
		a.IDs, err = g.Import(a.Specs)
	}
	return a, err
}

// Missing looks which tasks are there already, and has the others refer to those by their IDs.
func Missing(g *dag.Graph, specs []dag.Spec) (a Applied, err error) {
	origins, err := g.Origins()
	if err != nil {
		return a, err
	}
	there := map[string]string{} // IDs by ref
	for _, s := range specs {
		if id := origins[s.Origin]; id != "" {
			there[s.Ref], a.Found = id, append(a.Found, Found{s.Ref, id})
		}
	}
	for _, s := range specs {
		if there[s.Ref] != "" {
			continue
		}
		if id := there[s.Parent]; id != "" {
			s.Parent = id
		}
		s.After = slices.Clone(s.After)
		for i, ref := range s.After {
			if id := there[ref]; id != "" {
				s.After[i] = id
			}
		}
		a.Specs = append(a.Specs, s)
	}
	return a, nil
}
