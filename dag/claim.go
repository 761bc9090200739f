package dag

import (
	"fmt"
	"time"
)

// Scope is what a run may touch: a feature by name, a task with all below it by
// ID, or, if both are empty, everything.
type Scope struct {
	Feature string
	Task    string
}

// String says what the scope is, in words.
func (s Scope) String() string {
	switch {
	case s.Task != "":
		return "task " + s.Task
	case s.Feature != "":
		return "feature " + s.Feature
	default:
		return "everything"
	}
}

// Claim is a task that is ours until we give it back. Owner and Generation are
// the proof: every later write carries them.
type Claim struct {
	Task       Task
	Attempt    string
	Owner      string
	Generation int64

	// Resume says that the work is finished, and no agent is to run: the claim is
	// for verifying what the attempt Resumed left when its run died.
	Resume  bool
	Resumed Attempt
}

// ClaimOptions say who claims what.
type ClaimOptions struct {
	Run       Run
	Scope     Scope
	KeepGoing bool          // also take what lies below a failed ancestor
	Lease     time.Duration // how long the claim holds without a heartbeat
	Iteration int
	Skip      Skip
}

// Each variant is a constant statement with a fixed index: a single one with
// optional conditions made the planner scan. The cost of a claim must not grow
// with the number of tasks. queue is 0 for ready tasks and 1 for those that only
// a failed ancestor keeps back.
const (
	claimSet = `
UPDATE tasks SET status = 'in_progress', owner = :owner, generation = generation + 1,
    lease_until = :lease, started_at = coalesce(started_at, :now), finished_at = NULL, updated_at = :now
WHERE n = (`
	claimGet = `) RETURNING ` + taskColumns + `;`

	claimAllSQL = claimSet +
		`SELECT n FROM tasks INDEXED BY queue_all WHERE queue = 0 ORDER BY priority, n LIMIT 1` + claimGet
	claimFeatureSQL = claimSet +
		`SELECT n FROM tasks INDEXED BY queue_feature WHERE feature = +:feature AND queue = 0 ORDER BY priority, n LIMIT 1` + claimGet
	claimAllKeepGoingSQL = claimSet + `
SELECT n FROM (
    SELECT * FROM (SELECT priority, n FROM tasks INDEXED BY queue_all WHERE queue = 0 ORDER BY priority, n LIMIT 1)
    UNION ALL
    SELECT * FROM (SELECT priority, n FROM tasks INDEXED BY queue_all WHERE queue = 1 ORDER BY priority, n LIMIT 1)
) ORDER BY priority, n LIMIT 1` + claimGet
	claimFeatureKeepGoingSQL = claimSet + `
SELECT n FROM (
    SELECT * FROM (SELECT priority, n FROM tasks INDEXED BY queue_feature
                   WHERE feature = +:feature AND queue = 0 ORDER BY priority, n LIMIT 1)
    UNION ALL
    SELECT * FROM (SELECT priority, n FROM tasks INDEXED BY queue_feature
                   WHERE feature = +:feature AND queue = 1 ORDER BY priority, n LIMIT 1)
) ORDER BY priority, n LIMIT 1` + claimGet
	// A subtree is walked: its cost grows with the subtree, not with the graph. The
	// cross join keeps the planner from walking everything that is ready instead.
	claimTreeSQL = claimSet + `
WITH RECURSIVE sub (n) AS (
    SELECT n FROM tasks WHERE id = :task
    UNION ALL
    SELECT c.n FROM sub JOIN tasks c ON c.parent = sub.n
)
SELECT t.n FROM sub CROSS JOIN tasks t ON t.n = sub.n
WHERE t.queue = 0 OR t.queue = :doomed ORDER BY t.priority, t.n LIMIT 1` + claimGet

	clearWaitsSQL = `
UPDATE tasks INDEXED BY tasks_waiting SET not_before = 0, wait_reason = NULL WHERE not_before > 0 AND not_before <= :now;`
)

// Claim chooses the next ready task in the scope and makes it ours, in one
// statement. It returns false if there is none.
func (g *Graph) Claim(opts ClaimOptions) (Claim, bool, error) {
	if err := g.tx.Exec(clearWaitsSQL, ":now", g.millis()); err != nil {
		return Claim{}, false, err
	}
	query, args, err := g.claimQuery(opts)
	if err == nil && !opts.Skip.empty() {
		query, args, err = g.skipping(query, args, opts.Skip)
	}
	if err != nil {
		return Claim{}, false, err
	}
	args = append(args, ":owner", opts.Run.Owner, ":lease", g.now.Add(opts.Lease).UnixMilli(), ":now", g.millis())
	t, err := one(g, query, g.scanTask, args...)
	if err != nil || t.N == 0 {
		return Claim{}, false, err
	}
	attempt, err := g.beginAttempt(opts, t)
	if err != nil {
		return Claim{}, false, err
	}
	c := Claim{Task: t, Attempt: attempt, Owner: t.Owner, Generation: t.Generation}
	if t.Unverified != "" {
		c.Resume = true
		if c.Resumed, err = g.Attempt(t.Unverified); err != nil {
			return Claim{}, false, err
		}
	}
	return c, true, g.tx.Exec(aliveSQL, ":owner", opts.Run.Owner, ":now", g.millis())
}

func (g *Graph) claimQuery(opts ClaimOptions) (string, []any, error) {
	switch {
	case opts.Scope.Task != "" && opts.Scope.Feature != "":
		return "", nil, fmt.Errorf("%w: a scope is a task or a feature, not both", ErrRefused)
	case opts.Scope.Task != "":
		doomed := 0
		if opts.KeepGoing {
			doomed = 1
		}
		return claimTreeSQL, []any{":task", opts.Scope.Task, ":doomed", doomed}, nil
	case opts.Scope.Feature != "":
		n, err := g.featureNumber(opts.Scope.Feature)
		if err != nil {
			return "", nil, err
		}
		if opts.KeepGoing {
			return claimFeatureKeepGoingSQL, []any{":feature", n}, nil
		}
		return claimFeatureSQL, []any{":feature", n}, nil
	case opts.KeepGoing:
		return claimAllKeepGoingSQL, nil, nil
	default:
		return claimAllSQL, nil, nil
	}
}
