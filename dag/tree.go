package dag

import (
	"fmt"
	"strings"

	"ralph/internal/db"
)

// subtree begins a statement with the rows at and below :n.
const subtree = `
WITH RECURSIVE sub (n) AS (
    SELECT :n
    UNION ALL
    SELECT c.n FROM sub JOIN tasks c ON c.parent = sub.n
) `

// trees is the same with the rows at and below each of the list :n, which may be a single one.
const trees = `
WITH RECURSIVE sub (n) AS (
    SELECT value FROM json_each(:n)
    UNION
    SELECT c.n FROM sub JOIN tasks c ON c.parent = sub.n
) `

// Delete removes a task without children. Its dependencies go with it, and what
// waited for it no longer does; what it cost stays in the attempts.
func (g Plan) Delete(id string) error {
	t, err := g.nodeByID(id)
	if err != nil {
		return err
	}
	if t.children == 1 {
		return fmt.Errorf("%w: %s has a subtask", ErrRefused, t.id)
	}
	if t.children > 1 {
		return fmt.Errorf("%w: %s has %d subtasks", ErrRefused, t.id, t.children)
	}
	return g.DeleteTree(id)
}

// DeleteTree removes a task with all that lies below it.
func (g Plan) DeleteTree(id string) error {
	t, err := g.takeable(id)
	if err != nil {
		return err
	}
	g.auditTask(t.n, "deleted")
	g.deleteTree(t)
	return g.tx.Err()
}

const (
	freeDependentsSQL = subtree + `
UPDATE tasks SET open_deps = open_deps - d.c
FROM (SELECT e.blocked, count(*) AS c
      FROM sub JOIN tasks b ON b.n = sub.n JOIN dependencies e ON e.blocker = b.n
      WHERE NOT b.satisfies GROUP BY e.blocked) d
WHERE tasks.n = +d.blocked RETURNING tasks.n, children;`
	deleteTreeSQL = subtree + `DELETE FROM tasks WHERE n IN (SELECT n FROM sub);`
	dropChildSQL  = `UPDATE tasks SET children = children - 1, emptied = (children = 1), updated_at = :now WHERE n = :n;`
)

func (g Plan) deleteTree(t node) {
	freed := g.groups(freeDependentsSQL, ":n", t.n)
	g.tx.Do(deleteTreeSQL, ":n", t.n)
	g.flagDescendants(freed...)
	g.dropChild(t.parent, t.status)
}

// dropChild brings a parent, if there is one, in line after a child with that status left it.
func (g *transaction) dropChild(parent int64, status Status) {
	if parent == 0 {
		return
	}
	g.tx.Do(dropChildSQL, ":n", parent, ":now", g.millis())
	if g.node(parent).children > 0 {
		g.catchUp(parent, status)
	}
}

// catchUp brings a parent in line after a child with that status left it, or no longer matters to it.
func (g *transaction) catchUp(parent int64, status Status) {
	p := g.node(parent)
	if b := g.childrenOf(parent); status == Failed && p.status == Failed && b.open && !b.failed {
		g.move(p, Pending, ByRollUp) // the reason for its failure is gone
		return
	}
	g.rollUp(parent, Done, Done)
}

const (
	reparentSQL = `UPDATE tasks SET parent = :parent, updated_at = :now WHERE n = :n;`
	flagRootSQL = `
UPDATE tasks SET held = coalesce((SELECT p.held OR ` + holds + ` FROM tasks p WHERE p.n = tasks.parent), 0),
    doomed = coalesce((SELECT p.doomed OR p.status = 'failed' FROM tasks p WHERE p.n = tasks.parent), 0)
WHERE n = :n;`
)

// Move puts a task, with all below it, under another parent, or at the top if
// the ID is empty. It takes the new parent's feature; at the top it keeps its own.
func (g Plan) Move(id, parentID string) error {
	t, err := g.nodeByID(id)
	if err != nil {
		return err
	}
	var p node
	if parentID != "" {
		if p, err = g.nodeByID(parentID); err != nil {
			return err
		}
		if p.status == InProgress {
			return fmt.Errorf("%w: %s is in progress and cannot take subtasks now", ErrRefused, p.id)
		}
	}
	if p.n == t.parent {
		return nil
	}
	g.tx.Do(reparentSQL, ":parent", db.OrNull(p.n), ":n", t.n, ":now", g.millis())
	if p.n != 0 {
		// The new edge is between the ends of the two, and between their starts.
		g.refuseCycle(point{t.n, true}, point{p.n, true})
		g.refuseCycle(point{p.n, false}, point{t.n, false})
		g.tx.Do(setFeatureSQL, ":n", t.n, ":feature", db.OrNull(p.feature))
	}
	g.dropChild(t.parent, t.status)
	g.addChildren(p.n, 1, t.status)
	g.tx.Do(flagRootSQL, ":n", t.n)
	g.flagDescendants(t.n)
	g.auditTask(t.n, "moved")
	return g.tx.Err()
}

const setFeatureSQL = subtree + `UPDATE tasks SET feature = :feature WHERE n IN (SELECT n FROM sub);`

// SetFeature gives a task at the top, with all below it, to a feature, or to
// none if the name is empty. Below the top the parent's feature holds.
func (g Plan) SetFeature(id, name string) error {
	t, err := g.tasks().Get(id)
	if err != nil {
		return err
	}
	if strings.EqualFold(t.Feature, name) {
		return nil
	}
	if t.Parent != "" {
		return fmt.Errorf("%w: a subtask has its parent's feature, and %s has %s", ErrRefused, t.Parent, nameOrNone(t.Feature))
	}
	feature, err := g.featureNumber(name)
	if err != nil {
		return err
	}
	return g.tx.Exec(setFeatureSQL, ":n", t.N, ":feature", db.OrNull(feature))
}

const (
	holdDependentsSQL = subtree + `
UPDATE tasks SET open_deps = open_deps + d.c
FROM (SELECT e.blocked, count(*) AS c
      FROM sub JOIN tasks b ON b.n = sub.n JOIN dependencies e ON e.blocker = b.n
      WHERE b.satisfies GROUP BY e.blocked) d
WHERE tasks.n = +d.blocked RETURNING tasks.n, children;`
	resetTreeSQL = subtree + `
UPDATE tasks SET leaving = iif(status = 'in_progress',
        (SELECT a.id FROM attempts a WHERE a.task = tasks.n AND a.ended_at IS NULL), leaving),
    generation = generation + (status = 'in_progress'), status = 'pending', owner = NULL, lease_until = NULL,
    retries = 0, attempts = 0, interruptions = 0, verification = NULL, base = NULL, unverified = NULL, not_before = 0, wait_reason = NULL, given_up = 0, satisfied = 0,
    started_at = NULL, finished_at = NULL, updated_at = :now
WHERE n IN (SELECT n FROM sub);`
	resetAttemptsSQL = subtree + `
UPDATE attempts SET phase = 'settled', ended_at = :now, outcome = 'interrupted', reason = 'taken away: task reset'
WHERE task IN (SELECT n FROM sub) AND ended_at IS NULL;`
	resetLogSQL = subtree + `
INSERT INTO task_logs (task, kind, at, text) SELECT n, 'system', :now, 'reset by hand' FROM sub;`
)

// ResetTree resets a task and all that lies below it at once, and reopens its
// ancestors. It returns how many tasks that were.
func (g Tasks) ResetTree(id string) (int, error) {
	t, err := g.takeable(id)
	if err != nil {
		return 0, err
	}
	held := g.groups(holdDependentsSQL, ":n", t.n)
	g.tx.Do(resetTreeSQL, ":n", t.n, ":now", g.millis())
	count := g.tx.Changes()
	g.tx.Do(resetAttemptsSQL, ":n", t.n, ":now", g.millis())
	g.tx.Do(resetLogSQL, ":n", t.n, ":now", g.millis())
	g.auditTask(t.n, "reset by hand, with all below it")
	g.reopenAncestors(t.parent)
	g.tx.Do(reflagSQL, ":n", t.n)
	g.flagDescendants(held...)
	return count, g.tx.Err()
}

// reflagSQL is flagSQL without pruning: after a whole subtree changed at once,
// flags that agree at the top say nothing about those further down.
const reflagSQL = `
WITH RECURSIVE d (n, held, doomed) AS (
    SELECT n, held, doomed FROM tasks WHERE n = :n
    UNION ALL
    SELECT c.n, d.held OR ` + holds + `, d.doomed OR p.status = 'failed'
    FROM d JOIN tasks p ON p.n = d.n JOIN tasks c ON c.parent = p.n
)
UPDATE tasks SET held = d.held, doomed = d.doomed FROM d
WHERE tasks.n = +d.n AND (tasks.held <> d.held OR tasks.doomed <> d.doomed);`
