package dag

import (
	"cmp"
	"fmt"
	"strings"

	"ralph/internal/event"
)

const (
	acceptSQL    = `UPDATE tasks SET unverified = :attempt, review = 0, not_before = 0, wait_reason = NULL, updated_at = :now WHERE n = :n;`
	overruledSQL = `UPDATE attempts SET accepted = :was WHERE id = :attempt;`
	acceptedSQL  = `UPDATE merges SET accepted = 1 WHERE n = (SELECT max(merges.n) FROM merges WHERE merges.task = :task` + since + `:attempt));`
)

// RejectedWork is the last attempt at a task whose work was rejected, if a person can still accept that.
func (g Queue) RejectedWork(t Task) (Attempt, error) {
	attempts, err := g.history().Attempts(t)
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
	case attempts[last].Rejected == event.RejectedMissing:
		why = fmt.Sprintf("%s has no work of its own; if the feature is good as it is: ralph task done %s", t.ID, t.ID)
	default:
		return attempts[last], nil
	}
	return Attempt{}, fmt.Errorf("%w: %s", ErrRefused, why)
}

// Accept is a person's word that the work of a task is good: what is held, or what was rejected last. The next claim takes
// it, and needs no agent. Of work that has landed it is only noted.
func (g Queue) Accept(id, why string) error {
	t, err := g.tasks().Get(id)
	if err != nil {
		return err
	}
	if landed, err := g.LandedWork(t); err != nil || landed.N > 0 {
		return cmp.Or(err, g.acceptLanded(t, landed, why))
	}
	n, work := g.node(t.N), t.Unverified
	if !t.ToReview {
		if at, _ := g.history().Attempt(t.Unverified); at.Accepted != "" { // another person was faster, or the run died that was to check it
			return nil
		}
		a, err := g.RejectedWork(t)
		if err == nil && t.Unverified != "" {
			err = fmt.Errorf("%w: later work of %s is finished, and is verified next", ErrRefused, t.ID)
		}
		if err != nil {
			return err
		}
		if work = a.ID; n.status == Failed {
			g.move(n, Pending, ByAccept)
			g.reopenAncestors(n.parent)
		}
		g.tx.Do(overruledSQL, ":attempt", work, ":was", string(n.status))
	}
	g.tx.Do(acceptSQL, ":n", n.n, ":attempt", work, ":now", g.millis())
	g.tx.Do(acceptedSQL, ":task", n.n, ":attempt", work)
	g.log(n.n, LogSystem, strings.TrimSuffix("accepted by hand: "+why, ": "))
	return g.tx.Err()
}

const (
	// accepted reports of the finished work w of a task whether a person accepted it.
	accepted        = `(w.accepted IS NOT NULL OR (SELECT accepted FROM merges WHERE task = tasks.n` + since + `w.id) ORDER BY n DESC LIMIT 1))`
	acceptedWorkSQL = `SELECT ` + accepted + ` FROM tasks JOIN attempts w ON w.id = tasks.unverified WHERE tasks.n = :task;`
	acceptedAside   = `(SELECT w.slot > 0 AND ` + accepted + ` FROM attempts w WHERE w.id = tasks.unverified)`
)

// AcceptedWork says that a person accepted the finished work of a task: it needs no agent, while other finished work may
// need the verifier.
func (g Queue) AcceptedWork(t Task) (bool, error) { return g.acceptedWork(t.N), g.tx.Err() }

func (g Queue) acceptedWork(n int64) bool { return g.number(acceptedWorkSQL, ":task", n) > 0 }

// takeBack makes a task what it was before a person accepted its work, which did not pass. That costs neither a retry
// nor an attempt.
func (g Queue) takeBack(t node, c Claim, reason string) (Status, error) {
	was, by, outcome := c.Resumed.Accepted, ByRetry, event.AttemptRetried
	kind := LogVerify
	if was == Failed {
		by, kind, outcome = ByFail, LogFailure, event.AttemptFailed
	}
	g.log(t.n, kind, reason)
	g.tx.Do(overruledSQL, ":attempt", c.Resumed.ID, ":was", nil)
	g.tx.Do(verifiedSQL, ":verification", "failed", ":n", t.n)
	g.move(t, was, by)
	return was, g.endAttempt(t.n, c, outcome, reason)
}
