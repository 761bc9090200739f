package dag_test

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"time"

	"ralph/dag"
)

// model is the graph as docs/state-machine.md describes it, by recursion and without a single
// counter. It knows nothing of how the real one is stored.
type model struct {
	now      time.Time
	tasks    map[string]*modelTask
	features []string
	created  int
	claims   int
	entries  []modelEntry       // of the queue, in order
	accepted map[int]dag.Status // by a person, though rejected: the work of which claim, and what its task was
}

type modelTask struct {
	id         string
	order      int // of creation
	priority   int64
	status     dag.Status
	parent     string
	feature    string
	after      map[string]bool
	notBefore  time.Time
	retries    int
	maxRetries *int
	givenUp    bool
	emptied    bool // a group without children
	satisfied  bool // it is cancelled, and nobody has to wait
	goesOn     bool // who waits for it does not mind if it fails
	holder     int  // which claim has it; 0 for none
	slot       int  // that the claim took
	finished   bool // its work is only to be verified
	review     bool // once a person has accepted it
	work       int  // the claim that did what is finished
	startedAt  time.Time
	rejected   []rejected
}

// rejected is work that was not accepted.
type rejected struct {
	serial int // of the claim
	at     time.Time
}

var errCycle = errors.New("the model sees a cycle")

func newModel(now time.Time, features ...string) *model {
	return &model{now: now, tasks: map[string]*modelTask{}, features: features, accepted: map[int]dag.Status{}}
}

func (m *model) clone() *model {
	c := *m
	c.features, c.entries = slices.Clone(m.features), slices.Clone(m.entries)
	c.accepted = maps.Clone(m.accepted)
	c.tasks = make(map[string]*modelTask, len(m.tasks))
	for id, t := range m.tasks {
		copied := *t
		copied.after, copied.rejected = maps.Clone(t.after), slices.Clone(t.rejected)
		c.tasks[id] = &copied
	}
	return &c
}

// attempt runs fn; if it returns an error, nothing has happened.
func (m *model) attempt(fn func() error) error {
	before := m.clone()
	err := fn()
	if err != nil {
		*m = *before
	}
	return err
}

func (m *model) add(id string) *modelTask {
	m.created++
	t := &modelTask{id: id, order: m.created, status: dag.Pending, after: map[string]bool{}}
	m.tasks[id] = t
	return t
}

// all lists the tasks in order of creation.
func (m *model) all() []*modelTask {
	return slices.SortedFunc(maps.Values(m.tasks), func(a, b *modelTask) int { return cmp.Compare(a.order, b.order) })
}

func (m *model) ids() []string {
	return idsOf(m.all())
}

func idsOf(tasks []*modelTask) []string {
	ids := make([]string, len(tasks))
	for i, t := range tasks {
		ids[i] = t.id
	}
	return ids
}

func (m *model) children(id string) []*modelTask {
	return slices.DeleteFunc(m.all(), func(t *modelTask) bool { return t.parent != id })
}

func (m *model) below(id string) []*modelTask {
	list := []*modelTask{m.tasks[id]}
	for _, c := range m.children(id) {
		list = append(list, m.below(c.id)...)
	}
	return list
}

func (t *modelTask) satisfies() bool {
	return t.status == dag.Done || t.status == dag.Cancelled && t.satisfied || t.status == dag.Failed && t.goesOn
}

func (t *modelTask) harms() bool { return t.status == dag.Failed && !t.goesOn }

func (m *model) waits(t *modelTask) bool {
	for blocker := range t.after {
		if !m.tasks[blocker].satisfies() {
			return true
		}
	}
	return false
}

// held: an ancestor has an unfinished blocker, is blocked, or was given up.
func (m *model) held(t *modelTask) bool {
	p, ok := m.tasks[t.parent]
	return ok && (m.waits(p) || p.status == dag.Blocked || p.givenUp || m.held(p))
}

// doomed: an ancestor failed.
func (m *model) doomed(t *modelTask) bool {
	p, ok := m.tasks[t.parent]
	return ok && (p.status == dag.Failed || m.doomed(p))
}

func (m *model) ready(t *modelTask, keepGoing bool) bool {
	return t.status == dag.Pending && len(m.children(t.id)) == 0 && !t.emptied && !m.waits(t) && !m.held(t) &&
		(keepGoing || !m.doomed(t)) && !t.review && !t.notBefore.After(m.now)
}

func (m *model) inScope(t *modelTask, s dag.Scope) bool {
	switch {
	case s.Feature != "":
		return t.feature == s.Feature
	case s.Task != "":
		return t.id == s.Task || (t.parent != "" && m.inScope(m.tasks[t.parent], s))
	default:
		return true
	}
}

// queue is what is ready in a scope, in the order of claims: finished work first.
func (m *model) queue(s dag.Scope, keepGoing bool) []string {
	list := slices.DeleteFunc(m.all(), func(t *modelTask) bool { return !m.inScope(t, s) || !m.ready(t, keepGoing) })
	slices.SortFunc(list, func(a, b *modelTask) int {
		return cmp.Or(after(a.finished, b.finished), cmp.Compare(a.priority, b.priority), cmp.Compare(a.order, b.order))
	})
	return idsOf(list)
}

func (m *model) featureStatus(name string) dag.FeatureStatus {
	count := map[dag.Status]int{}
	total := 0
	for _, t := range m.tasks {
		if t.feature == name {
			count[t.status]++
			total++
		}
	}
	switch {
	case total == 0:
		return dag.FeatureDraft
	case count[dag.InProgress] > 0:
		return dag.FeatureRunning
	case count[dag.Done]+count[dag.Cancelled] == total:
		return dag.FeatureDone
	case count[dag.Failed] > 0:
		return dag.FeatureFailed
	case count[dag.Done] > 0:
		return dag.FeatureRunning
	}
	return dag.FeatureReady
}

// moment is the start or the end of a task.
type moment struct {
	id  string
	end bool
}

// needs is what has to happen before: a start needs the ends of the blockers and
// the start of the parent; an end needs its start and the ends of the children.
func (m *model) needs(x moment) []moment {
	t := m.tasks[x.id]
	var list []moment
	if x.end {
		list = append(list, moment{x.id, false})
		for _, c := range m.children(x.id) {
			list = append(list, moment{c.id, true})
		}
		return list
	}
	for blocker := range t.after {
		list = append(list, moment{blocker, true})
	}
	if t.parent != "" {
		list = append(list, moment{t.parent, false})
	}
	return list
}

// stuck says that some moment would have to come before itself.
func (m *model) stuck() bool {
	for id := range m.tasks {
		if m.reaches(moment{id, false}, moment{id, false}, map[moment]bool{}) ||
			m.reaches(moment{id, true}, moment{id, true}, map[moment]bool{}) {
			return true
		}
	}
	return false
}

func (m *model) reaches(from, to moment, seen map[moment]bool) bool {
	for _, next := range m.needs(from) {
		if next == to {
			return true
		}
		if !seen[next] {
			seen[next] = true
			if m.reaches(next, to, seen) {
				return true
			}
		}
	}
	return false
}
