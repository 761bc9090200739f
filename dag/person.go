package dag

import (
	"cmp"
	"fmt"
)

// Finish is a person's word that a task is done. A group is done when its
// subtasks are, and not before.
func (g Tasks) Finish(id string) error {
	t, err := g.nodeByID(id)
	if err != nil {
		return err
	}
	if t.status == Done {
		return nil
	}
	if t.children > 0 {
		return fmt.Errorf("%w: %s is a group; it is done when all of its subtasks are", ErrRefused, t.id)
	}
	g.move(t, Done, ByDone)
	g.log(t.n, LogSystem, "marked done by hand")
	return g.tx.Err()
}

const giveUpSQL = `UPDATE tasks SET given_up = 1 WHERE n = :n;`

// GiveUp is a person's word that a task failed. What lies below it will not be run,
// not even by a run that keeps going after failures.
func (g Tasks) GiveUp(id, reason string) error {
	t, err := g.nodeByID(id)
	if err != nil {
		return err
	}
	g.tx.Do(giveUpSQL, ":n", t.n)
	if t.status == Failed {
		g.flagDescendants(t.n)
	} else {
		g.move(t, Failed, ByGiveUp)
	}
	g.log(t.n, LogFailure, cmp.Or(reason, "marked failed by hand"))
	return g.tx.Err()
}

// Block keeps a task, and all that lies below it, from being run until Unblock
// or Reset.
func (g Tasks) Block(id, reason string) error {
	t, err := g.takeable(id)
	if err != nil || t.status == Blocked {
		return err
	}
	g.move(t, Blocked, ByBlock)
	text := blockedByHand
	if reason != "" {
		text += ": " + reason
	}
	g.log(t.n, LogSystem, text)
	return g.tx.Err()
}

// Unblock lifts a person's block. It does not touch what the task waits for.
func (g Tasks) Unblock(id string) error {
	t, err := g.nodeByID(id)
	if err != nil {
		return err
	}
	if t.status != Blocked {
		return fmt.Errorf("%w: %s is %s, not blocked", ErrRefused, t.id, t.status)
	}
	g.move(t, Pending, ByUnblock)
	g.log(t.n, LogSystem, "unblocked by hand")
	if t.children > 0 {
		g.rollUp(t.n, Done, Done) // its children may have ended while it was blocked
	}
	return g.tx.Err()
}

const clearSQL = `
UPDATE tasks SET retries = 0, attempts = 0, interruptions = 0, verification = NULL, base = NULL, unverified = NULL, not_before = 0,
    wait_reason = NULL, started_at = NULL, finished_at = NULL, updated_at = :now WHERE n = :n;`

// Reset makes a task pending as if it had never run, and reopens its ancestors.
// Of a group only the group itself is reopened, which is refused when nothing
// below it could run then; ResetTree takes all that lies below it too.
func (g Tasks) Reset(id string) error {
	t, err := g.takeable(id)
	if err != nil {
		return err
	}
	if t.children > 0 && !g.childrenOf(t.n).open {
		return fmt.Errorf("%w: all subtasks of %s have ended, so it would end again at once; reset the whole tree instead", ErrRefused, t.id)
	}
	g.reset(t)
	return g.tx.Err()
}

func (g Tasks) reset(t node) {
	if t.status != Pending {
		g.move(t, Pending, ByReset)
	}
	g.tx.Do(clearSQL, ":n", t.n, ":now", g.millis())
	g.log(t.n, LogSystem, "reset by hand")
	g.reopenAncestors(t.parent)
}

const failedBelowSQL = `
WITH RECURSIVE sub (n) AS (
    SELECT n FROM tasks WHERE id = :id OR (:id = '' AND parent IS NULL)
    UNION ALL
    SELECT c.n FROM sub JOIN tasks c ON c.parent = sub.n
)
SELECT t.n FROM sub JOIN tasks t ON t.n = sub.n WHERE t.status = 'failed' ORDER BY t.children > 0, t.n;`

// ResetFailed resets every failed task at or below the given one, or everywhere
// if the ID is empty, and returns the IDs of those that will run again.
func (g Tasks) ResetFailed(id string) ([]string, error) {
	var reset []string
	for _, n := range g.numbers(failedBelowSQL, ":id", id) { // leaves first: most groups are reopened by them
		if t := g.node(n); t.status == Failed {
			g.reset(t)
			reset = append(reset, t.id)
		}
	}
	return reset, g.tx.Err()
}

const (
	satisfySQL = `UPDATE tasks SET satisfied = :satisfied WHERE n = :n;`
	// Leaves first: the groups follow from them, unless a person blocked one or gave it up.
	cancellableSQL = subtree + `SELECT t.n FROM sub JOIN tasks t ON t.n = sub.n WHERE t.status <> 'done' ORDER BY t.children > 0, t.n;`
)

// Cancel is a person's word that nobody will do a task, with all that is left below it. Who waits for it goes on if that counts as
// satisfied, and keeps waiting if not.
func (g Tasks) Cancel(id string, satisfied bool, reason string) error {
	t, err := g.takeable(id)
	if err != nil {
		return err
	}
	if t.status == Done {
		return fmt.Errorf("%w: %s is done: there is nothing to cancel", ErrRefused, t.id)
	}
	for _, n := range g.numbers(cancellableSQL, ":n", t.n) {
		switch t := g.node(n); t.status {
		case Done: // a group, by now
		case Cancelled:
			g.satisfy(t, satisfied)
		default:
			g.tx.Do(satisfySQL, ":n", n, ":satisfied", satisfied)
			g.move(t, Cancelled, ByCancel)
		}
	}
	text := cancelledByHand
	if reason != "" {
		text += ": " + reason
	}
	g.log(t.n, LogSystem, text)
	return g.tx.Err()
}

// satisfy says whether a task that is cancelled already counts as satisfied.
func (g *transaction) satisfy(t node, satisfied bool) {
	g.tx.Do(satisfySQL, ":n", t.n, ":satisfied", satisfied)
	g.recount(t.n, t.satisfies)
	if g.node(t.n).satisfies != t.satisfies {
		g.rollUp(t.parent, Cancelled, Cancelled)
	}
}
