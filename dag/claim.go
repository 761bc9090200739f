package dag

import (
	"encoding/json"
	"fmt"
	"time"

	"ralph/internal/db"
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

	next = ` ORDER BY priority, n LIMIT 1`
	// It costs a look at everything that is skipped, and is used only while something is.
	nextNotSkipped = ` AND (feature IS NULL OR feature NOT IN (SELECT value FROM json_each(:features)))
    AND coalesce(agent, :agent) NOT IN (SELECT value FROM json_each(:agents))
    AND id NOT IN (SELECT value FROM json_each(:tasks))` + next

	inAll     = ` FROM tasks INDEXED BY queue_all WHERE queue = `
	inFeature = ` FROM tasks INDEXED BY queue_feature WHERE feature = +:feature AND queue = `
	either    = `SELECT n FROM (SELECT * FROM (SELECT priority, n`
	orElse    = `) UNION ALL SELECT * FROM (SELECT priority, n`
	best      = `)) ORDER BY priority, n LIMIT 1` + claimGet

	claimAllSQL                  = claimSet + `SELECT n` + inAll + `0` + next + claimGet
	claimAllSkipSQL              = claimSet + `SELECT n` + inAll + `0` + nextNotSkipped + claimGet
	claimFeatureSQL              = claimSet + `SELECT n` + inFeature + `0` + next + claimGet
	claimFeatureSkipSQL          = claimSet + `SELECT n` + inFeature + `0` + nextNotSkipped + claimGet
	claimAllKeepGoingSQL         = claimSet + either + inAll + `0` + next + orElse + inAll + `1` + next + best
	claimAllKeepGoingSkipSQL     = claimSet + either + inAll + `0` + nextNotSkipped + orElse + inAll + `1` + nextNotSkipped + best
	claimFeatureKeepGoingSQL     = claimSet + either + inFeature + `0` + next + orElse + inFeature + `1` + next + best
	claimFeatureKeepGoingSkipSQL = claimSet + either + inFeature + `0` + nextNotSkipped + orElse + inFeature + `1` + nextNotSkipped + best

	// A subtree is walked: its cost grows with the subtree, not with the graph. The
	// cross join keeps the planner from walking everything that is ready instead.
	inTree = `
WITH RECURSIVE sub (n) AS (
    SELECT n FROM tasks WHERE id = :task
    UNION ALL
    SELECT c.n FROM sub JOIN tasks c ON c.parent = sub.n
) `
	claimTreeSQL = claimSet + inTree + `
SELECT t.n FROM sub CROSS JOIN tasks t ON t.n = sub.n
WHERE t.queue = 0 OR t.queue = :doomed ORDER BY t.priority, t.n LIMIT 1` + claimGet
	claimTreeSkipSQL = claimSet + inTree + `
SELECT n FROM (
    SELECT t.n, t.id, t.priority, t.feature, t.agent FROM sub CROSS JOIN tasks t ON t.n = sub.n WHERE t.queue = 0 OR t.queue = :doomed
) WHERE true` + nextNotSkipped + claimGet

	clearWaitsSQL = `
UPDATE tasks INDEXED BY tasks_waiting SET not_before = 0, wait_reason = NULL WHERE not_before > 0 AND not_before <= :now;`
)

// Claim chooses the next ready task in the scope and makes it ours, in one
// statement. It returns false if there is none.
func (g *Graph) Claim(opts ClaimOptions) (Claim, bool, error) {
	g.tx.Do(clearWaitsSQL, ":now", g.millis())
	query, args, err := g.claimQuery(opts)
	if err != nil {
		return Claim{}, false, err
	}
	args = append(args, ":owner", opts.Run.Owner, ":lease", g.now.Add(opts.Lease).UnixMilli(), ":now", g.millis())
	t, err := db.One(g.tx, query, g.scanTask, args...)
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
	return c, true, g.Alive(opts.Run.Owner)
}

func (g *Graph) claimQuery(opts ClaimOptions) (query string, args []any, err error) {
	skips := !opts.Skip.empty()
	switch {
	case opts.Scope.Task != "" && opts.Scope.Feature != "":
		return "", nil, fmt.Errorf("%w: a scope is a task or a feature, not both", ErrRefused)
	case opts.Scope.Task != "":
		query, args = claimTreeSQL, []any{":task", opts.Scope.Task, ":doomed", opts.KeepGoing}
		if skips {
			query = claimTreeSkipSQL
		}
	case opts.Scope.Feature != "":
		n, err := g.featureNumber(opts.Scope.Feature)
		if err != nil {
			return "", nil, err
		}
		args = []any{":feature", n}
		query = opts.variant(claimFeatureSQL, claimFeatureSkipSQL, claimFeatureKeepGoingSQL, claimFeatureKeepGoingSkipSQL)
	default:
		query = opts.variant(claimAllSQL, claimAllSkipSQL, claimAllKeepGoingSQL, claimAllKeepGoingSkipSQL)
	}
	if skips {
		args, err = g.skipArgs(args, opts.Skip)
	}
	return query, args, err
}

// variant chooses the statement that does what the options say, and no more.
func (o ClaimOptions) variant(plain, skip, keepGoing, keepGoingSkip string) string {
	switch skips := !o.Skip.empty(); {
	case o.KeepGoing && skips:
		return keepGoingSkip
	case o.KeepGoing:
		return keepGoing
	case skips:
		return skip
	default:
		return plain
	}
}

func (g *Graph) skipArgs(args []any, s Skip) ([]any, error) {
	features := []int64{}
	for _, name := range s.Features {
		n, err := g.featureNumber(name)
		if err != nil {
			return nil, err
		}
		features = append(features, n)
	}
	numbers, err := json.Marshal(features)
	return append(args, ":features", string(numbers), ":agents", db.JSON(s.Agents), ":agent", s.Agent, ":tasks", db.JSON(s.Tasks)), err
}
