package dag

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"ralph/internal/db"
)

// Wanted is what is to become of tasks.
type Wanted struct {
	Specs   []Spec
	Deleted []string // IDs, unless a spec names them
	Key     Key
	Busy    Busy

	// Of ByOrigin: what tasks are called where they come from, by their IDs; nil means all that the graph has. Seed comes before the
	// name of a new task in what its ID is made of. Said decides what a task is to be, and whether the plan is to say so; it gets
	// the task with IDs for refs, and whether it is known. Without it, known tasks stay as they are.
	Origins map[string]string
	Seed    []string
	Said    func(s Spec, known bool) (Spec, bool, error)
}

// Key is how the tasks of a plan are found in the graph.
type Key int

// The keys there are.
const (
	Fresh    Key = iota // not at all: each is added. A ref that looks like an ID and is free becomes the ID
	ByID                // refs are IDs: those that exist are changed, the others are added
	ByOrigin            // by what they are called where they come from, and then by ID
)

// Busy is what a plan does with tasks that are in progress.
type Busy int

// What there is to do.
const (
	Refuse   Busy = iota // they cannot take subtasks
	Postpone             // they stay as they are, with what needs them to be otherwise
)

// Applied is what Apply did, by the IDs of tasks.
type Applied struct {
	IDs                     []string // of the specs, in their order, unless those say them
	Added, Changed, Deleted []string
	// Postponed are those that are in progress or belong to one that is: they are as they were, and applying the
	// same plan again when it has ended brings them in line.
	Postponed []string
	// Kept are those that were to be deleted and have work or a question that somebody has to look at, and what those belong
	// to. They stay until that is over.
	Kept []string
}

// Apply makes tasks what a plan says that they are, or, with a PlanError, changes nothing. Tasks that the plan does not name stay,
// but that a group follows what it holds. The statuses of named groups are rolled up from what they hold, so that a group which two
// people changed is never a fault; among fresh tasks, one that is done above one that is not is. A claim does not travel: in_progress is pending.
func (g Plan) Apply(p Wanted) (Applied, error) {
	a := &applying{Wanted: p, graph: g, refs: make(map[string]*applied, len(p.Specs)), byID: map[string]*applied{}, byN: make(map[int64]*applied, len(p.Specs))}
	a.Specs = slices.Clone(p.Specs)
	for _, step := range []func(){a.identify, a.match, a.refuseCycles, a.place, a.rollUpAll, a.store} {
		step()
		if err := cmp.Or(a.err, g.tx.Err(), a.faults.verdict()); err != nil {
			return Applied{}, err
		}
	}
	for _, list := range []*[]string{&a.done.Postponed, &a.done.Kept} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return a.done, nil
}

// Import adds all tasks of a plan, in its order, and returns their IDs.
func (g Plan) Import(specs []Spec) ([]string, error) {
	done, err := g.Apply(Wanted{Specs: specs})
	return done.IDs, err
}

// applied is a task between what it is and what it is to be.
type applied struct {
	n        int64
	id       string // "" until a fresh one is stored
	spec     *Spec  // nil if the plan does not name it
	added    bool
	known    bool // it was here before, and was put away
	deleted  bool
	open     bool // there is work or a question of it that somebody has to look at
	is       placed
	up       int64 // the number of the parent
	parent   *applied
	children []*applied
	feature  int64
	after    []*applied
	related  []string
	told     bool // the plan names it, and so says what it is related to, also if it is in progress
	standing
	flags
}

// satisfies reports whether nobody has to wait for the task.
func (t *applied) satisfies() bool {
	if t.spec == nil {
		return t.is.satisfies
	}
	return t.spec.satisfies(t.status)
}

// follows reports whether a task that there is follows what it holds: the plan does not name it.
func (t *applied) follows() bool { return t != nil && t.spec == nil && !t.deleted }

// leaves reports whether a task that was stored is not below its parent any more.
func (t *applied) leaves() bool { return t.deleted || t.spec != nil && t.up != t.is.parent }

// standing is the state of a task, and what it means to others.
type standing struct {
	status             Status
	givenUp, satisfied bool
	goesOn             bool // its failure harms nobody
}

// flags are what a task inherits.
type flags struct {
	openDeps     int
	held, doomed bool
}

// placed is what the table says of a task.
type placed struct {
	parent, feature int64
	children        int
	after           []int64 // that plans know of
	standing
	holds, dooms, satisfies bool // what is below it, and who waits for it
}

type applying struct {
	Wanted
	graph  Plan
	tasks  []*applied          // the stored ones that are loaded, and then those that are added
	refs   map[string]*applied // that the plan names
	byID   map[string]*applied
	byN    map[int64]*applied
	faults PlanError
	err    error
	done   Applied
	stale  bool // what is derived of stored tasks is to be worked out again
}

func (a *applying) fault(s *Spec, err error) {
	a.faults = append(a.faults, SpecError{Line: s.Line, Err: err})
}

// Misplaced is what is wrong with the place of a task in a plan.
type Misplaced int

// What callers may have words of their own for.
const (
	UnknownRef   Misplaced = iota // Name, in Field
	BusyParent                    // Name is in progress
	OtherFeature                  // Name, than that of its parent, Parent
)

// PlaceError is a task that cannot be where a plan puts it.
type PlaceError struct {
	Kind                Misplaced
	Field, Name, Parent string
	Feature             string // of the parent
}

func (f *PlaceError) Error() string {
	switch f.Kind {
	case BusyParent:
		return fmt.Sprintf("parent %s is in progress and cannot take subtasks now", f.Name)
	case OtherFeature:
		return fmt.Sprintf("feature %q differs from its parent's, %s", f.Name, nameOrNone(f.Feature))
	}
	return fmt.Sprintf("%s %q %v", f.Field, f.Name, ErrUnknownRef)
}

// Is makes it a refusal.
func (f *PlaceError) Is(target error) bool {
	return target == ErrRefused || f.Kind == UnknownRef && target == ErrUnknownRef
}

// match checks each task by itself, finds the tasks that the plan means, and what they refer to.
func (a *applying) match() {
	last := int64(0)
	if len(a.Specs) > 0 {
		last = a.graph.number(lastSQL)
	}
	a.load()
	for _, id := range a.Deleted {
		if t := a.byID[id]; t != nil {
			t.deleted = true
		}
	}
	for i := range a.Specs {
		s := &a.Specs[i]
		if err := s.check(); err != nil {
			a.fault(s, err)
		}
		if a.Key != Fresh && !IsTaskID(s.Ref) {
			a.fault(s, fmt.Errorf("%w: ref %q is not the ID of a task, which is t- and 8 hex digits", ErrRefused, s.Ref))
		}
		if first := a.refs[s.Ref]; first != nil {
			a.fault(s, fmt.Errorf("ref %q is taken by line %d", s.Ref, first.spec.Line))
			continue
		}
		t := a.byID[s.Ref]
		if t == nil || a.Key == Fresh {
			t = &applied{added: true}
			if a.tasks = append(a.tasks, t); a.Key != Fresh {
				t.id, a.byID[s.Ref] = s.Ref, t
				a.comeBack(t)
			}
			for t.n == 0 {
				if last++; a.byN[last] == nil {
					t.n = last
				}
			}
		}
		t.spec, t.deleted, t.related, t.told = s, false, s.Related, true
		if s.Ref != "" {
			a.refs[s.Ref] = t
		}
		a.byN[t.n] = t
	}
	a.surround()
	a.keep()
	if a.Busy == Postpone {
		a.postpone()
	}
	for _, t := range a.tasks {
		a.link(t)
	}
}

// comeBack gives a task that was put away the number that it had, if that is free.
func (a *applying) comeBack(t *applied) {
	n := a.graph.number(goneSQL, ":id", t.id)
	if t.known = n > 0; t.known && a.byN[n] == nil && a.graph.number(takenNumberSQL, ":n", n) == 0 {
		t.n = n
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
			if t.spec == nil || !a.lacks(t, t.spec.Parent) && !slices.ContainsFunc(t.spec.After, func(ref string) bool { return a.lacks(t, ref) }) {
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
			delete(a.refs, t.id)
			return true
		}
		return false
	})
}

// lacks says that a task cannot be what its plan says because of another that was postponed.
func (a *applying) lacks(t *applied, ref string) bool {
	other := a.named(ref)
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
	if s.Parent != parent || !slices.Contains([]Status{"", Pending, InProgress}, s.Status) {
		return true
	}
	var after []string
	for _, n := range t.is.after {
		after = append(after, a.byN[n].id)
	}
	wanted := slices.Sorted(slices.Values(s.After))
	slices.Sort(after)
	return !slices.Equal(after, slices.Compact(wanted)) || a.graph.number(statement(differsSQL), s.columns(":n", t.n)...) != 0
}

// named is the task with that ref or, if the plan has none, with that ID.
func (a *applying) named(ref string) *applied {
	if t := a.refs[ref]; t != nil {
		return t
	}
	return a.byID[ref]
}

// link finds the parent and the blockers of a task, as the plan says or, without one, as they are.
func (a *applying) link(t *applied) {
	switch {
	case t.deleted:
		return
	case t.spec == nil:
		if t.up, t.parent = t.is.parent, a.byN[t.is.parent]; t.parent != nil && t.parent.deleted {
			t.up, t.parent = 0, nil
		}
		for _, n := range t.is.after {
			if b := a.byN[n]; !b.deleted {
				t.after = append(t.after, b)
			}
		}
	default:
		if t.parent = a.find(t.spec, "parent", t.spec.Parent); t.parent != nil {
			t.up = t.parent.n
			if a.Busy == Refuse && t.parent.spec == nil && t.parent.is.status == InProgress && t.up != t.is.parent {
				a.fault(t.spec, &PlaceError{Kind: BusyParent, Name: t.parent.id})
			}
		}
		for _, ref := range t.spec.After {
			if b := a.find(t.spec, "after", ref); b != nil && !slices.Contains(t.after, b) {
				t.after = append(t.after, b)
			}
		}
		for _, ref := range t.spec.Related {
			switch other := a.named(ref); {
			case other == t:
				a.fault(t.spec, errors.New("a task cannot be related to itself"))
			case other == nil && (a.Key == Fresh || !IsTaskID(ref)): // one that is not here may come with another file
				a.fault(t.spec, &PlaceError{Kind: UnknownRef, Field: "related", Name: ref})
			}
		}
	}
	if t.parent != nil {
		t.parent.children = append(t.parent.children, t)
	}
}

func (a *applying) find(s *Spec, field, ref string) *applied {
	if ref == "" {
		return nil
	}
	t := a.named(ref)
	if t == nil || t.deleted {
		a.fault(s, &PlaceError{Kind: UnknownRef, Field: field, Name: ref})
		return nil
	}
	return t
}

const featureNameOfSQL = `SELECT name FROM features WHERE n = :n;`

// place gives every task the feature of its topmost parent, and makes features that do not exist.
func (a *applying) place() {
	numbers := map[string]int64{"": 0}
	number := func(s *Spec) int64 {
		name := strings.ToLower(s.Feature)
		n, known := numbers[name]
		if known {
			return n
		}
		if n = a.graph.number(featureNumberSQL, ":name", s.Feature); n == 0 {
			f, err := a.graph.AddFeature(s.Feature)
			if n = f.N; err != nil {
				a.fault(s, err)
			}
		}
		numbers[name] = n
		return n
	}
	var down func(t *applied, feature int64)
	down = func(t *applied, feature int64) {
		t.feature = feature
		if t.spec != nil && t.spec.Feature != "" && number(t.spec) != feature {
			name, _ := db.One(a.graph.tx, featureNameOfSQL, (*db.Row).Text, ":n", feature)
			a.fault(t.spec, &PlaceError{Kind: OtherFeature, Name: t.spec.Feature, Parent: t.spec.Parent, Feature: name})
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

// rollUpAll works out statuses from the leaves up, and what new tasks inherit from the top down.
func (a *applying) rollUpAll() {
	for _, t := range a.tasks {
		if t.parent == nil && !t.deleted {
			a.rollUp(t)
		}
	}
	for _, t := range a.tasks {
		if !t.added {
			continue
		}
		for _, b := range t.after {
			if !b.satisfies() {
				t.openDeps++
			}
		}
	}
	for _, t := range a.tasks {
		switch {
		case !t.added:
		case t.parent == nil:
			t.flag(false, false)
		case !t.parent.added:
			t.flag(t.parent.is.holds, t.parent.is.dooms)
		}
	}
}

func (a *applying) rollUp(t *applied) {
	all := below{satisfied: true}
	for _, c := range t.children {
		a.rollUp(c)
		all.add(c.status, c.goesOn, c.satisfied)
	}
	if t.spec == nil {
		return // it follows its children when they are stored
	}
	t.standing = standing{cmp.Or(t.spec.Status, Pending), false, t.spec.Satisfied, t.spec.OnFail == Continue}
	if t.spec.Group = t.spec.Group && len(t.children) == 0; t.status == InProgress {
		t.status = Pending
	}
	if len(t.children) > 0 {
		if t.status == Done && (all.open || all.failed) {
			if t.status = Pending; a.Key == Fresh {
				c := t.children[slices.IndexFunc(t.children, func(c *applied) bool { return c.status != Cancelled && !c.spec.satisfies(c.status) })]
				a.fault(t.spec, fmt.Errorf("it is done, but its subtask on line %d is %s", c.spec.Line, c.status))
			}
		}
		t.status, t.satisfied, t.givenUp = all.group(t.status)
		t.spec.Satisfied = t.satisfied
	}
	t.givenUp = t.givenUp || t.is.givenUp && t.status == Failed
}

// holds reports whether a task keeps back what is below it.
func (t *applied) holds() bool { return t.openDeps > 0 || t.status == Blocked || t.givenUp }

func (t *applied) flag(held, doomed bool) {
	t.held, t.doomed = held, doomed
	for _, c := range t.children {
		if c.added {
			c.flag(held || t.holds(), doomed || t.status == Failed)
		}
	}
}
