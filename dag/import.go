package dag

import (
	"errors"
	"fmt"
	"strings"
)

// Import adds all tasks of a plan, in its order, or, with a PlanError, none. It
// returns their IDs. A ref that looks like an ID and is free becomes the ID.
// Group statuses are rolled up; a claim does not travel: in_progress is pending.
func (g *Graph) Import(specs []Spec) ([]string, error) {
	b := &batch{graph: g, tasks: make([]planned, len(specs)), existing: map[string]Task{}}
	for _, step := range []func([]Spec) error{b.resolve, b.refuseCycles, b.inherit, b.rollUp, b.store} {
		if err := step(specs); err != nil {
			return nil, err
		}
	}
	ids := make([]string, len(b.tasks))
	for i, t := range b.tasks {
		ids[i] = t.id
	}
	return ids, nil
}

// planned is a task between the file and the table. Everything derived is worked
// out here, in memory, so that storing it is a bare insert.
type planned struct {
	spec     *Spec
	n        int64
	id       string
	parent   int   // index in the batch, or -1
	under    *Task // the parent, if it exists already
	after    []int // indexes of blockers
	afterOld []Task
	related  []int // indexes
	relOld   []Task
	feature  string
	children []int
	status   Status
	openDeps int
	held     bool
	doomed   bool
	givenUp  bool // its status says failed, and nothing below it does
}

type batch struct {
	graph    *Graph
	tasks    []planned
	existing map[string]Task
	faults   PlanError
}

func (b *batch) fault(i int, err error) {
	b.faults = append(b.faults, SpecError{Line: b.tasks[i].spec.Line, Err: err})
}

func (b *batch) verdict() error { return b.faults.verdict() }

// resolve checks each task by itself and finds what it refers to.
func (b *batch) resolve(specs []Spec) error {
	refs := make(map[string]int, len(specs))
	for i := range specs {
		s := &specs[i]
		b.tasks[i] = planned{spec: s, parent: -1}
		if err := s.check(); err != nil {
			b.fault(i, err)
		}
		if s.Ref == "" {
			continue
		}
		if first, taken := refs[s.Ref]; taken {
			b.fault(i, fmt.Errorf("ref %q is taken by line %d", s.Ref, specs[first].Line))
			continue
		}
		refs[s.Ref] = i
	}
	for i := range b.tasks {
		b.link(i, refs)
	}
	return b.verdict()
}

func (b *batch) link(i int, refs map[string]int) {
	t := &b.tasks[i]
	if name := t.spec.Parent; name != "" {
		if t.parent, t.under = b.find(i, refs, "parent", name); t.parent >= 0 {
			b.tasks[t.parent].children = append(b.tasks[t.parent].children, i)
		}
	}
	seen := make(map[string]bool, len(t.spec.After))
	for _, name := range t.spec.After {
		if seen[name] {
			continue
		}
		seen[name] = true
		if ref, old := b.find(i, refs, "after", name); ref >= 0 {
			t.after = append(t.after, ref)
		} else if old != nil {
			t.afterOld = append(t.afterOld, *old)
		}
	}
	for _, name := range t.spec.Related {
		switch ref, old := b.find(i, refs, "related", name); {
		case ref == i:
			b.fault(i, errors.New("a task cannot be related to itself"))
		case ref >= 0:
			t.related = append(t.related, ref)
		case old != nil:
			t.relOld = append(t.relOld, *old)
		}
	}
}

// find returns the index of a task of the plan, or -1 and one that exists; if there is
// neither, that is a fault of task i, unless the transaction failed.
func (b *batch) find(i int, refs map[string]int, field, name string) (int, *Task) {
	if ref, ok := refs[name]; ok {
		return ref, nil
	}
	t, ok := b.existing[name]
	if !ok {
		var err error
		if t, err = b.graph.Task(name); err != nil {
			b.fault(i, fmt.Errorf("%s %q %w", field, name, ErrUnknownRef))
			return -1, nil
		}
		b.existing[name] = t
	}
	return -1, &t
}

// inherit gives every task the feature of its topmost parent.
func (b *batch) inherit([]Spec) error {
	for i := range b.tasks {
		t := &b.tasks[i]
		switch {
		case t.parent >= 0:
		case t.under == nil:
			b.bequeath(i, t.spec.Feature)
		case t.under.Status == InProgress:
			b.fault(i, fmt.Errorf("parent %s is in progress and cannot take subtasks now", t.under.ID))
		default:
			b.bequeath(i, t.under.Feature)
		}
	}
	return b.verdict()
}

func (b *batch) bequeath(i int, feature string) {
	t := &b.tasks[i]
	if own := t.spec.Feature; own != "" && !strings.EqualFold(own, feature) {
		b.fault(i, fmt.Errorf("feature %q differs from its parent's, %s", own, nameOrNone(feature)))
	}
	t.feature = feature
	for _, c := range t.children {
		b.bequeath(c, feature)
	}
}

// rollUp works out statuses from the leaves up and flags from the top down.
func (b *batch) rollUp([]Spec) error {
	for i := range b.tasks {
		if b.tasks[i].parent < 0 {
			b.statusOf(i)
		}
	}
	if err := b.verdict(); err != nil {
		return err
	}
	for i := range b.tasks {
		t := &b.tasks[i]
		for _, blocker := range t.after {
			if old := &b.tasks[blocker]; !old.spec.satisfies(old.status) {
				t.openDeps++
			}
		}
		for _, old := range t.afterOld {
			if !old.Satisfies {
				t.openDeps++
			}
		}
	}
	for i := range b.tasks {
		if old := b.tasks[i].under; old != nil {
			b.flag(i, old.holds(), old.Doomed || old.Status == Failed)
		} else if b.tasks[i].parent < 0 {
			b.flag(i, false, false)
		}
	}
	return nil
}

func (b *batch) statusOf(i int) Status {
	t := &b.tasks[i]
	t.status = t.spec.Status
	if t.status == "" || t.status == InProgress {
		t.status = Pending
	}
	if len(t.children) == 0 {
		return t.status
	}
	all := below{satisfied: true}
	for _, c := range t.children {
		s, child := b.statusOf(c), b.tasks[c].spec
		all.add(s, child.OnFail == Continue, child.Satisfied)
		if t.status == Done && s != Cancelled && !child.satisfies(s) {
			b.fault(i, fmt.Errorf("it is done, but its subtask on line %d is %s", b.tasks[c].spec.Line, s))
			return t.status
		}
	}
	t.status, t.spec.Satisfied, t.givenUp = all.group(t.status)
	return t.status
}

func (b *batch) flag(i int, held, doomed bool) {
	t := &b.tasks[i]
	t.held, t.doomed = held, doomed
	for _, c := range t.children {
		b.flag(c, held || t.openDeps > 0 || t.status == Blocked || t.givenUp, doomed || t.status == Failed)
	}
}
