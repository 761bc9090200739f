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
func Import(g *dag.Graph, specs []dag.Spec, at Place) (Imported, error) {
	if err := at.put(specs); err != nil {
		return Imported{}, err
	}
	origins, err := at.origins(g)
	if err != nil {
		return Imported{}, err
	}
	if at.Update {
		return at.refresh(g, specs, origins)
	}
	var done Imported
	for _, s := range specs {
		if s.Origin != "" && origins[s.Origin] != "" {
			done.Known++
		}
	}
	if done.IDs, err = g.Import(specs); err != nil {
		return done, err
	}
	done.Added = done.IDs
	ids := refsTo(specs, done.IDs)
	for i, s := range specs {
		if s.Origin == "" || dag.IsTaskID(s.Ref) { // what ralph has exported is not the word of another program
			continue
		}
		if err := g.SetImported(done.IDs[i], taskfile.Line(ids.resolve(s)), at.File); err != nil {
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
	inside, err := g.In(dag.Scope{Feature: p.Feature})
	if p.Parent != "" {
		inside, err = g.In(dag.Scope{Task: p.Parent})
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
	list, err := g.ComeFrom()
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

// names maps the refs of a file to the IDs of tasks.
type names map[string]string

func refsTo(specs []dag.Spec, ids []string) names {
	n := make(names, len(specs))
	for i, s := range specs {
		if s.Ref != "" {
			n[s.Ref] = ids[i]
		}
	}
	return n
}

func (n names) of(ref string) string {
	if id, ok := n[ref]; ok {
		return id
	}
	return ref
}

// resolve names by ID what a task of a file refers to. Its feature is not a matter of the file.
func (n names) resolve(s dag.Spec) dag.Spec {
	s.Ref, s.Parent, s.Feature = n.of(s.Ref), n.of(s.Parent), ""
	s.After, s.Related = n.all(s.After), n.all(s.Related)
	if s.Status == "" || s.Status == dag.InProgress {
		s.Status = dag.Pending
	}
	_ = s.Check() // so that it looks as it is stored; what is wrong is for whoever stores it to say
	return s
}

func (n names) all(refs []string) []string {
	var ids []string
	for _, ref := range refs {
		ids = append(ids, n.of(ref))
	}
	return ids
}

// refresh changes the tasks that a file names and the graph knows, and adds the others.
func (p Place) refresh(g *dag.Graph, specs []dag.Spec, origins map[string]string) (done Imported, err error) {
	known := make([]bool, len(specs))
	done.IDs = make([]string, len(specs))
	newID := g.StableIDs()
	for i, s := range specs {
		id := origins[s.Origin]
		if s.Origin == "" || id == "" {
			if t, terr := g.Task(s.Ref); dag.IsTaskID(s.Ref) && terr == nil {
				id = t.ID
			}
		}
		if known[i] = id != ""; !known[i] {
			name := s.Origin
			if name == "" {
				name = fmt.Sprintf("%s %d", s.Title, i)
			}
			if id, err = newID(strings.ToLower(p.Feature), p.Parent, name); err != nil {
				return done, err
			}
		}
		done.IDs[i] = id
	}
	related, err := relations(g)
	if err != nil {
		return done, err
	}
	ids, lines := refsTo(specs, done.IDs), map[string]string{}
	var plan []dag.Spec
	for i, s := range specs {
		said := ids.resolve(s)
		said.Ref = done.IDs[i]
		line := taskfile.Line(said)
		said.Feature = s.Feature
		if known[i] {
			before, berr := g.Imported(said.Ref)
			if berr != nil {
				return done, berr
			}
			switch before {
			case line: // the file says nothing new about it
				lines[said.Ref] = line
				continue
			case "":
				// Who knows which of the two changed it? From now on we do.
				done.Unknown, lines[said.Ref] = append(done.Unknown, said.Ref), line
				continue
			}
			if said, err = refreshed(g, said, before, related); err != nil {
				return done, err
			}
		}
		plan, lines[said.Ref] = append(plan, said), line
	}
	applied, err := g.Apply(plan, nil)
	if err != nil {
		return done, err
	}
	done.Added, done.Changed, done.Postponed = applied.Added, applied.Changed, applied.Postponed
	for id, line := range lines {
		if slices.Contains(done.Postponed, id) {
			continue // the next import changes it
		}
		if err := g.SetImported(id, line, p.File); err != nil {
			return done, err
		}
	}
	return done, nil
}

// relations lists for each task those that it is related to.
func relations(g *dag.Graph) (map[string][]string, error) {
	pairs, err := g.Relations(true)
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
	t, err := g.Task(said.Ref)
	if err != nil {
		return said, err
	}
	after, _, err := g.BlockerIDs(t)
	said.Feature = ""
	now := taskfile.Item{Task: t, After: after, Related: related[t.ID]}
	now.Feature = ""
	changed := taskfile.Refresh(before, now, said)
	changed.Feature = t.Feature
	return changed, err
}
