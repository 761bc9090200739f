package dag

import (
	"fmt"
	"time"

	"ralph/internal/db"
)

// Tally counts the tasks of a scope and says why a run would stop or wait. Groups
// are no tasks: nobody works on them.
type Tally struct {
	ByStatus map[Status]int
	Groups   map[Status]int
	Ready    int          // claimable now
	Waiting  int          // pending until a time that has not come
	NextWait time.Time    // the first of those times
	Asks     int          // waiting for an answer
	Limits   []AgentLimit // those of them for which an agent may have met a limit

	// The same for what a failed ancestor keeps back, unless a run keeps going.
	DoomedWaiting  int
	NextDoomedWait time.Time
}

// Total is the number of tasks.
func (t Tally) Total() int { return sum(t.ByStatus) }

// TotalGroups is the number of groups.
func (t Tally) TotalGroups() int { return sum(t.Groups) }

// Open is the number of tasks that are neither done, nor failed, nor cancelled.
func (t Tally) Open() int { return openOf(t.ByStatus) }

// OpenGroups is the same of groups.
func (t Tally) OpenGroups() int { return openOf(t.Groups) }

func openOf(counts map[Status]int) (total int) {
	for status, n := range counts {
		if status.Open() {
			total += n
		}
	}
	return total
}

// ended counts what needs no more work.
func ended(counts map[Status]int) int { return counts[Done] + counts[Cancelled] }

func sum(counts map[Status]int) int {
	total := 0
	for _, n := range counts {
		total += n
	}
	return total
}

const (
	countsColumns    = `SELECT status, grouped, queue, tasks FROM counts WHERE tasks > 0 AND feature = `
	countsAllSQL     = countsColumns + `0;`
	countsFeatureSQL = countsColumns + `:feature;`
	// A subtree has no counts of its own: like a claim in it, this costs a walk.
	countsTreeSQL = trees + `SELECT t.status, t.children > 0, coalesce(t.queue, -1), count(*) FROM sub JOIN tasks t ON t.n = sub.n GROUP BY 1, 2, 3;`

	waits = ` not_before > 0 AND status = 'pending' AND children = 0 AND open_deps = 0 AND held = 0 AND paused = 0 AND leaving IS NULL AND review = 0 AND asks = 0`

	asksAllSQL     = `SELECT count(*) FROM tasks INDEXED BY tasks_asks WHERE asks > 0`
	asksFeatureSQL = asksAllSQL + ` AND feature = +:feature`
	asksTreeSQL    = trees + `SELECT count(*) FROM tasks WHERE n IN (SELECT n FROM sub) AND asks > 0`

	waitsAllSQL     = `SELECT not_before, doomed, wait_agent, wait_reason FROM tasks INDEXED BY tasks_waiting WHERE` + waits + `;`
	waitsFeatureSQL = `SELECT not_before, doomed, wait_agent, wait_reason FROM tasks INDEXED BY tasks_waiting WHERE` + waits + ` AND feature = +:feature;`
	waitsTreeSQL    = trees + `SELECT not_before, doomed, wait_agent, wait_reason FROM tasks WHERE n IN (SELECT n FROM sub) AND` + waits + `;`
)

// Tally counts a scope. Ready and Waiting leave out what a failed ancestor keeps back.
func (g Tasks) Tally(scope Scope) (Tally, error) {
	queries, args, err := scoped(g.transaction, scope, [3]string{countsAllSQL, waitsAllSQL, asksAllSQL},
		[3]string{countsFeatureSQL, waitsFeatureSQL, asksFeatureSQL}, [3]string{countsTreeSQL, waitsTreeSQL, asksTreeSQL})
	if err != nil {
		return Tally{}, err
	}
	t := g.count(queries[0], args...)
	t.Asks = int(g.number(queries[2], args...))
	for r := range g.tx.Rows(queries[1], args...) {
		until, doomed := r.Time(), r.Bool() && !g.keeps
		if l := (AgentLimit{Agent: r.Text(), Until: until, Reason: r.Text()}); l.Agent != "" && until.After(g.now) {
			t.Limits = append(t.Limits, l)
		}
		waiting, next := &t.Waiting, &t.NextWait
		if doomed {
			waiting, next = &t.DoomedWaiting, &t.NextDoomedWait
		}
		switch {
		case until.After(g.now):
			*waiting++
			if next.IsZero() || until.Before(*next) {
				*next = until
			}
		case !doomed: // a claim takes it; of those that are doomed, one that keeps going
			t.Ready++
		}
	}
	return t, g.tx.Err()
}

func (g *transaction) count(query string, args ...any) Tally {
	t := Tally{ByStatus: map[Status]int{}, Groups: map[Status]int{}}
	for r := range g.tx.Rows(query, args...) {
		status, grouped, queue, n := Status(r.Text()), r.Bool(), r.Int(), r.Int()
		if grouped {
			t.Groups[status] += n
			continue
		}
		t.ByStatus[status] += n
		if queue == 0 || queue == 1 && g.keeps {
			t.Ready += n
		}
	}
	return t
}

const taggedSQL = `
SELECT json_group_array(n) FROM tasks INDEXED BY tasks_tagged WHERE tags <> '[]' AND EXISTS (SELECT 1 FROM json_each(tags) WHERE value = :tag);`

// roots lists the tasks at whose top a scope begins, as trees takes them.
func (g *transaction) roots(scope Scope) (string, error) {
	if scope.Task != "" {
		t, err := g.nodeByID(scope.Task)
		return fmt.Sprint(t.n), err
	}
	return db.One(g.tx, taggedSQL, (*db.Row).Text, ":tag", scope.Tag)
}

// scoped chooses what serves a scope, and its arguments.
func scoped[T any](g *transaction, scope Scope, all, feature, tree T) (T, []any, error) {
	switch {
	case scope.Task != "" || scope.Tag != "":
		roots, err := g.roots(scope)
		return tree, []any{":n", roots}, err
	case scope.Feature != "":
		n, err := g.featureNumber(scope.Feature)
		return feature, []any{":feature", n}, err
	default:
		return all, nil, nil
	}
}
