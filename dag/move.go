package dag

import (
	"fmt"
	"slices"

	"ralph/internal/db"
)

// node is the part of a task that transitions look at.
type node struct {
	n, parent  int64 // parent is 0 at the top
	feature    int64 // 0 for none
	id         string
	status     Status
	children   int
	openDeps   int
	owner      string
	generation int64
	satisfies  bool // nobody has to wait for it
}

const nodeColumns = `n, parent, feature, id, status, children, open_deps, owner, generation, satisfies`

const (
	nodeSQL     = `SELECT ` + nodeColumns + ` FROM tasks WHERE n = :n;`
	nodeByIDSQL = `SELECT ` + nodeColumns + ` FROM tasks WHERE id = :id;`
)

func scanNode(r *db.Row) node {
	return node{
		n: r.Int64(), parent: r.Int64(), feature: r.Int64(), id: r.Text(), status: Status(r.Text()),
		children: r.Int(), openDeps: r.Int(), owner: r.Text(), generation: r.Int64(), satisfies: r.Bool(),
	}
}

// node is a task that must be there.
func (g *transaction) node(n int64) node {
	found, err := db.All(g.tx, nodeSQL, scanNode, ":n", n)
	t, err := only(found, err, fmt.Sprint("task ", n))
	g.tx.Fail(err)
	return t
}

func (g *transaction) nodeByID(id string) (node, error) {
	found, err := db.All(g.tx, nodeByIDSQL, scanNode, ":id", id)
	return only(found, err, "task "+id)
}

// moveSQL ends any claim, because only Claim itself makes one. Taking a running
// task away raises the generation unless it is the worker who gives it back, so
// that a worker that comes back later is refused, and nobody may claim the task
// before that worker's agent is gone. What ended waits for no time. A person's block
// takes nothing from work that only awaits its verdict.
const moveSQL = `
UPDATE tasks SET status = :to, owner = NULL, lease_until = NULL,
    leaving = iif(:fence, (SELECT a.id FROM attempts a WHERE a.task = tasks.n AND a.ended_at IS NULL), leaving),
    generation = generation + :fence, updated_at = :now, finished_at = :finished,
    unverified = iif(:from IN ('pending', 'blocked') AND :to IN ('pending', 'blocked'), unverified, NULL),
    not_before = iif(:finished IS NULL, not_before, 0), wait_reason = iif(:finished IS NULL, wait_reason, NULL),
    given_up = iif(:to = 'failed', given_up, 0), satisfied = iif(:to = 'cancelled', satisfied, 0)
WHERE n = :n AND status = :from AND generation = :generation;`

// takenSQL ends the attempt of a task that was taken away. Its worker, if it still
// lives, adds what it cost.
const takenSQL = `
UPDATE attempts SET phase = 'settled', ended_at = :now, outcome = 'interrupted', reason = :reason
WHERE task = :n AND ended_at IS NULL;`

// move changes one status and does all that follows from it: dependents are
// recounted, leaves below are held or freed, ancestors are rolled up. What is refused fails
// the transaction.
func (g *transaction) move(t node, to Status, by Trigger) {
	if !allowed(t.status, to, by) {
		g.tx.Fail(fmt.Errorf("%w: %s is %s, and %s cannot make it %s", ErrRefused, t.id, t.status, by, to))
	}
	var finished any
	if !to.Open() {
		finished = g.millis()
	}
	fence := t.status == InProgress && !slices.Contains([]Trigger{ByComplete, ByFail, ByRelease, ByRetry}, by)
	g.tx.Do(moveSQL, ":to", string(to), ":fence", fence, ":now", g.millis(), ":finished", finished,
		":n", t.n, ":from", string(t.status), ":generation", t.generation)
	if g.tx.Changes() != 1 {
		g.tx.Fail(fmt.Errorf("%w: %s changed meanwhile", ErrLost, t.id))
	}
	if fence {
		g.tx.Do(takenSQL, ":n", t.n, ":now", g.millis(), ":reason", "taken away: "+string(by))
	}
	if !t.status.Open() || !to.Open() {
		g.recount(t.n, t.satisfies)
	}
	if t.children > 0 && (stops(t.status) || stops(to)) {
		g.flagDescendants(t.n)
	}
	g.rollUp(t.parent, t.status, to)
}

// stops says that a status keeps back what lies below the task.
func stops(s Status) bool { return s == Failed || s == Blocked }

const dependentsSQL = `
UPDATE tasks SET open_deps = open_deps + :by
FROM dependencies e WHERE e.blocker = +:n AND tasks.n = +e.blocked
RETURNING tasks.n, children > 0 AND open_deps = (:by > 0);`

// recount recounts the open blockers of those who wait for the task, after it changed, if that is what changed.
func (g *transaction) recount(n int64, satisfied bool) {
	if g.node(n).satisfies == satisfied {
		return
	}
	by := -1
	if satisfied {
		by = 1
	}
	g.flagDescendants(g.groups(dependentsSQL, ":by", by, ":n", n)...) // those that began or ceased to wait
}

// holds says of a task p that it keeps back all below it, even in a run that keeps
// going after failures.
const holds = `p.open_deps > 0 OR p.status = 'blocked' OR p.paused OR p.given_up`

// flagSQL carries held and doomed down from a task, in one statement, and stops
// wherever they already agree. The plus signs keep the planner from scanning and
// from preparing the statement again for every :n, which cost 20 times the rest.
const flagSQL = `
WITH RECURSIVE d (n, held, doomed) AS (
    SELECT c.n, p.held OR ` + holds + `, p.doomed OR p.status = 'failed'
    FROM tasks p JOIN tasks c ON c.parent = p.n
    WHERE p.n = +:n
      AND (c.held <> (p.held OR ` + holds + `)
        OR c.doomed <> (p.doomed OR p.status = 'failed'))
    UNION ALL
    SELECT c.n, d.held OR ` + holds + `, d.doomed OR p.status = 'failed'
    FROM d JOIN tasks p ON p.n = d.n JOIN tasks c ON c.parent = p.n
    WHERE c.held <> (d.held OR ` + holds + `)
       OR c.doomed <> (d.doomed OR p.status = 'failed')
)
UPDATE tasks SET held = d.held, doomed = d.doomed FROM d WHERE tasks.n = +d.n;`

func (g *transaction) flagDescendants(tasks ...int64) {
	for _, n := range tasks {
		g.tx.Do(flagSQL, ":n", n)
	}
}
