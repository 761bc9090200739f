package dag_test

import (
	"slices"
	"time"

	"ralph/dag"
)

// This file is the transitions of docs/state-machine.md on the model.

func ended(s dag.Status) bool { return s == dag.Done || s == dag.Failed || s == dag.Cancelled }

// set gives a task a status, ends its claim, and rolls up to its parent.
func (m *model) set(t *modelTask, to dag.Status) {
	from := t.status
	t.status, t.holder, t.slot = to, 0, 0
	if from != dag.Pending && from != dag.Blocked || ended(to) {
		t.finished, t.review = false, false
	}
	t.givenUp = t.givenUp && to == dag.Failed
	t.satisfied = t.satisfied && to == dag.Cancelled
	if p := m.tasks[t.parent]; p != nil {
		switch {
		case ended(from) && !ended(to):
			m.opened(p)
		case to == dag.Failed && m.harmed(p):
			m.spoiled(p)
		default:
			m.catchUp(p)
		}
	}
}

func (m *model) harmed(p *modelTask) bool {
	return slices.ContainsFunc(m.children(p.id), (*modelTask).harms)
}

// opened: a child was reopened or added, so a parent that had ended is open again.
func (m *model) opened(p *modelTask) {
	if ended(p.status) {
		m.set(p, dag.Pending)
	}
}

// spoiled: a child failed, so its parent does, unless a person blocked it. A
// parent that was done is open again first: a failed child was put below it.
func (m *model) spoiled(p *modelTask) {
	if p.status == dag.Done || p.status == dag.Cancelled {
		m.set(p, dag.Pending)
	}
	if p.status == dag.Pending {
		m.set(p, dag.Failed)
	}
}

// catchUp brings a parent in line with its children when none of them is news.
func (m *model) catchUp(p *modelTask) {
	children, to, satisfied := m.children(p.id), dag.Cancelled, true
	for _, c := range children {
		if !ended(c.status) {
			return
		}
		if c.status == dag.Done || c.status == dag.Failed && c.goesOn {
			to = dag.Done
		}
		satisfied = satisfied && (c.status != dag.Cancelled || c.satisfied)
	}
	if !satisfied {
		to = dag.Cancelled
	}
	switch {
	case len(children) == 0 || p.status == dag.Blocked:
	case m.harmed(p):
		if p.status != dag.Failed {
			m.spoiled(p)
		}
	case to == dag.Cancelled && p.status == dag.Cancelled:
		m.satisfy(p, satisfied)
	case to != p.status:
		p.satisfied = satisfied && to == dag.Cancelled
		m.set(p, to)
	}
}

// satisfy says whether a task that is cancelled already counts as satisfied.
func (m *model) satisfy(t *modelTask, satisfied bool) {
	changed := t.satisfied != satisfied
	t.satisfied = satisfied
	if p := m.tasks[t.parent]; changed && p != nil {
		m.catchUp(p)
	}
}

func (m *model) cancel(id string, satisfied bool) error {
	if m.tasks[id].status == dag.Done {
		return dag.ErrRefused
	}
	for _, groups := range []bool{false, true} {
		for _, t := range m.all() {
			if (len(m.children(t.id)) > 0) != groups || !m.inScope(t, dag.Scope{Task: id}) {
				continue
			}
			switch t.status {
			case dag.Done:
			case dag.Cancelled:
				m.satisfy(t, satisfied)
			default:
				t.notBefore, t.satisfied = m.now, satisfied
				m.set(t, dag.Cancelled)
			}
		}
	}
	return nil
}

// edited: what the failure of a task means, or what it is for.
func (m *model) edited(id string, goesOn bool) {
	t := m.tasks[id]
	t.goesOn, t.emptied = goesOn, false
	if p := m.tasks[t.parent]; p != nil && t.status == dag.Failed {
		m.lifted(p, dag.Failed)
	}
}

// joined: the task, with the status it has, became a child of its parent.
func (m *model) joined(t *modelTask) {
	p := m.tasks[t.parent]
	if p == nil {
		return
	}
	p.notBefore, p.emptied = m.now, false // a group waits for no time
	switch {
	case !ended(t.status):
		m.opened(p)
	case t.status == dag.Failed && m.harmed(p):
		m.spoiled(p)
	default:
		m.catchUp(p)
	}
}

// left: a child with that status went away.
func (m *model) left(p *modelTask, status dag.Status) {
	if p == nil {
		return
	}
	if len(m.children(p.id)) == 0 {
		p.emptied = true
		return
	}
	m.lifted(p, status)
}

// lifted: a child with that status is gone, or no longer does harm.
func (m *model) lifted(p *modelTask, status dag.Status) {
	open := slices.ContainsFunc(m.children(p.id), func(c *modelTask) bool { return !ended(c.status) })
	if status == dag.Failed && p.status == dag.Failed && open && !m.harmed(p) {
		m.set(p, dag.Pending)
		return
	}
	m.catchUp(p)
}

func (m *model) reset(t *modelTask) {
	if t.status != dag.Pending {
		m.set(t, dag.Pending)
	}
	m.wipe(t)
	m.reopenAbove(t)
}

func (m *model) wipe(t *modelTask) {
	t.retries, t.notBefore, t.finished, t.review, t.startedAt = 0, m.now, false, false, time.Time{}
}

func (m *model) reopenAbove(t *modelTask) {
	for p := m.tasks[t.parent]; p != nil; p = m.tasks[p.parent] {
		m.opened(p)
	}
}

func (m *model) resetByHand(id string) error {
	t := m.tasks[id]
	children := m.children(id)
	allEnded := len(children) > 0
	for _, c := range children {
		allEnded = allEnded && ended(c.status)
	}
	if allEnded {
		return dag.ErrRefused
	}
	m.reset(t)
	return nil
}

func (m *model) resetTree(id string) int {
	tree := m.below(id)
	for _, t := range tree {
		t.status, t.holder, t.slot, t.givenUp, t.satisfied = dag.Pending, 0, 0, false, false
		m.wipe(t)
	}
	m.reopenAbove(m.tasks[id])
	return len(tree)
}

// resetFailed resets leaves first, then the groups that are still failed.
func (m *model) resetFailed(id string) []string {
	var ids []string
	for _, groups := range []bool{false, true} {
		for _, t := range m.all() {
			isGroup := len(m.children(t.id)) > 0
			if t.status == dag.Failed && isGroup == groups && m.inScope(t, dag.Scope{Task: id}) {
				m.reset(t)
				ids = append(ids, t.id)
			}
		}
	}
	return ids
}

func (m *model) finish(id string) error {
	t := m.tasks[id]
	switch {
	case t.status == dag.Done:
		return nil
	case len(m.children(id)) > 0:
		return dag.ErrRefused
	}
	t.notBefore = m.now
	m.set(t, dag.Done)
	return nil
}

// accept: a person says that the work is good which is held, or was rejected last.
func (m *model) accept(id string) error {
	t, last := m.tasks[id], 0
	if t.review {
		t.review = false
		return nil
	}
	for _, r := range t.rejected {
		if !t.startedAt.IsZero() && !r.at.Before(t.startedAt) {
			last = r.serial
		}
	}
	switch {
	case t.finished && m.accepted[t.work] != "":
		return nil
	case len(m.children(id)) > 0, t.status != dag.Pending && t.status != dag.Failed, last == 0, t.finished:
		return dag.ErrRefused
	}
	m.accepted[last] = t.status
	if t.status == dag.Failed {
		m.set(t, dag.Pending)
		m.reopenAbove(t)
	}
	t.notBefore, t.finished, t.work = m.now, true, last
	return nil
}

func (m *model) giveUp(id string) error {
	t := m.tasks[id]
	switch t.status {
	case dag.Failed:
		t.givenUp = true
		return nil
	case dag.Done, dag.Cancelled:
		return dag.ErrRefused
	}
	t.notBefore, t.givenUp = m.now, true
	m.set(t, dag.Failed)
	return nil
}

func (m *model) block(id string) error {
	t := m.tasks[id]
	switch t.status {
	case dag.Blocked:
		return nil
	case dag.Pending:
		m.set(t, dag.Blocked)
		return nil
	}
	return dag.ErrRefused
}

func (m *model) unblock(id string) error {
	t := m.tasks[id]
	if t.status != dag.Blocked {
		return dag.ErrRefused
	}
	m.set(t, dag.Pending)
	m.catchUp(t)
	return nil
}

func (m *model) remove(id string) {
	t := m.tasks[id]
	for _, gone := range m.below(id) {
		delete(m.tasks, gone.id)
		for _, other := range m.tasks {
			delete(other.after, gone.id)
		}
	}
	m.left(m.tasks[t.parent], t.status)
}

func (m *model) move(id, parent string) error {
	t := m.tasks[id]
	old := m.tasks[t.parent]
	p := m.tasks[parent]
	if p != nil && p.status == dag.InProgress {
		return dag.ErrRefused
	}
	if t.parent == parent {
		return nil
	}
	t.parent = parent
	if m.loops(t) || m.stuck() {
		return errCycle
	}
	if p != nil {
		for _, below := range m.below(id) {
			below.feature = p.feature
		}
	}
	m.left(old, t.status)
	m.joined(t)
	return nil
}

// loops says that going up from a task never ends.
func (m *model) loops(t *modelTask) bool {
	seen := map[string]bool{}
	for ; t != nil; t = m.tasks[t.parent] {
		if seen[t.id] {
			return true
		}
		seen[t.id] = true
	}
	return false
}

// importPlan puts a whole plan into the model under the given IDs, or refuses
// it. A task's parent and blockers are refs of the plan or IDs that exist.
func (m *model) importPlan(specs []dag.Spec, ids []string) error {
	byRef := map[string]string{}
	for i, s := range specs {
		byRef[s.Ref] = ids[i]
	}
	name := func(ref string) string {
		if id, ok := byRef[ref]; ok {
			return id
		}
		return ref
	}
	var fresh []*modelTask
	for i, s := range specs {
		t := m.add(ids[i])
		t.priority, t.retries, t.maxRetries = s.Priority, s.Retries, s.MaxRetries
		t.status, t.satisfied, t.goesOn, t.emptied = s.Status, s.Satisfied, s.OnFail == dag.Continue, s.Group
		if t.status == "" || t.status == dag.InProgress { // a claim does not travel
			t.status = dag.Pending
		}
		t.parent, t.feature = name(s.Parent), s.Feature
		for _, ref := range s.After {
			t.after[name(ref)] = true
		}
		fresh = append(fresh, t)
	}
	for _, t := range fresh {
		if m.loops(t) {
			return errCycle
		}
	}
	if m.stuck() {
		return errCycle
	}
	isNew := map[string]bool{}
	for _, t := range fresh {
		isNew[t.id] = true
	}
	for _, t := range fresh {
		if !isNew[t.parent] {
			if err := m.inherit(t); err != nil {
				return err
			}
			if err := m.rollUpPlan(t); err != nil {
				return err
			}
		}
	}
	m.joinPlan(fresh, isNew)
	return nil
}

func (m *model) inherit(t *modelTask) error {
	if p := m.tasks[t.parent]; p != nil {
		if p.status == dag.InProgress || (t.feature != "" && t.feature != p.feature) {
			return dag.ErrRefused
		}
		t.feature = p.feature
	}
	for _, c := range m.children(t.id) {
		if err := m.inherit(c); err != nil {
			return err
		}
	}
	if t.feature != "" && !slices.Contains(m.features, t.feature) {
		m.features = append(m.features, t.feature)
	}
	return nil
}

// rollUpPlan works a new group's status out from its children's: what the plan
// says holds, unless it cannot be so.
func (m *model) rollUpPlan(t *modelTask) error {
	fine, allEnded, satisfied, to := true, true, true, dag.Cancelled
	children := m.children(t.id)
	for _, c := range children {
		if err := m.rollUpPlan(c); err != nil {
			return err
		}
		fine = fine && (c.satisfies() || c.status == dag.Cancelled)
		allEnded = allEnded && ended(c.status)
		satisfied = satisfied && c.satisfies()
		if c.satisfies() && c.status != dag.Cancelled {
			to = dag.Done
		}
	}
	if len(children) == 0 {
		return nil
	}
	if slices.ContainsFunc(children, func(c *modelTask) bool { return c.status == dag.Cancelled && !c.satisfied }) {
		to = dag.Cancelled
	}
	t.emptied = false
	if t.status == dag.Cancelled {
		t.status = dag.Pending
	}
	switch {
	case t.status == dag.Done && !fine:
		return dag.ErrRefused
	case fine && t.status != dag.Blocked:
		t.status, t.satisfied = to, to == dag.Cancelled && satisfied
	case allEnded && t.status == dag.Pending:
		t.status = dag.Failed
	}
	t.satisfied = t.satisfied && t.status == dag.Cancelled
	t.givenUp = t.status == dag.Failed && !m.harmed(t)
	return nil
}

// joinPlan brings tasks that existed before in line with their new children: an open one
// opens them; others only let them catch up.
func (m *model) joinPlan(fresh []*modelTask, isNew map[string]bool) {
	seen := map[string]bool{}
	for _, first := range fresh {
		p := m.tasks[first.parent]
		if p == nil || isNew[p.id] || seen[p.id] {
			continue
		}
		seen[p.id] = true
		p.notBefore, p.emptied = m.now, false
		open := false
		for _, t := range fresh {
			open = open || (t.parent == p.id && !ended(t.status))
		}
		if open {
			m.opened(p)
		} else {
			m.catchUp(p)
		}
	}
}
