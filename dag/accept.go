package dag

import (
	"fmt"

	"ralph/event"
	"ralph/internal/db"
)

const (
	acceptRejectedSQL = `UPDATE tasks SET unverified = :attempt, not_before = 0, wait_reason = NULL, updated_at = :now WHERE n = :n;`
	overruledSQL      = `UPDATE attempts SET accepted = :was WHERE id = :attempt;`
	// The entry is over: the next claim enters the same patch again, and that is accepted then.
	acceptWorkSQL = `
INSERT INTO merges (task, task_id, attempt, target, base, work, patch, at, state, ended_at, accepted, reason)
VALUES (:task, :task_id, :attempt, :target, :base, :work, :patch, :now, 'dropped', :now, 1, 'it is to enter the queue again');`
)

// RejectedWork is the last attempt at a task whose work was rejected, if a person can still accept that.
func (g *Graph) RejectedWork(t Task) (Attempt, error) {
	attempts, err := g.Attempts(t)
	if err != nil {
		return Attempt{}, err
	}
	last := -1
	for i, a := range attempts {
		if a.Rejected != "" && !t.StartedAt.IsZero() && !a.StartedAt.Before(t.StartedAt) { // else the task was reset
			last = i
		}
	}
	var why string
	switch {
	case t.Children > 0:
		why = t.ID + " is a group"
	case t.Status == InProgress:
		why = t.ID + " is in progress"
	case t.Status != Pending && t.Status != Failed:
		why = fmt.Sprintf("%s is %s", t.ID, t.Status)
	case last < 0:
		why = fmt.Sprintf("no work of %s was rejected or waits for review", t.ID)
	case attempts[last].Rejected == event.RejectedUnchanged:
		why = fmt.Sprintf("the last attempt at %s changed nothing, so there is no work to accept", t.ID)
	case attempts[last].Rejected == event.RejectedIncomplete:
		why = fmt.Sprintf("the work of %s cannot be a commit: %s", t.ID, attempts[last].Reason)
	default:
		return attempts[last], nil
	}
	return Attempt{}, fmt.Errorf("%w: %s", ErrRefused, why)
}

// AcceptRejected is a person's word that the work of an attempt is good although it was rejected. The next claim takes
// it and needs no agent. In slots the work is given as a commit.
func (g *Graph) AcceptRejected(id, attempt string, m NewMerge, why string) error {
	t, err := g.Task(id)
	if err != nil {
		return err
	}
	a, err := g.RejectedWork(t)
	switch {
	case err != nil:
		return err
	case a.ID != attempt:
		return fmt.Errorf("%w: %s is no longer the last attempt at %s", ErrRefused, attempt, t.ID)
	case t.Unverified == a.ID: // somebody was faster
		return nil
	case t.Unverified != "":
		return fmt.Errorf("%w: later work of %s is finished, and is verified next", ErrRefused, t.ID)
	}
	n := g.node(t.N)
	if n.status == Failed {
		g.move(n, Pending, ByAccept)
		g.reopenAncestors(n.parent)
	}
	g.tx.Do(acceptRejectedSQL, ":n", n.n, ":attempt", a.ID, ":now", g.millis())
	g.tx.Do(overruledSQL, ":attempt", a.ID, ":was", string(n.status))
	if m.Work != "" {
		g.tx.Do(acceptWorkSQL, ":task", n.n, ":task_id", n.id, ":attempt", a.ID, ":target", m.Target,
			":base", m.Base, ":work", m.Work, ":patch", m.Patch, ":now", g.millis())
	}
	g.acceptedByHand(n.n, why)
	return g.tx.Err()
}

func (g *Graph) acceptedByHand(n int64, why string) {
	text := "accepted by hand"
	if why != "" {
		text += ": " + why
	}
	g.log(n, LogSystem, text)
}

const acceptedWorkSQL = `
SELECT w.accepted IS NOT NULL OR (SELECT accepted FROM merges WHERE task = t.n` + since + `w.id) ORDER BY n DESC LIMIT 1)
FROM tasks t JOIN attempts w ON w.id = t.unverified WHERE t.n = :task;`

// AcceptedWork says that a person accepted the finished work of a task: it needs no agent, while other finished work may
// need the verifier.
func (g *Graph) AcceptedWork(t Task) (bool, error) { return g.acceptedWork(t.N), g.tx.Err() }

func (g *Graph) acceptedWork(n int64) bool { return g.number(acceptedWorkSQL, ":task", n) > 0 }

// takeBack makes a task what it was before a person accepted its work, which did not pass. That costs neither a retry
// nor an attempt.
func (g *Graph) takeBack(t node, c Claim, reason string) (Status, error) {
	was, by, outcome := c.Resumed.Accepted, ByRetry, event.AttemptRetried
	kind := LogVerify
	if was == Failed {
		by, kind, outcome = ByFail, LogFailure, event.AttemptFailed
	}
	g.log(t.n, kind, reason)
	g.tx.Do(verifiedSQL, ":verification", "failed", ":n", t.n)
	g.move(t, was, by)
	return was, g.endAttempt(t.n, c, outcome, reason)
}

const lastEntrySQL = `SELECT ` + mergeColumns + ` FROM merges WHERE task = :task ORDER BY n DESC LIMIT 1;`

// LastEntry is the last entry of the queue with work of a task, or the zero one.
func (g *Graph) LastEntry(t Task) (Merge, error) {
	return db.One(g.tx, lastEntrySQL, scanMerge, ":task", t.N)
}
