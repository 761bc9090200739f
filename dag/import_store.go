package dag

import (
	"errors"

	"ralph/internal/db"
)

const (
	lastSQL   = `SELECT coalesce(max(n), 0) FROM tasks;`
	insertSQL = `
INSERT INTO tasks (n, id, status, parent, feature, ` + detailColumns + `,
    retries, verification, satisfied, created_at, updated_at, finished_at, children, open_deps, held, doomed, given_up)
VALUES (:n, :id, :status, :parent, :feature, ` + detailValues + `,
    :retries, :verification, :satisfied, :now, :now, :finished, :children, :open_deps, :held, :doomed, :given_up)
ON CONFLICT (id) DO NOTHING;`
)

// store writes the batch: features, tasks, dependencies, and what the new tasks
// mean to parents that existed before.
func (b *batch) store([]Spec) error {
	features, err := b.storeFeatures()
	if err != nil {
		return err
	}
	last := b.graph.number(lastSQL)
	for i := range b.tasks {
		b.tasks[i].n = last + 1 + int64(i)
	}
	for i := range b.tasks {
		if err := b.storeTask(i, features); err != nil {
			return err
		}
	}
	for _, t := range b.tasks {
		for _, blocker := range t.after {
			b.graph.tx.Do(linkSQL, ":blocker", b.tasks[blocker].n, ":blocked", t.n)
		}
		for _, old := range t.afterOld {
			b.graph.tx.Do(linkSQL, ":blocker", old.N, ":blocked", t.n)
		}
		for _, other := range t.related {
			b.graph.tx.Do(relateSQL, ":a", t.n, ":b", b.tasks[other].n)
		}
		for _, old := range t.relOld {
			b.graph.tx.Do(relateSQL, ":a", t.n, ":b", old.N)
		}
	}
	b.growParents()
	return b.graph.tx.Err()
}

func (b *batch) storeFeatures() (map[string]int64, error) {
	numbers := map[string]int64{"": 0}
	for i := range b.tasks {
		name := b.tasks[i].feature
		if _, known := numbers[name]; known {
			continue
		}
		n, err := b.graph.featureNumber(name)
		if errors.Is(err, ErrNotFound) {
			var f Feature
			f, err = b.graph.AddFeature(name)
			n = f.N
		}
		if err != nil {
			return nil, err
		}
		numbers[name] = n
	}
	return numbers, nil
}

func (b *batch) storeTask(i int, features map[string]int64) error {
	t, parent := &b.tasks[i], int64(0)
	switch {
	case t.parent >= 0:
		parent = b.tasks[t.parent].n
	case t.under != nil:
		parent = t.under.N
	}
	return b.graph.insert(t, parent, features[t.feature])
}

// insert stores a task in its place, with a number and an ID if it has none.
func (g *Graph) insert(t *planned, parent, feature int64) (err error) {
	s, wish, finished := t.spec, "", any(nil)
	s.Group = s.Group && len(t.children) == 0
	if !isOpen(t.status) {
		finished = g.millis()
	}
	if IsTaskID(s.Ref) {
		wish = s.Ref
	}
	t.id, err = g.WithFreeID("t-", wish, func(id string) error {
		return g.tx.Exec(insertSQL, s.detailArgs(":n", db.OrNull(t.n), ":id", id, ":status", string(t.status), ":parent", db.OrNull(parent),
			":feature", db.OrNull(feature), ":retries", s.Retries, ":verification", db.OrNull(s.Verification), ":satisfied", s.Satisfied && t.status == Cancelled,
			":now", g.millis(), ":finished", finished,
			":children", len(t.children), ":open_deps", t.openDeps, ":held", t.held, ":doomed", t.doomed, ":given_up", t.givenUp)...)
	})
	t.n = g.tx.LastInsert()
	return err
}

// growParents counts the new children of tasks that existed before, and reopens
// those that had ended if something new is to be done below them.
func (b *batch) growParents() {
	count, child := map[int64]int{}, map[int64]Status{}
	var parents []int64
	for i := range b.tasks {
		t := &b.tasks[i]
		if t.under == nil {
			continue
		}
		n := t.under.N
		if count[n]++; count[n] == 1 {
			parents, child[n] = append(parents, n), Done
		}
		if isOpen(t.status) {
			child[n] = Pending
		}
	}
	for _, n := range parents {
		b.graph.addChildren(n, count[n], child[n])
	}
}
