package dag

import (
	"fmt"
	"maps"
	"slices"

	"ralph/internal/db"
)

// Link makes blocked wait for blocker. Doing so twice is the same as once; a
// cycle, also one through parents, is refused with a *CycleError.
func (g Plan) Link(blocker, blocked string) error {
	a, b, err := g.pair(blocker, blocked)
	if err != nil {
		return err
	}
	g.auditTask(b.N, "waits for "+a.ID)
	return g.link(a.N, b.N)
}

// MayWait refuses what Link would refuse, and changes nothing.
func (g Plan) MayWait(blocker, blocked string) error {
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

func (g Plan) link(blocker, blocked int64) error {
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
func (g Plan) Unlink(blocker, blocked string) error {
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
func (g Plan) recountOne(blocker, blocked int64, by int) {
	if g.node(blocker).satisfies {
		return
	}
	g.tx.Do(openDepsSQL, ":by", by, ":n", blocked, ":now", g.millis())
	if g.node(blocked).children > 0 {
		g.flagDescendants(blocked)
	}
}

func (g Plan) pair(blocker, blocked string) (a, b Task, err error) {
	if a, err = g.tasks().Get(blocker); err != nil {
		return a, b, err
	}
	b, err = g.tasks().Get(blocked)
	return a, b, err
}

const (
	blockersSQL   = `SELECT {task} FROM tasks WHERE n IN (SELECT blocker FROM dependencies WHERE blocked = :n) ORDER BY n;`
	dependantsSQL = `SELECT {task} FROM tasks WHERE n IN (SELECT blocked FROM dependencies WHERE blocker = :n) ORDER BY n;`
	childTasksSQL = `SELECT {task} FROM tasks WHERE parent = :n ORDER BY n;`
)

// Blockers lists what the task itself waits or waited for, oldest first.
func (g Tasks) Blockers(t Task) ([]Task, error) { return g.all(blockersSQL, ":n", t.N) }

const blockerIDsSQL = `
SELECT b.id, b.feature IS t.feature FROM tasks t CROSS JOIN dependencies d ON d.blocked = t.n JOIN tasks b ON b.n = d.blocker
WHERE t.n = +:n ORDER BY d.blocker;`

// BlockerIDs lists what the task itself waits or waited for, oldest first, and which of that
// is of another feature.
func (g Tasks) BlockerIDs(t Task) (ids, foreign []string, err error) {
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
	byNumber  = `SELECT {task} FROM tasks WHERE n = :n;`
)

// Near calls fn with a task and those that are at most that many steps away, oldest first: a
// step leads to a blocker, a dependent, the parent or a subtask.
func (g Tasks) Near(t Task, steps int, fn func(Task) error) error {
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
		found, err := db.One(g.tx, statement(byNumber), g.scanTask, ":n", n)
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
func (g Tasks) Dependents(t Task) ([]Task, error) { return g.all(dependantsSQL, ":n", t.N) }

// Children lists the direct children, oldest first.
func (g Tasks) Children(t Task) ([]Task, error) { return g.all(childTasksSQL, ":n", t.N) }

func (g *transaction) all(query string, args ...any) ([]Task, error) {
	return db.All(g.tx, statement(query), g.scanTask, args...)
}
