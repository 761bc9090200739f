package dag

import (
	"fmt"
	"maps"
	"slices"

	"ralph/internal/db"
)

// Link makes blocked wait for blocker. Doing so twice is the same as once; a
// cycle, also one through parents, is refused with a *CycleError.
func (g *Graph) Link(blocker, blocked string) error {
	a, b, err := g.pair(blocker, blocked)
	if err != nil {
		return err
	}
	g.auditTask(b.N, "waits for "+a.ID)
	return g.link(a.N, b.N)
}

// MayWait refuses what Link would refuse, and changes nothing.
func (g *Graph) MayWait(blocker, blocked string) error {
	a, b, err := g.pair(blocker, blocked)
	if err != nil {
		return err
	}
	to := point{b.N, false}
	if path := g.path(point{a.N, true}, to); path != nil {
		return newCycleError(append([]point{to}, path...), g.nameOf)
	}
	return g.tx.Err()
}

const (
	linkSQL     = `INSERT INTO dependencies (blocker, blocked) VALUES (:blocker, :blocked) ON CONFLICT DO NOTHING;`
	openDepsSQL = `UPDATE tasks SET open_deps = open_deps + :by, updated_at = :now WHERE n = :n;`
)

func (g *Graph) link(blocker, blocked int64) error {
	g.refuseCycle(point{blocker, true}, point{blocked, false})
	g.tx.Do(linkSQL, ":blocker", blocker, ":blocked", blocked)
	if g.tx.Changes() > 0 {
		g.tx.Do(changedAtSQL, ":n", blocked, ":now", g.millis())
		g.recountOne(blocker, blocked, 1)
	}
	return g.tx.Err()
}

const unlinkSQL = `DELETE FROM dependencies WHERE blocker = :blocker AND blocked = :blocked;`

// Unlink lets blocked no longer wait for blocker; it is refused if it did not.
func (g *Graph) Unlink(blocker, blocked string) error {
	a, b, err := g.pair(blocker, blocked)
	if err != nil {
		return err
	}
	missing := fmt.Errorf("dependency: %w: %s does not wait for %s", ErrNotFound, b.ID, a.ID)
	if err := g.change(missing, unlinkSQL, ":blocker", a.N, ":blocked", b.N); err != nil {
		return err
	}
	g.auditTask(b.N, "no longer waits for "+a.ID)
	g.recountOne(a.N, b.N, -1)
	return g.tx.Err()
}

// recountOne accounts for one edge that came or went.
func (g *Graph) recountOne(blocker, blocked int64, by int) {
	if g.node(blocker).satisfies {
		return
	}
	g.tx.Do(openDepsSQL, ":by", by, ":n", blocked, ":now", g.millis())
	if g.node(blocked).children > 0 {
		g.flagDescendants(blocked)
	}
}

func (g *Graph) pair(blocker, blocked string) (a, b Task, err error) {
	if a, err = g.Task(blocker); err != nil {
		return a, b, err
	}
	b, err = g.Task(blocked)
	return a, b, err
}

const (
	blockersSQL   = `SELECT ` + taskColumns + ` FROM tasks WHERE n IN (SELECT blocker FROM dependencies WHERE blocked = :n) ORDER BY n;`
	dependantsSQL = `SELECT ` + taskColumns + ` FROM tasks WHERE n IN (SELECT blocked FROM dependencies WHERE blocker = :n) ORDER BY n;`
	childTasksSQL = `SELECT ` + taskColumns + ` FROM tasks WHERE parent = :n ORDER BY n;`
)

// Blockers lists what the task itself waits or waited for, oldest first.
func (g *Graph) Blockers(t Task) ([]Task, error) { return g.tasks(blockersSQL, ":n", t.N) }

const blockerIDsSQL = `
SELECT b.id, b.feature IS t.feature FROM tasks t CROSS JOIN dependencies d ON d.blocked = t.n JOIN tasks b ON b.n = d.blocker
WHERE t.n = +:n ORDER BY d.blocker;`

// BlockerIDs lists what the task itself waits or waited for, oldest first, and which of that
// is of another feature.
func (g *Graph) BlockerIDs(t Task) (ids, foreign []string, err error) {
	for r := range g.tx.Rows(blockerIDsSQL, ":n", t.N) {
		ids = append(ids, r.Text())
		if !r.Bool() {
			foreign = append(foreign, ids[len(ids)-1])
		}
	}
	return ids, foreign, g.tx.Err()
}

const (
	linkedSQL = blockerNumbers + ` UNION ALL ` + dependentNumbers + ` UNION ALL ` + childNumbers + ` UNION ALL ` + parentNumber + `;`
	byNumber  = `SELECT ` + taskColumns + ` FROM tasks WHERE n = :n;`
)

// Near calls fn with a task and those that are at most that many steps away, oldest first: a
// step leads to a blocker, a dependent, the parent or a subtask.
func (g *Graph) Near(t Task, steps int, fn func(Task) error) error {
	seen, last := map[int64]bool{t.N: true}, []int64{t.N}
	for ; steps > 0 && len(last) > 0; steps-- {
		var next []int64
		for _, n := range last {
			for _, other := range g.numbers(linkedSQL, ":n", n) {
				if !seen[other] {
					seen[other], next = true, append(next, other)
				}
			}
		}
		last = next
	}
	for _, n := range slices.Sorted(maps.Keys(seen)) {
		found, err := db.One(g.tx, byNumber, g.scanTask, ":n", n)
		if err == nil {
			err = fn(found)
		}
		if err != nil {
			return err
		}
	}
	return g.tx.Err()
}

// Dependents lists what waits or waited for the task, oldest first.
func (g *Graph) Dependents(t Task) ([]Task, error) { return g.tasks(dependantsSQL, ":n", t.N) }

// ChildTasks lists the direct children, oldest first.
func (g *Graph) ChildTasks(t Task) ([]Task, error) { return g.tasks(childTasksSQL, ":n", t.N) }

func (g *Graph) tasks(query string, args ...any) ([]Task, error) {
	return db.All(g.tx, query, g.scanTask, args...)
}
