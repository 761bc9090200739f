// Package refresh imports the tasks of a file, and imports them again when the file has changed.
package refresh

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"ralph/dag"
	"ralph/internal/taskfile"
)

// Place is where imported tasks go.
type Place struct {
	Feature string
	Parent  string // the ID of a task
	Update  bool   // change those that were imported before, instead of adding them again

	File   string            // where they come from; "" if that has no name
	Exists func(string) bool // says of such a file whether it is still there
}

// Imported is what became of the tasks of a file, by their IDs.
type Imported struct {
	IDs            []string // one for each task of the file, in its order
	Added, Changed []string
	Unknown        []string // nothing is remembered of what a file said of them: they stay as they are, this time
	Postponed      []string // in progress: the next import changes them
	Known          int      // tasks that were imported before, and were added again
}

// Import adds the tasks of a file to the graph, or changes those that it knows from an earlier import.
func Import(g *dag.Graph, specs []dag.Spec, at Place) (done Imported, err error) {
	if err := at.put(specs); err != nil {
		return done, err
	}
	origins, err := at.origins(g)
	if err != nil {
		return done, err
	}
	plan, lines := dag.Wanted{Specs: specs}, map[string]string{}
	if at.Update {
		related, err := relations(g)
		if err != nil {
			return done, err
		}
		plan.Key, plan.Busy, plan.Origins, plan.Seed = dag.ByOrigin, dag.Postpone, origins, []string{strings.ToLower(at.Feature), at.Parent}
		plan.Said = func(s dag.Spec, known bool) (dag.Spec, bool, error) {
			line := taskfile.Line(imported(s))
			lines[s.Ref] = line
			if !known {
				return s, true, nil
			}
			before, err := g.Plan.Imported(s.Ref)
			switch before {
			case line: // the file says nothing new about it
				return s, false, err
			case "": // Who knows which of the two changed it? From now on we do.
				done.Unknown = append(done.Unknown, s.Ref)
				return s, false, err
			}
			s, err = refreshed(g, imported(s), before, related)
			return s, true, err
		}
	}
	applied, err := g.Plan.Apply(plan)
	if err != nil {
		return done, err
	}
	done.IDs, done.Added, done.Changed, done.Postponed = applied.IDs, applied.Added, applied.Changed, applied.Postponed
	for i, s := range dag.WithIDs(specs, done.IDs) {
		if at.Update || s.Origin == "" {
			continue
		}
		if origins[s.Origin] != "" {
			done.Known++
		}
		if !dag.IsTaskID(specs[i].Ref) { // what ralph has exported is not the word of another program
			lines[s.Ref] = taskfile.Line(imported(s))
		}
	}
	for id, line := range lines {
		if slices.Contains(done.Postponed, id) {
			continue // the next import changes it
		}
		if err := g.Plan.SetImported(id, line, at.File); err != nil {
			return done, err
		}
	}
	return done, nil
}

// origins maps what tasks in that place are called in files to their IDs. Elsewhere the same name is another task: every story.json
// begins with the same number.
func (p Place) origins(g *dag.Graph) (map[string]string, error) {
	if p.Feature == "" && p.Parent == "" {
		return p.ofFile(g)
	}
	inside, err := g.Tasks.In(dag.Scope{Feature: p.Feature})
	if p.Parent != "" {
		inside, err = g.Tasks.In(dag.Scope{Task: p.Parent})
	}
	here := map[string]string{}
	for _, t := range slices.Backward(inside) { // the oldest counts
		if t.Origin != "" {
			here[t.Origin] = t.ID
		}
	}
	return here, err
}

// ofFile does so with tasks that come from the same file. Another is taken for the same if nobody knows which it was, if it is gone, as one
// that was renamed is, and where names are unique in all files.
func (p Place) ofFile(g *dag.Graph) (map[string]string, error) {
	list, err := g.Plan.ComeFrom()
	same, like := map[string]string{}, map[string]string{}
	for _, t := range slices.Backward(list) { // the oldest counts
		switch {
		case p.File != "" && t.File == p.File:
			same[t.Origin] = t.ID
		case p.File == "" || t.File == "" || taskfile.Unique(t.Origin) || p.Exists != nil && !p.Exists(t.File):
			like[t.Origin] = t.ID
		}
	}
	maps.Copy(like, same)
	return like, err
}

// put gives the tasks at the top of a file their feature and their parent.
func (p Place) put(specs []dag.Spec) error {
	var faults dag.PlanError
	for i := range specs {
		s := &specs[i]
		if p.Feature != "" && s.Feature != "" && !strings.EqualFold(s.Feature, p.Feature) {
			faults = append(faults, dag.SpecError{Line: s.Line, Err: fmt.Errorf("it is of feature %s, not of %s", s.Feature, p.Feature)})
		}
		if s.Parent == "" {
			s.Parent = p.Parent
			if p.Feature != "" {
				s.Feature = p.Feature
			}
		}
	}
	if len(faults) > 0 {
		return faults
	}
	return nil
}

// imported is a task as it is remembered: as it is stored, and without its feature, which is not a matter of the file.
func imported(s dag.Spec) dag.Spec {
	s.Feature = ""
	if s.Status == "" || s.Status == dag.InProgress {
		s.Status = dag.Pending
	}
	_ = s.Check() // Apply reports what is wrong
	return s
}

// relations lists for each task those that it is related to.
func relations(g *dag.Graph) (map[string][]string, error) {
	pairs, err := g.Tasks.Relations(true)
	both := maps.Clone(pairs)
	for a, others := range pairs {
		for _, b := range others {
			both[b] = append(slices.Clip(both[b]), a)
		}
	}
	return both, err
}

// refreshed is what a task that was imported before is to be.
func refreshed(g *dag.Graph, said dag.Spec, before string, related map[string][]string) (dag.Spec, error) {
	t, err := g.Tasks.Get(said.Ref)
	if err != nil {
		return said, err
	}
	after, _, err := g.Tasks.BlockerIDs(t)
	now := taskfile.Item{Task: t, After: after, Related: related[t.ID]}
	now.Feature = ""
	changed := taskfile.Refresh(before, now, said)
	changed.Feature = t.Feature
	return changed, err
}
