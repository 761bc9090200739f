package dag

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"ralph/internal/db"
)

// Applied is what Apply did, by the IDs of tasks.
type Applied struct {
	Added, Changed, Deleted []string
	// Postponed are those that are in progress or belong to one that is: they are as they were, and applying the
	// same plan again when it has ended brings them in line.
	Postponed []string
	// Kept are those that were to be deleted and have work or a question that somebody has to look at, and what those belong
	// to. They stay until that is over.
	Kept []string
}

// Apply makes tasks what a plan says that they are, or, with a PlanError, changes nothing. Refs are the IDs of tasks:
// those that exist are changed, the others are added, and those in deleted are removed. All other tasks stay. The
// statuses of groups are rolled up from what they hold, so that a group which two people changed is never a fault.
func (g *Graph) Apply(specs []Spec, deleted []string) (Applied, error) {
	a := &applying{graph: g, byID: map[string]*applied{}, byN: map[int64]*applied{}}
	a.load()
	for _, step := range []func(){
		func() { a.match(specs, deleted) }, a.keep, a.postpone, a.link, a.place, a.refuseCycles,
	} {
		step()
		if err := cmp.Or(g.tx.Err(), a.faults.verdict()); err != nil {
			return Applied{}, err
		}
	}
	for _, t := range a.tasks {
		if t.parent == nil {
			a.rollUp(t)
		}
	}
	a.store()
	for _, list := range []*[]string{&a.done.Postponed, &a.done.Kept} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return a.done, g.tx.Err()
}

// applied is a task between what it is and what it is to be.
type applied struct {
	n        int64
	id       string
	spec     *Spec // nil if the plan does not name it
	added    bool
	known    bool // it was here before, and was put away
	deleted  bool
	open     bool // there is work or a question of it that somebody has to look at
	is       placed
	parent   *applied
	children []*applied
	feature  int64
	after    []*applied
	related  []string
	told     bool // the plan names it, and so says what it is related to, also if it is in progress
	standing
}

// standing is the state of a task, and what it means to others.
type standing struct {
	status             Status
	givenUp, satisfied bool
	goesOn             bool // its failure harms nobody
}

// placed is what the table says of a task.
type placed struct {
	parent, feature int64
	after           []int64 // that plans know of
	standing
}

type applying struct {
	graph  *Graph
	tasks  []*applied // the stored ones, and then those that are added
	byID   map[string]*applied
	byN    map[int64]*applied
	faults PlanError
	done   Applied
}

func (a *applying) fault(s *Spec, format string, args ...any) {
	a.faults = append(a.faults, SpecError{Line: s.Line, Err: fmt.Errorf(format, args...)})
}

const (
	skeletonSQL = `
SELECT n, id, parent, feature, status, given_up, satisfied, on_fail IS NOT NULL, unverified IS NOT NULL OR leaving IS NOT NULL OR review FROM tasks ORDER BY n;`
	// What is to land, or asks, or is about to be taken back.
	businessSQL = `
SELECT task FROM merges WHERE state IN ('testing', 'green', 'held', 'landing') AND task IS NOT NULL
UNION SELECT task FROM requests WHERE state = 'open' AND task IS NOT NULL
UNION SELECT u.undone FROM undoes u JOIN tasks t ON t.n = u.task WHERE t.status <> 'done';`
	// Runs add reviews; no plan has them, nor what waits for them.
	plannedEdgesSQL = `SELECT blocked, blocker FROM dependencies WHERE blocker NOT IN (SELECT task FROM reviews WHERE round > 0);`
)

// load reads where all tasks stand. What a plan changes may lead anywhere: a cycle, a group, a flag.
func (a *applying) load() {
	for r := range a.graph.tx.Rows(skeletonSQL) {
		t := &applied{n: r.Int64(), id: r.Text(), is: placed{parent: r.Int64(), feature: r.Int64()}}
		t.is.standing = standing{Status(r.Text()), r.Bool(), r.Bool(), r.Bool()}
		t.standing, t.feature, t.open = t.is.standing, t.is.feature, r.Bool()
		a.tasks, a.byID[t.id], a.byN[t.n] = append(a.tasks, t), t, t
	}
	for r := range a.graph.tx.Rows(businessSQL) {
		a.byN[r.Int64()].open = true
	}
	for r := range a.graph.tx.Rows(plannedEdgesSQL) {
		t := a.byN[r.Int64()]
		t.is.after = append(t.is.after, r.Int64())
	}
}

// match finds the tasks that the plan means, and makes room for new ones.
func (a *applying) match(specs []Spec, deleted []string) {
	for _, id := range deleted {
		if t := a.byID[id]; t != nil {
			t.deleted = true
		}
	}
	last := int64(0)
	if len(a.tasks) > 0 {
		last = a.tasks[len(a.tasks)-1].n
	}
	for i := range specs {
		s := &specs[i]
		if err := s.check(); err != nil {
			a.fault(s, "%w", err)
		}
		t := a.byID[s.Ref]
		switch {
		case !IsTaskID(s.Ref):
			a.fault(s, "%w: ref %q is not the ID of a task, which is t- and 8 hex digits", ErrRefused, s.Ref)
		case t != nil && t.spec != nil:
			a.fault(s, "ref %q is taken by line %d", s.Ref, t.spec.Line)
		case t != nil:
			t.spec, t.deleted, t.related, t.told = s, false, s.Related, true
		default:
			t = &applied{n: a.graph.number(goneSQL, ":id", s.Ref), id: s.Ref, spec: s, added: true, related: s.Related, told: true}
			if t.known = t.n > 0; !t.known || a.byN[t.n] != nil {
				for last++; a.byN[last] != nil; last++ {
				}
				t.n = last
			}
			a.tasks, a.byID[t.id], a.byN[t.n] = append(a.tasks, t), t, t
		}
	}
}

// keep takes back the deletion of tasks that somebody has to look at, and of what they are a part of.
func (a *applying) keep() {
	for _, t := range a.tasks {
		if !t.deleted || !t.open || t.is.status == InProgress {
			continue
		}
		for up := t; up != nil; up = a.byN[up.is.parent] {
			if up.deleted {
				up.deleted = false
				a.done.Kept = append(a.done.Kept, up.id)
			}
		}
	}
}

// postpone leaves alone what an agent works on, with what cannot do without that.
func (a *applying) postpone() {
	postpone := func(t *applied) {
		a.done.Postponed = append(a.done.Postponed, t.id)
		t.spec, t.deleted = nil, false
	}
	for _, t := range a.tasks {
		if t.is.status != InProgress {
			continue
		}
		if t.deleted || t.spec != nil && a.differs(t) {
			postpone(t)
		}
		t.spec = nil
		for up := a.byN[t.is.parent]; up != nil; up = a.byN[up.is.parent] {
			if up.deleted {
				postpone(up)
			}
		}
	}
	for again := true; again; {
		again = false
		for _, t := range a.tasks {
			if t.spec == nil || !slices.ContainsFunc(append([]string{t.spec.Parent}, t.spec.After...), func(ref string) bool { return a.lacks(t, ref) }) {
				continue
			}
			postpone(t)
			again = true
		}
	}
	a.tasks = slices.DeleteFunc(a.tasks, func(t *applied) bool {
		if t.added && t.spec == nil {
			delete(a.byID, t.id)
			delete(a.byN, t.n)
			return true
		}
		return false
	})
}

// lacks says that a task cannot be what its plan says because of another that was postponed.
func (a *applying) lacks(t *applied, ref string) bool {
	other := a.byID[ref]
	switch {
	case other == nil:
		return false
	case other.added && other.spec == nil:
		return true
	}
	return other.is.status == InProgress && ref == t.spec.Parent
}

const differsSQL = `SELECT 1 FROM tasks WHERE n = :n AND ` + otherwise + `;`

// differs compares a task that is in progress with the plan, which calls it pending.
func (a *applying) differs(t *applied) bool {
	s, parent := t.spec, ""
	if p := a.byN[t.is.parent]; p != nil {
		parent = p.id
	}
	if s.Parent != parent || s.Status != "" && s.Status != Pending && s.Status != InProgress {
		return true
	}
	var after []string
	for _, n := range t.is.after {
		after = append(after, a.byN[n].id)
	}
	wanted := slices.Clone(s.After)
	slices.Sort(after)
	slices.Sort(wanted)
	return !slices.Equal(after, slices.Compact(wanted)) || a.graph.number(differsSQL, s.columns(":n", t.n)...) != 0
}

// link finds the parents and the blockers, as the plan says or, without one, as they are.
func (a *applying) link() {
	for _, t := range a.tasks {
		if t.deleted {
			continue
		}
		if t.spec == nil {
			if p := a.byN[t.is.parent]; p != nil && !p.deleted {
				t.parent = p
			}
			for _, n := range t.is.after {
				if b := a.byN[n]; !b.deleted {
					t.after = append(t.after, b)
				}
			}
		} else {
			t.parent = a.find(t.spec, "parent", t.spec.Parent)
			for _, ref := range t.spec.After {
				if b := a.find(t.spec, "after", ref); b != nil && !slices.Contains(t.after, b) {
					t.after = append(t.after, b)
				}
			}
			for _, ref := range t.spec.Related {
				switch { // one that is not here may come with another file
				case ref == t.id:
					a.fault(t.spec, "%w: a task cannot be related to itself", ErrRefused)
				case !IsTaskID(ref):
					a.fault(t.spec, "related %q %w", ref, ErrUnknownRef)
				}
			}
		}
		if t.parent != nil {
			t.parent.children = append(t.parent.children, t)
		}
	}
}

func (a *applying) find(s *Spec, field, ref string) *applied {
	if ref == "" {
		return nil
	}
	t := a.byID[ref]
	if t == nil || t.deleted {
		a.fault(s, "%s %q %w", field, ref, ErrUnknownRef)
		return nil
	}
	return t
}

const featureNameOfSQL = `SELECT name FROM features WHERE n = :n;`

// place gives every task the feature of its topmost parent, and makes features that do not exist.
func (a *applying) place() {
	numbers := map[string]int64{"": 0}
	number := func(s *Spec) int64 {
		n, known := numbers[strings.ToLower(s.Feature)]
		if known {
			return n
		}
		if n = a.graph.number(featureNumberSQL, ":name", s.Feature); n == 0 {
			f, err := a.graph.AddFeature(s.Feature)
			if n = f.N; err != nil {
				a.fault(s, "%w", err)
			}
		}
		numbers[strings.ToLower(s.Feature)] = n
		return n
	}
	var down func(t *applied, feature int64)
	down = func(t *applied, feature int64) {
		t.feature = feature
		if t.spec != nil && t.spec.Feature != "" && number(t.spec) != feature {
			name, _ := db.One(a.graph.tx, featureNameOfSQL, (*db.Row).Text, ":n", feature)
			a.fault(t.spec, "%w: feature %q differs from its parent's, %s", ErrRefused, t.spec.Feature, nameOrNone(name))
		}
		for _, c := range t.children {
			down(c, feature)
		}
	}
	for _, t := range a.tasks {
		switch {
		case t.deleted || t.parent != nil:
		case t.spec != nil:
			down(t, number(t.spec))
		default:
			down(t, t.is.feature)
		}
	}
}

func (a *applying) refuseCycles() {
	w, order := newWeb(), make([]int64, 0, len(a.tasks))
	for _, t := range a.tasks {
		if t.deleted {
			continue
		}
		order = append(order, t.n)
		if t.parent != nil {
			w.hang(t.n, t.parent.n)
		}
		for _, b := range t.after {
			w.wait(t.n, b.n)
		}
	}
	path := w.findCycle(order)
	if path == nil {
		return
	}
	line := 0
	for _, p := range path {
		if s := a.byN[p.n].spec; s != nil {
			line = s.Line
			break
		}
	}
	a.faults = append(a.faults, SpecError{Line: line, Err: newCycleError(path, func(n int64) string { return a.byN[n].id })})
}

// rollUp works out statuses from the leaves up.
func (a *applying) rollUp(t *applied) {
	if t.spec != nil {
		t.standing = standing{cmp.Or(t.spec.Status, Pending), false, t.spec.Satisfied, t.spec.OnFail == Continue}
		if t.spec.Group = t.spec.Group && len(t.children) == 0; t.status == InProgress {
			t.status = Pending // a claim does not travel
		}
	}
	if len(t.children) > 0 {
		all := below{satisfied: true}
		for _, c := range t.children {
			a.rollUp(c)
			all.add(c.status, c.goesOn, c.satisfied)
		}
		if t.status == Done && (all.open || all.failed) {
			t.status = Pending
		}
		t.status, t.satisfied, t.givenUp = all.group(t.status)
	}
	t.givenUp = t.givenUp || t.is.givenUp && t.status == Failed
}
