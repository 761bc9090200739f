package dag

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"ralph/internal/db"
	"ralph/internal/event"
)

// Process names one process precisely enough to know later whether it lives.
type Process struct {
	PID       int64
	Start     int64  // as the kernel counts it, so that a reused PID differs
	BootID    string // another boot means another host or a restart
	Namespace string // of PIDs: containers share a boot, not their PIDs
	Remote    string // what makes the attempts of its run on other machines, and so outlives it; "" if nothing does
}

// Run is one `ralph run`. Its owner is random, made at each start.
type Run struct {
	ID         string
	Owner      string
	Scope      Scope
	Process    Process
	StartedAt  time.Time
	Heartbeat  time.Time // the last one
	EndedAt    time.Time // zero while it runs
	Outcome    event.RunOutcome
	Reason     string
	Iterations int       // that counted, those of the runs it continues included
	Failures   int       // tasks in a row that failed, with the same
	Settings   string    // JSON: how it was started
	Continues  string    // the run whose counters it took over
	PrunedAt   time.Time // when its files were removed; zero if they were not
}

// Follows says that it waits for further tasks when none can run.
func (r Run) Follows() bool {
	var given struct{ Follow string }
	return json.Unmarshal([]byte(r.Settings), &given) == nil && given.Follow == "true"
}

const startRunSQL = `
INSERT INTO runs (id, owner, scope_feature, scope_task, scope_tag, pid, pid_start, boot_id, pid_ns, started_at, heartbeat_at, remote)
VALUES (:id, :owner, :feature, :task, :tag, :pid, :start, :boot, :ns, :now, :now, :remote);`

// StartRun records that a process begins to run a scope.
func (g History) StartRun(scope Scope, p Process) (Run, error) {
	now := g.now.UTC().Truncate(time.Millisecond)
	r := Run{ID: g.newID("r-"), Owner: g.newID("w-"), Scope: scope, Process: p, StartedAt: now, Heartbeat: now, Settings: "{}"}
	err := g.tx.Exec(startRunSQL, ":id", r.ID, ":owner", r.Owner, ":feature", db.OrNull(scope.Feature), ":task", db.OrNull(scope.Task), ":tag", db.OrNull(scope.Tag),
		":pid", p.PID, ":start", p.Start, ":boot", p.BootID, ":ns", p.Namespace, ":now", g.millis(), ":remote", db.OrNull(p.Remote))
	return r, err
}

const endRunSQL = `
UPDATE runs SET ended_at = :now, outcome = :outcome, reason = :reason, iterations = :iterations
WHERE id = :id AND ended_at IS NULL;`

// EndRun records how a run ended.
func (g History) EndRun(id string, outcome event.RunOutcome, reason string, iterations int) error {
	return g.change(fmt.Errorf("run %s: %w or ended already", id, ErrNotFound), endRunSQL,
		":id", id, ":outcome", string(outcome), ":reason", db.OrNull(g.said(reason)), ":iterations", iterations, ":now", g.millis())
}

const runColumns = `id, owner, scope_feature, scope_task, scope_tag, pid, pid_start, boot_id, pid_ns,
    started_at, heartbeat_at, ended_at, outcome, reason, iterations, failures, settings, continues, pruned_at, remote`

func scanRun(r *db.Row) Run {
	run := Run{
		ID: r.Text(), Owner: r.Text(), Scope: Scope{Feature: r.Text(), Task: r.Text(), Tag: r.Text()},
		Process:   Process{PID: r.Int64(), Start: r.Int64(), BootID: r.Text(), Namespace: r.Text()},
		StartedAt: r.Time(), Heartbeat: r.Time(), EndedAt: r.Time(), Outcome: event.RunOutcome(r.Text()), Reason: r.Text(),
		Iterations: r.Int(), Failures: r.Int(), Settings: r.Text(), Continues: r.Text(), PrunedAt: r.Time(),
	}
	run.Process.Remote = r.Text()
	return run
}

const ownerSQL = `SELECT ` + runColumns + ` FROM runs WHERE owner = :owner;`

// Owner returns the run that claims under that owner.
func (g History) Owner(owner string) (Run, error) {
	runs, err := g.runs(ownerSQL, ":owner", owner)
	return only(runs, err, "run of owner "+owner)
}

const runOfSQL = `SELECT ` + runColumns + ` FROM runs WHERE n = (SELECT run FROM attempts WHERE id = :attempt);`

// RunOf returns the run that made an attempt.
func (g History) RunOf(attempt string) (Run, error) {
	runs, err := g.runs(runOfSQL, ":attempt", attempt)
	return only(runs, err, "run of attempt "+attempt)
}

const openRunsSQL = `SELECT ` + runColumns + ` FROM runs WHERE ended_at IS NULL ORDER BY n;`

// OpenRuns lists the runs that have not ended, or died before they could say so.
func (g History) OpenRuns() ([]Run, error) { return g.runs(openRunsSQL) }

// Cutoffs say what is old: what ended before Others, and before Failures if an
// attempt in it did not work, because that is what people look for longest.
type Cutoffs struct{ Others, Failures time.Time }

// Args are the parameters of statements that compare with them.
func (c Cutoffs) Args() []any {
	return []any{":others", c.Others.UnixMilli(), ":failures", c.Failures.UnixMilli()}
}

// EndedSQL holds of a row with a task_id if that is NULL, or if that task is gone or ended before the cutoffs: one that may
// still run needs all that was said about it.
const EndedSQL = `NOT EXISTS (SELECT 1 FROM tasks t
    WHERE t.id = task_id AND (t.finished_at < iif(t.status = 'failed', :failures, :others)) IS NOT TRUE)`

// A run that may still be continued keeps its files, and so does one with finished
// work that is still to be verified, or with an attempt that has not ended.
const prunableSQL = `
SELECT ` + runColumns + ` FROM runs r
WHERE ended_at < CASE
        WHEN EXISTS (SELECT 1 FROM attempts a WHERE a.run = r.n AND a.outcome IN ('failed', 'retried', 'refused', 'timeout', 'error'))
        THEN :failures ELSE :others END
    AND NOT EXISTS (SELECT 1 FROM attempts a WHERE a.run = r.n AND a.ended_at IS NULL)
    AND NOT EXISTS (SELECT 1 FROM tasks t JOIN attempts a ON a.id = t.unverified WHERE a.run = r.n)
    AND (outcome IN ('complete', 'no_plan') OR EXISTS (
        SELECT 1 FROM runs l WHERE l.n > r.n AND l.scope_feature IS r.scope_feature AND l.scope_task IS r.scope_task AND l.scope_tag IS r.scope_tag))
ORDER BY n;`

// Prunable lists the runs whose files nobody needs any more, the oldest first.
func (g History) Prunable(c Cutoffs) ([]Run, error) {
	return g.runs(prunableSQL, c.Args()...)
}

const pruneSQL = `UPDATE runs SET pruned_at = :now WHERE id = :id AND ended_at IS NOT NULL AND pruned_at IS NULL;`

// Pruned says that the files of a run are gone, or about to be. What is stored here
// about it stays.
func (g History) Pruned(id string) error { return g.tx.Exec(pruneSQL, ":id", id, ":now", g.millis()) }

const treesSQL = `
SELECT json_extract(base, '$.tree') FROM tasks WHERE base IS NOT NULL AND status <> 'done' AND json_valid(base)
UNION
SELECT a.tree FROM attempts a JOIN runs r ON r.n = a.run LEFT JOIN tasks t ON t.n = a.task
WHERE r.pruned_at IS NULL OR t.status <> 'done'
UNION
SELECT a.tree_after FROM attempts a JOIN runs r ON r.n = a.run LEFT JOIN tasks t ON t.n = a.task
WHERE r.pruned_at IS NULL OR t.status <> 'done';`

// Trees lists the trees of the working folder that work may still be compared with.
func (g History) Trees() ([]string, error) {
	trees, err := db.All(g.tx, treesSQL, (*db.Row).Text)
	return slices.DeleteFunc(trees, func(tree string) bool { return tree == "" }), err
}
