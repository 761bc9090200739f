package template

import (
	"cmp"
	"slices"

	"ralph/dag"
	"ralph/internal/seq"
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
	ids, newID := map[string]string{}, g.StableIDs()
	for _, s := range a.Specs {
		if ids[s.Ref], err = newID(s.Origin); err != nil {
			return a, err
		}
	}
	a.IDs, err = g.Import(named(a.Specs, ids))
	return a, err
}

// named has tasks refer to others by ID.
func named(specs []dag.Spec, ids map[string]string) []dag.Spec {
	of := func(ref string) string { return cmp.Or(ids[ref], ref) }
	specs = slices.Clone(specs)
	for i := range specs {
		s := &specs[i]
		s.Ref, s.Parent, s.After = of(s.Ref), of(s.Parent), seq.Map(s.After, of)
	}
	return specs
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
		a.Specs = append(a.Specs, s)
	}
	a.Specs = named(a.Specs, there)
	return a, nil
}
