package dag

import (
	"errors"
	"fmt"
	"time"

	"ralph/internal/db"
)

const describeRunSQL = `UPDATE runs SET settings = :settings, continues = :continues, iterations = :iterations, failures = :failures WHERE id = :id;`

// DescribeRun stores how a run was started, and which one it continues.
func (g History) DescribeRun(r *Run, settings string, continues *Run) error {
	if settings != "" {
		r.Settings = settings
	}
	if continues != nil {
		if err := g.CarryOver(r, continues); err != nil {
			return err
		}
	}
	return g.tx.Exec(describeRunSQL, ":id", r.ID, ":settings", r.Settings, ":continues", db.OrNull(r.Continues),
		":iterations", r.Iterations, ":failures", r.Failures)
}

// CarryOver gives r the counters of the run that it continues, without storing them.
// Tasks that were reset meanwhile have not failed.
func (g History) CarryOver(r, from *Run) error {
	t, err := g.tasks().Tally(r.Scope)
	if err != nil {
		return err
	}
	r.Continues, r.Iterations, r.Failures = from.ID, from.Iterations, min(from.Failures, t.ByStatus[Failed])
	return nil
}

// By addition: workers settle side by side, and none of them knows what another is about to store.
const countRunSQL = `UPDATE runs SET iterations = iterations + :counted, heartbeat_at = :now,
    failures = iif(:status = 'failed', failures + 1, iif(:status = 'done', 0, failures)) WHERE id = :id;`

// CountRun adds an iteration to a run if it counted, and stores how many tasks have
// failed in a row now that one has this status, so that a run that dies can be continued.
func (g History) CountRun(id string, counted bool, status Status) error {
	return g.tx.Exec(countRunSQL, ":id", id, ":counted", counted, ":status", string(status), ":now", g.millis())
}

const ownIterationsSQL = `SELECT iterations - coalesce((SELECT c.iterations FROM runs c WHERE c.id = r.continues), 0) FROM runs r WHERE r.id = :id;`

// OwnIterations is how many iterations of a run counted, without those of the runs
// that it continues.
func (g History) OwnIterations(id string) (int, error) {
	return db.One(g.tx, ownIterationsSQL, (*db.Row).Int, ":id", id)
}

const lastRunSQL = `SELECT ` + runColumns + ` FROM runs
WHERE scope_feature IS :feature AND scope_task IS :task AND scope_tag IS :tag ORDER BY n DESC LIMIT 1;`

// LastRun returns the latest run of exactly that scope.
func (g History) LastRun(scope Scope) (Run, error) {
	runs, err := g.runs(lastRunSQL, ":feature", db.OrNull(scope.Feature), ":task", db.OrNull(scope.Task), ":tag", db.OrNull(scope.Tag))
	return only(runs, err, "an earlier run of that target")
}

// A run that another one has continued is finished, and so is a complete one, unless a
// task of it was reset.
const unfinishedSQL = `SELECT ` + runColumns + ` FROM runs r
WHERE id NOT IN (SELECT continues FROM runs WHERE continues IS NOT NULL)
    AND (coalesce(outcome, '') NOT IN ('complete', 'no_plan') OR EXISTS (
        SELECT 1 FROM attempts a JOIN tasks t ON t.n = a.task WHERE a.run = r.n AND t.status = 'pending'))
ORDER BY n DESC;`

// LastUnfinished returns the latest run, of any scope, that left something to do.
func (g History) LastUnfinished() (Run, error) {
	runs, err := g.runs(unfinishedSQL)
	if err != nil {
		return Run{}, err
	}
	for _, r := range runs {
		if left, err := g.tasks().LeftToDo(r.Scope); err != nil || left {
			return r, err
		}
	}
	return Run{}, fmt.Errorf("an unfinished run: %w", ErrNotFound)
}

// FinishedError is a run that cannot be continued because nothing is left to do in it.
type FinishedError struct {
	Run   Run
	Named bool // it was asked for by its ID
}

func (e *FinishedError) Error() string {
	if e.Named {
		return fmt.Sprintf("%v: %s is finished: %s", ErrRefused, e.Run.ID, e.Run.Outcome)
	}
	return fmt.Sprintf("an unfinished run: %v: the last one, %s, is finished: %s", ErrNotFound, e.Run.ID, e.Run.Outcome)
}

func (e *FinishedError) Unwrap() error {
	if e.Named {
		return ErrRefused
	}
	return ErrNotFound
}

// RunToContinue is the run whose ID was typed, the last one of a scope, or without either
// the last one that left something to do. One that is still running is refused.
func (g History) RunToContinue(typed string, scope *Scope, life func(Process) Life) (run Run, err error) {
	switch {
	case typed != "":
		run, err = g.ResolveRun(typed)
	case scope != nil:
		run, err = g.LastRun(*scope)
	default:
		run, err = g.LastUnfinished()
	}
	if err != nil {
		return run, err
	}
	left, err := g.tasks().LeftToDo(run.Scope)
	switch {
	case err != nil:
		return run, err
	case run.EndedAt.IsZero() && life(run.Process) == Alive:
		return run, fmt.Errorf("%w: %s is still running", ErrRefused, run.ID)
	case !left && (run.Outcome == "complete" || run.Outcome == "no_plan"):
		return run, &FinishedError{run, typed != ""}
	}
	return run, nil
}

// LeftToDo says whether tasks of a scope have neither succeeded nor failed. A scope
// that is gone has none.
func (g Tasks) LeftToDo(scope Scope) (bool, error) {
	t, err := g.Tally(scope)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return t.Total() > t.ByStatus[Done]+t.ByStatus[Failed], err
}

// chain is a run with those that it continues.
const chain = `
WITH RECURSIVE chain (id) AS (
    SELECT :run
    UNION
    SELECT r.continues FROM chain JOIN runs r ON r.id = chain.id WHERE r.continues IS NOT NULL
) `

const runUsageSQL = chain + usageColumns + `used WHERE run` + chainRuns + `;`

// RunUsage adds up what the attempts of a run reported, those under way too, with
// those of the runs that it continues.
func (g History) RunUsage(id string) (Usage, error) { return g.usage(runUsageSQL, ":run", id) }

// What died is not known to have lived longer than to its last heartbeat.
const runSpanSQL = chain + `
SELECT coalesce(sum(max(iif(r.ended_at IS NULL OR r.outcome = 'died', r.heartbeat_at, r.ended_at) - r.started_at, 0)), 0), coalesce(sum(r.waited), 0)
FROM chain JOIN runs r ON r.id = chain.id;`

// RunSpan is how long a run and those that it continues have run, in all, and how
// much of that they only waited for providers.
func (g History) RunSpan(id string) (took, waited time.Duration, err error) {
	for r := range g.tx.Rows(runSpanSQL, ":run", id) {
		took, waited = r.Duration(), r.Duration()
	}
	return took, waited, g.tx.Err()
}

const waitedSQL = `UPDATE runs SET waited = waited + :ms WHERE id = :id;`

// Waited adds to the time that a run only waited for a provider.
func (g History) Waited(run string, d time.Duration) error {
	return g.tx.Exec(waitedSQL, ":id", run, ":ms", d.Milliseconds())
}
