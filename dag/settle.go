package dag

import (
	"cmp"
	"fmt"
	"time"

	"ralph/internal/db"
	"ralph/internal/event"
)

const (
	heldSQL      = `SELECT ` + nodeColumns + ` FROM tasks WHERE id = :id AND owner = :owner AND generation = :generation;`
	heartbeatSQL = `UPDATE tasks SET lease_until = :lease WHERE id = :id AND owner = :owner AND generation = :generation;`
	beatSQL      = `UPDATE attempts SET heartbeat_at = :now WHERE id = :id;`
	countSQL     = `UPDATE tasks SET attempts = attempts + 1, interruptions = 0 WHERE n = :n;`
)

// held returns the claimed task, or an ErrLost that says what became of it.
func (g Queue) held(c Claim) (node, error) {
	t, err := db.One(g.tx, heldSQL, scanNode, ":id", c.Task.ID, ":owner", c.Owner, ":generation", c.Generation)
	if err != nil || t.n != 0 {
		return t, err
	}
	return t, g.lost(c)
}

func (g Queue) lost(c Claim) error {
	now, err := g.tasks().Get(c.Task.ID)
	if err != nil {
		return fmt.Errorf("%w: %s was deleted meanwhile", ErrLost, c.Task.ID)
	}
	if now.Owner != "" {
		return fmt.Errorf("%w: %s was taken over by another run", ErrLost, c.Task.ID)
	}
	return fmt.Errorf("%w: %s was made %s meanwhile", ErrLost, c.Task.ID, now.Status)
}

// Heartbeat extends the lease of a claim; ErrLost means that the work is for nothing.
func (g Queue) Heartbeat(c Claim, lease time.Duration) error {
	g.tx.Do(heartbeatSQL, ":lease", g.now.Add(lease).UnixMilli(), ":id", c.Task.ID, ":owner", c.Owner, ":generation", c.Generation)
	if g.tx.Err() == nil && g.tx.Changes() != 1 {
		return g.lost(c)
	}
	g.tx.Do(beatSQL, ":id", c.Attempt, ":now", g.millis())
	return g.Alive(c.Owner)
}

// Holds says with ErrLost that a claim is no longer ours, without writing.
func (g Queue) Holds(c Claim) error {
	_, err := g.held(c)
	return err
}

const verifiedSQL = `UPDATE tasks SET verification = :verification WHERE n = :n;`

// Complete ends a claim with the task done, or open as a group of what its agents added below it. The verification is
// passed or skipped.
func (g Queue) Complete(c Claim, verification string) error {
	t, err := g.held(c)
	if err != nil {
		return err
	}
	g.tx.Do(verifiedSQL, ":verification", verification, ":n", t.n)
	outcome := event.AttemptDone
	if c.Already != "" {
		outcome = event.AttemptAlreadyDone
	}
	if err := g.settle(t, c, Done, ByComplete, outcome, c.Already); err != nil {
		return err
	}
	return g.group(c)
}

// Fail ends a claim with the task failed for that reason.
func (g Queue) Fail(c Claim, reason string) error {
	t, err := g.held(c)
	if err != nil {
		return err
	}
	g.log(t.n, LogFailure, reason)
	if err := g.settle(t, c, Failed, ByFail, event.AttemptFailed, reason); err != nil {
		return err
	}
	g.dropUndo(t.n)
	return g.tx.Err()
}

// Release is how a claim is given back without a result.
type Release struct {
	Outcome   event.AttemptOutcome // how the attempt is remembered; empty means released
	Reason    string
	Uncounted bool      // it was not the task's fault: no attempt is charged
	Finished  bool      // its work is finished: the next claim only verifies it
	NotBefore time.Time // when to try again; zero means at once
	Wait      string    // what it waits for, when NotBefore is set
	WaitAgent string    // the agent that is rate-limited until then, if that is what it waits for
}

const unverifiedSQL = `UPDATE tasks SET unverified = :attempt WHERE n = :n;`

const waitSQL = `UPDATE tasks SET not_before = :until, wait_reason = :reason, wait_agent = :agent WHERE n = :n;`

// Release makes the task pending again.
func (g Queue) Release(c Claim, r Release) error {
	t, err := g.held(c)
	if err != nil {
		return err
	}
	g.move(t, Pending, ByRelease)
	if !r.Uncounted {
		g.tx.Do(countSQL, ":n", t.n)
	}
	if r.Finished {
		g.tx.Do(unverifiedSQL, ":n", t.n, ":attempt", cmp.Or(c.Resumed.ID, c.Attempt))
	}
	if !r.NotBefore.IsZero() {
		g.tx.Do(waitSQL, ":until", r.NotBefore.UnixMilli(), ":reason", db.OrNull(g.said(r.Wait)), ":agent", db.OrNull(r.WaitAgent), ":n", t.n)
	}
	return g.endAttempt(t.n, c, cmp.Or(r.Outcome, event.AttemptReleased), r.Reason)
}

const retrySQL = `UPDATE tasks SET retries = retries + 1, verification = 'failed' WHERE n = :n;`

// Retry sends a task that did not pass back to pending, or, when its retries are
// used up, fails it. The task's own limit wins over limit. What a person accepted
// is what it was before. It returns the status that the task has now.
func (g Queue) Retry(c Claim, reason string, limit int) (Status, error) {
	now, err := g.tasks().Get(c.Task.ID)
	if err == nil && now.MaxRetries != nil {
		limit = *now.MaxRetries
	}
	return g.RetryAtMost(c, reason, limit)
}

// RetryAtMost is Retry with a limit that wins over the task's own.
func (g Queue) RetryAtMost(c Claim, reason string, limit int) (Status, error) {
	t, err := g.held(c)
	if err != nil {
		return "", err
	}
	if c.Resumed.Accepted != "" {
		return g.takeBack(t, c, reason)
	}
	g.log(t.n, LogVerify, reason)
	now, err := g.tasks().Get(c.Task.ID)
	if err != nil {
		return "", err
	}
	if g.takesBack(t.n) {
		limit = 0
	}
	if now.Retries >= limit {
		g.tx.Do(verifiedSQL, ":verification", "failed", ":n", t.n)
		return Failed, g.Fail(c, fmt.Sprintf("not verified after %d of %d retries: %s", now.Retries, limit, reason))
	}
	g.tx.Do(retrySQL, ":n", t.n)
	return Pending, g.settle(t, c, Pending, ByRetry, event.AttemptRetried, reason)
}

// settle is the end of an attempt that counts.
func (g Queue) settle(t node, c Claim, to Status, by Trigger, outcome event.AttemptOutcome, reason string) error {
	g.move(t, to, by)
	g.tx.Do(countSQL, ":n", t.n)
	return g.endAttempt(t.n, c, outcome, reason)
}

const doneByHandSQL = `
SELECT id FROM tasks INDEXED BY tasks_by_hand
WHERE status = 'done' AND finished_at >= :since AND children = 0 AND coalesce(verification, 'failed') = 'failed'
ORDER BY n LIMIT 20;`

// DoneByHand lists tasks that a command has marked done since then, and that no run has
// accepted.
func (g Tasks) DoneByHand(since time.Time) ([]string, error) {
	return db.All(g.tx, doneByHandSQL, (*db.Row).Text, ":since", since.UnixMilli())
}

const (
	baseSQL    = `SELECT base FROM tasks WHERE id = :id;`
	setBaseSQL = `UPDATE tasks SET base = :base WHERE id = :id AND owner = :owner AND generation = :generation;`
)

// Base is what the first attempt since the last reset found, "" before there was one.
func (g Queue) Base(id string) (string, error) {
	return db.One(g.tx, baseSQL, (*db.Row).Text, ":id", id)
}

// SetBase stores what a claimed task found when it began.
func (g Queue) SetBase(c Claim, base string) error {
	lost := fmt.Errorf("task %s: %w", c.Task.ID, ErrLost)
	return g.change(lost, setBaseSQL, ":base", base, ":id", c.Task.ID, ":owner", c.Owner, ":generation", c.Generation)
}
