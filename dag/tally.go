package dag

import (
	"slices"
	"time"
)

// Tally counts the tasks of a scope and says why a run would stop or wait. Groups
// are no tasks: nobody works on them.
type Tally struct {
	ByStatus map[Status]int
	Groups   map[Status]int
	Ready    int          // claimable now
	Waiting  int          // pending until a time that has not come
	NextWait time.Time    // the first of those times
	Limits   []AgentLimit // those of them for which an agent may have met a limit

	// The same for what a failed ancestor keeps back, unless a run keeps going.
	DoomedWaiting  int
	NextDoomedWait time.Time
}

// Total is the number of tasks.
func (t Tally) Total() int { return sum(t.ByStatus) }

// TotalGroups is the number of groups.
func (t Tally) TotalGroups() int { return sum(t.Groups) }

// OpenGroups is the number of groups that have neither succeeded nor failed.
func (t Tally) OpenGroups() int { return t.TotalGroups() - t.Groups[Done] - t.Groups[Failed] }

func sum(counts map[Status]int) int {
	total := 0
	for _, n := range counts {
		total += n
	}
	return total
}

const (
	tallyAllSQL     = `SELECT status, count(*) FROM tasks INDEXED BY tasks_status GROUP BY status;`
	tallyFeatureSQL = `SELECT status, count(*) FROM tasks INDEXED BY tasks_status WHERE feature = :feature GROUP BY status;`
	tallyTreeSQL    = subtree + `SELECT t.status, count(*) FROM sub JOIN tasks t ON t.n = sub.n GROUP BY t.status;`

	groupsAllSQL     = `SELECT status, count(*) FROM tasks INDEXED BY tasks_groups WHERE children > 0 GROUP BY status;`
	groupsFeatureSQL = `SELECT status, count(*) FROM tasks INDEXED BY tasks_groups WHERE feature = :feature AND children > 0 GROUP BY status;`
	groupsTreeSQL    = subtree + `SELECT t.status, count(*) FROM sub JOIN tasks t ON t.n = sub.n WHERE t.children > 0 GROUP BY t.status;`

	readyAllSQL          = `SELECT count(*) FROM tasks INDEXED BY queue_all WHERE queue <= :doomed;`
	readyCountFeatureSQL = `SELECT count(*) FROM tasks INDEXED BY queue_feature WHERE feature = +:feature AND queue <= :doomed;`
	readyTreeSQL         = subtree + `SELECT count(*) FROM sub JOIN tasks t ON t.n = sub.n WHERE t.queue <= :doomed;`

	waits = ` not_before > 0 AND status = 'pending' AND children = 0 AND open_deps = 0 AND held = 0 AND paused = 0 AND leaving IS NULL`

	waitsAllSQL     = `SELECT not_before, doomed, wait_agent, wait_reason FROM tasks INDEXED BY tasks_waiting WHERE` + waits + `;`
	waitsFeatureSQL = `SELECT not_before, doomed, wait_agent, wait_reason FROM tasks INDEXED BY tasks_waiting WHERE` + waits + ` AND feature = +:feature;`
	waitsTreeSQL    = subtree + `SELECT not_before, doomed, wait_agent, wait_reason FROM tasks WHERE n IN (SELECT n FROM sub) AND` + waits + `;`
)

// Tally counts a scope. Ready and Waiting leave out what a failed ancestor keeps back.
func (g *Graph) Tally(scope Scope) (Tally, error) {
	queries, args, err := scoped(g, scope,
		[4]string{tallyAllSQL, readyAllSQL, waitsAllSQL, groupsAllSQL},
		[4]string{tallyFeatureSQL, readyCountFeatureSQL, waitsFeatureSQL, groupsFeatureSQL},
		[4]string{tallyTreeSQL, readyTreeSQL, waitsTreeSQL, groupsTreeSQL})
	if err != nil {
		return Tally{}, err
	}
	var t Tally
	t.ByStatus, t.Groups = g.countStatuses(queries[0], queries[3], args...)
	t.Ready = int(g.number(queries[1], append(slices.Clone(args), ":doomed", g.keeps)...))
	for r := range g.tx.Rows(queries[2], args...) {
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

// countStatuses counts everything and the groups, each through an index, and takes
// these from those.
func (g *Graph) countStatuses(all, groups string, args ...any) (tasks, group map[Status]int) {
	tasks, group = map[Status]int{}, map[Status]int{}
	for r := range g.tx.Rows(all, args...) {
		tasks[Status(r.Text())] = r.Int()
	}
	for r := range g.tx.Rows(groups, args...) {
		status, n := Status(r.Text()), r.Int()
		group[status] = n
		if tasks[status] -= n; tasks[status] == 0 {
			delete(tasks, status)
		}
	}
	return tasks, group
}

// scoped chooses what serves a scope, and its arguments.
func scoped[T any](g *Graph, scope Scope, all, feature, tree T) (T, []any, error) {
	switch {
	case scope.Task != "":
		t, err := g.nodeByID(scope.Task)
		return tree, []any{":n", t.n}, err
	case scope.Feature != "":
		n, err := g.featureNumber(scope.Feature)
		return feature, []any{":feature", n}, err
	default:
		return all, nil, nil
	}
}
