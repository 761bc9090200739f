package dag_test

import (
	"slices"

	"ralph/dag"
)

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
		t.status = s.Status
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
			return errRefused
		}
		t.feature = p.feature
	}
	for _, c := range m.children(t.id) {
		if err := m.inherit(c); err != nil {
			return err
		}
	}
	if t.feature != "" {
		m.needFeature(t.feature)
	}
	return nil
}

func (m *model) needFeature(name string) {
	for _, f := range m.features {
		if f == name {
			return
		}
	}
	m.features = append(m.features, name)
}

// rollUpPlan works a new group's status out from its children's: what the plan
// says holds, unless it cannot be so.
func (m *model) rollUpPlan(t *modelTask) error {
	allDone, allEnded := true, true
	children := m.children(t.id)
	for _, c := range children {
		if err := m.rollUpPlan(c); err != nil {
			return err
		}
		allDone = allDone && c.status == dag.Done
		allEnded = allEnded && ended(c.status)
	}
	switch {
	case len(children) == 0:
	case t.status == dag.Done && !allDone:
		return errRefused
	case allDone && t.status != dag.Blocked:
		t.status = dag.Done
	case allEnded && t.status == dag.Pending:
		t.status = dag.Failed
	}
	failed := slices.ContainsFunc(children, func(c *modelTask) bool { return c.status == dag.Failed })
	t.givenUp = len(children) > 0 && t.status == dag.Failed && !failed
	return nil
}

// joinPlan tells tasks that existed before about their new children: an open one
// opens them; others only let them catch up.
func (m *model) joinPlan(fresh []*modelTask, isNew map[string]bool) {
	told := map[string]bool{}
	for _, first := range fresh {
		p := m.tasks[first.parent]
		if p == nil || isNew[p.id] || told[p.id] {
			continue
		}
		told[p.id] = true
		p.notBefore = m.now
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
