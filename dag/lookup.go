package dag

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"
)

const byIDSQL = `SELECT {task} FROM tasks WHERE id = :id;`

// Get returns the task with that full ID.
func (g Tasks) Get(id string) (Task, error) {
	found, err := g.all(byIDSQL, ":id", id)
	return only(found, err, "task "+id)
}

const byPrefixSQL = `SELECT {task} FROM tasks WHERE id >= :from AND id < :to ORDER BY id LIMIT 4;`

// Resolve returns the one task whose ID begins with what was typed; the leading
// "t-" may be left out. More than one is an error that lists some.
func (g Tasks) Resolve(typed string) (Task, error) {
	return ByPrefix("task", "t-", typed, g.all, byPrefixSQL, func(t Task) string { return t.ID })
}

// ByPrefix finds the one thing whose ID begins with what was typed, with or without the
// prefix of its kind.
func ByPrefix[T any](kind, prefix, typed string, find func(string, ...any) ([]T, error), query string, id func(T) string) (T, error) {
	var none T
	from := prefix + strings.TrimPrefix(strings.ToLower(strings.TrimSpace(typed)), prefix)
	if from == prefix {
		return none, &MissingError{Kind: kind, Typed: typed}
	}
	found, err := find(query, ":from", from, ":to", from+"\U0010ffff")
	if err != nil {
		return none, err
	}
	if len(found) > 1 && id(found[0]) != from {
		var ids []string
		for _, v := range found {
			ids = append(ids, id(v))
		}
		return none, fmt.Errorf("%s %q: %w: %s", kind, typed, ErrAmbiguous, strings.Join(ids, ", "))
	}
	if len(found) == 0 {
		return none, &MissingError{Kind: kind, Typed: typed}
	}
	return found[0], nil
}

// MissingError says that nothing is called what was typed. It is an ErrNotFound.
type MissingError struct {
	Kind, Typed string
	Known       []string // the names of the features, if it could have been one
}

func (e *MissingError) Error() string { return fmt.Sprintf("%s %q: %v", e.Kind, e.Typed, ErrNotFound) }

func (e *MissingError) Unwrap() error { return ErrNotFound }

// only returns the first of what was found, or that there is none.
func only[T any](found []T, err error, what string) (T, error) {
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("%s: %w", what, ErrNotFound)
	}
	if err != nil {
		return *new(T), err
	}
	return found[0], nil
}

// Subtree returns a task and everything below it, parents before their children.
func (g Tasks) Subtree(root Task) ([]Task, error) {
	tasks := []Task{root}
	for i := 0; i < len(tasks); i++ {
		if tasks[i].Children == 0 {
			continue
		}
		children, err := g.Children(tasks[i])
		if err != nil {
			return nil, err
		}
		tasks = append(tasks, children...)
	}
	return tasks, nil
}

// Filter selects tasks. The zero value selects all of them.
type Filter struct {
	Ready    bool     // what a run would take now, beside the statuses
	Statuses []Status // none means all, or with Ready none beside it
	Feature  string   // a name
	Loose    bool     // those of no feature
	Tag      string
	Limit    int // 0 means no limit
}

const (
	// The statuses are asked for here, so that rows nobody wants cost next to nothing.
	wanted         = ` (:statuses = '' OR instr(:statuses, ',' || status || ',') > 0) ORDER BY n;`
	listSQL        = `SELECT {task} FROM tasks WHERE` + wanted
	listFeatureSQL = `SELECT {task} FROM tasks WHERE feature = :feature AND` + wanted
	listLooseSQL   = `SELECT {task} FROM tasks INDEXED BY tasks_loose WHERE feature IS NULL AND` + wanted
	failedSQL      = `SELECT id FROM tasks INDEXED BY tasks_failed WHERE status = 'failed' ORDER BY n;`
	// keptSQL finds open leaves that are not in the queue, or only because an ancestor failed.
	keptSQL = `SELECT id FROM tasks INDEXED BY tasks_kept
WHERE status IN ('pending', 'blocked') AND children = 0 AND queue IS NOT 0 AND queue IS +:queue ORDER BY n;`
	readySQL        = `SELECT id FROM tasks INDEXED BY queue_all WHERE queue = :queue AND unverified IS NULL ORDER BY priority, n LIMIT +:limit;`
	readyFeatureSQL = `SELECT id FROM tasks INDEXED BY queue_feature
WHERE feature = +:feature AND queue = :queue AND unverified IS NULL ORDER BY priority, n LIMIT +:limit;`
	readyFinishedSQL = `SELECT id FROM tasks INDEXED BY queue_finished
WHERE queue <= :doomed AND unverified IS NOT NULL AND (:feature = 0 OR feature = :feature);`
	// dueSQL finds what waited for a time that has come; a claim clears the wait.
	dueSQL = `SELECT id FROM tasks INDEXED BY tasks_waiting
WHERE not_before > 0 AND not_before <= :now AND status = 'pending' AND children = 0 AND open_deps = 0
  AND held = 0 AND paused = 0 AND leaving IS NULL AND review = 0 AND asks = 0 AND doomed <= :doomed;`
)

func (f Filter) tagged(t Task) bool { return f.Tag == "" || slices.Contains(t.Tags, f.Tag) }

// List returns tasks oldest first, or, of the ready ones, in the order in which
// they would be claimed.
func (g Tasks) List(f Filter) (list []Task, err error) {
	err = g.Each(f, func(t Task) error { list = append(list, t); return nil })
	return list, err
}

// Each calls fn with what List lists, one task after the other, until it fails: the memory
// that a whole graph takes is not needed.
func (g Tasks) Each(f Filter, fn func(Task) error) error {
	feature, err := g.featureNumber(f.Feature)
	if err != nil {
		return err
	}
	if f.Ready && len(f.Statuses) == 0 {
		ready, err := g.ready(f, feature)
		for i := 0; err == nil && i < len(ready); i++ {
			err = fn(ready[i])
		}
		return err
	}
	statuses := ""
	for _, s := range f.Statuses {
		statuses += "," + string(s) + ","
	}
	onlyReady := f.Ready && !slices.Contains(f.Statuses, Pending)
	if onlyReady {
		statuses += "," + string(Pending) + ","
	}
	var list iter.Seq[Task]
	switch {
	case feature != 0:
		list = g.each(listFeatureSQL, ":statuses", statuses, ":feature", feature)
	case f.Loose:
		list = g.each(listLooseSQL, ":statuses", statuses)
	case statuses == ","+string(Failed)+",":
		list = g.named(failedSQL)
	case statuses == ","+string(InProgress)+",":
		list = g.named(claimedSQL)
	default:
		list = g.each(listSQL, ":statuses", statuses)
	}
	left := f.Limit
	for t := range list {
		if onlyReady && t.Status == Pending && !t.Ready(g.now) || !f.tagged(t) {
			continue
		}
		if err = fn(t); err != nil {
			break
		}
		if left--; left == 0 {
			break
		}
	}
	return cmp.Or(err, g.tx.Err())
}

// Kept lists leaves that are open but not ready, oldest first, no more than the limit.
func (g Tasks) Kept(limit int) (list []Task, err error) {
	queues := []any{nil, 1} // not in the queue, and kept back by a failed ancestor only
	if g.keeps {
		queues = queues[:1]
	}
	for _, queue := range queues {
		left := limit
		for t := range g.named(keptSQL, ":queue", queue) {
			if !t.Ready(g.now) {
				list, left = append(list, t), left-1
			}
			if left <= 0 {
				break
			}
		}
	}
	slices.SortFunc(list, func(a, b Task) int { return cmp.Compare(a.N, b.N) })
	return list[:min(len(list), limit)], g.tx.Err()
}

func (g Tasks) ready(f Filter, feature int64) ([]Task, error) {
	queues := []int{0, 1} // ready, and kept back by a failed ancestor only
	if !g.keeps {
		queues = queues[:1]
	}
	list := slices.Collect(g.named(readyFinishedSQL, ":doomed", g.keeps, ":feature", feature))
	for _, queue := range queues {
		limit := cmp.Or(f.Limit, -1)
		if f.Tag != "" {
			limit = -1
		}
		query, args := readySQL, []any{":limit", limit, ":queue", queue}
		if feature != 0 {
			query, args = readyFeatureSQL, append(args, ":feature", feature)
		}
		list = slices.AppendSeq(list, g.named(query, args...))
	}
	for t := range g.named(dueSQL, ":now", g.millis(), ":doomed", g.keeps) {
		if f.Feature == "" || strings.EqualFold(t.Feature, f.Feature) {
			list = append(list, t)
		}
	}
	list = slices.DeleteFunc(list, func(t Task) bool { return !f.tagged(t) })
	sortByClaim(list)
	if f.Limit > 0 && len(list) > f.Limit {
		list = list[:f.Limit]
	}
	return list, g.tx.Err()
}

// each yields the tasks that a statement reads.
func (g *transaction) each(query string, args ...any) iter.Seq[Task] {
	return func(yield func(Task) bool) {
		for r := range g.tx.Rows(statement(query), args...) {
			if !yield(g.scanTask(r)) {
				return
			}
		}
	}
}

// named yields the tasks whose IDs a statement reads. Short commands need several such lists, and preparing one
// statement with all columns for each would cost them more than running it.
func (g *transaction) named(query string, args ...any) iter.Seq[Task] {
	return func(yield func(Task) bool) {
		for r := range g.tx.Rows(query, args...) {
			if t, err := g.tasks().Get(r.Text()); err != nil || !yield(t) {
				return
			}
		}
	}
}
