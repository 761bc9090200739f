package dag

import (
	"fmt"
	"time"

	"zombiezen.com/go/sqlite"
)

// Process names one process precisely enough to know later whether it lives.
type Process struct {
	PID       int64
	Start     int64  // as the kernel counts it, so that a reused PID differs
	BootID    string // another boot means another host or a restart
	Namespace string // of PIDs: containers share a boot, not their PIDs
}

// Run is one `ralph run`. Its owner is random, made at each start.
type Run struct {
	ID         string
	Owner      string
	Scope      Scope
	Process    Process
	StartedAt  time.Time
	EndedAt    time.Time // zero while it runs
	Outcome    string
	Reason     string
	Iterations int
}

const startRunSQL = `
INSERT INTO runs (id, owner, scope_feature, scope_task, pid, pid_start, boot_id, pid_ns, started_at, heartbeat_at)
VALUES (:id, :owner, :feature, :task, :pid, :start, :boot, :ns, :now, :now);`

// StartRun records that a process begins to run a scope.
func (g *Graph) StartRun(scope Scope, p Process) (Run, error) {
	r := Run{ID: g.newID("r-"), Owner: g.newID("w-"), Scope: scope, Process: p, StartedAt: g.now.UTC().Truncate(time.Millisecond)}
	err := g.tx.Exec(startRunSQL, ":id", r.ID, ":owner", r.Owner, ":feature", orNull(scope.Feature), ":task", orNull(scope.Task),
		":pid", p.PID, ":start", p.Start, ":boot", p.BootID, ":ns", p.Namespace, ":now", g.millis())
	return r, err
}

const endRunSQL = `
UPDATE runs SET ended_at = :now, outcome = :outcome, reason = :reason, iterations = :iterations
WHERE id = :id AND ended_at IS NULL;`

// EndRun records how a run ended.
func (g *Graph) EndRun(id, outcome, reason string, iterations int) error {
	err := g.tx.Exec(endRunSQL, ":id", id, ":outcome", outcome, ":reason", orNull(reason), ":iterations", iterations, ":now", g.millis())
	if err == nil && g.tx.Changes() != 1 {
		err = fmt.Errorf("run %s: %w or ended already", id, ErrNotFound)
	}
	return err
}

const runColumns = `id, owner, scope_feature, scope_task, pid, pid_start, boot_id, pid_ns,
    started_at, ended_at, outcome, reason, iterations`

func scanRun(stmt *sqlite.Stmt) Run {
	r := row{stmt: stmt}
	return Run{
		ID: r.text(), Owner: r.text(), Scope: Scope{Feature: r.text(), Task: r.text()},
		Process:   Process{PID: r.int64(), Start: r.int64(), BootID: r.text(), Namespace: r.text()},
		StartedAt: r.time(), EndedAt: r.time(), Outcome: r.text(), Reason: r.text(), Iterations: r.int(),
	}
}

const ownerSQL = `SELECT ` + runColumns + ` FROM runs WHERE owner = :owner;`

// Owner returns the run that claims under that owner.
func (g *Graph) Owner(owner string) (Run, error) {
	var run Run
	err := g.tx.Each(ownerSQL, func(stmt *sqlite.Stmt) error { run = scanRun(stmt); return nil }, ":owner", owner)
	if err == nil && run.ID == "" {
		err = fmt.Errorf("run of owner %s: %w", owner, ErrNotFound)
	}
	return run, err
}

// Life is what is known about a process.
type Life int

// A process may be known to live, known to be gone, or out of sight.
const (
	Unknown Life = iota
	Alive
	Dead
)

const claimedSQL = `SELECT ` + taskColumns + ` FROM tasks INDEXED BY tasks_owner WHERE owner IS NOT NULL ORDER BY n;`

// Stale lists the claimed tasks whose owner is gone. life tells whether a process
// lives; only where it cannot know does the lease decide, because a live owner
// may have slept past its lease.
func (g *Graph) Stale(life func(Process) Life) ([]Task, error) {
	claimed, err := g.tasks(claimedSQL)
	if err != nil {
		return nil, err
	}
	var stale []Task
	for _, t := range claimed {
		run, err := g.Owner(t.Owner)
		if err != nil {
			return nil, err
		}
		switch known := life(run.Process); {
		case !run.EndedAt.IsZero(), known == Dead, known == Unknown && t.LeaseUntil.Before(g.now):
			stale = append(stale, t)
		}
	}
	return stale, nil
}

const interruptedSQL = `UPDATE tasks SET interruptions = interruptions + 1 WHERE n = :n;`

// Reclaim releases a stale task. The death of its run is not the task's fault:
// no attempt is charged. Doing so twice is refused with ErrLost.
func (g *Graph) Reclaim(t Task, reason string) error {
	c := Claim{Task: t, Owner: t.Owner, Generation: t.Generation}
	if err := g.Release(c, Release{Outcome: "interrupted", Reason: reason, Uncounted: true}); err != nil {
		return err
	}
	if err := g.log(t.N, LogSystem, reason); err != nil {
		return err
	}
	return g.tx.Exec(interruptedSQL, ":n", t.N)
}

const openRunsSQL = `SELECT ` + runColumns + ` FROM runs WHERE ended_at IS NULL ORDER BY n;`

// OpenRuns lists the runs that have not ended, or died before they could say so.
func (g *Graph) OpenRuns() ([]Run, error) {
	var runs []Run
	err := g.tx.Each(openRunsSQL, func(stmt *sqlite.Stmt) error { runs = append(runs, scanRun(stmt)); return nil })
	return runs, err
}

const runUsageSQL = `
SELECT sum(tokens_in), sum(tokens_out), sum(cost_usd) FROM attempts
WHERE run = (SELECT n FROM runs WHERE id = :id);`

// RunUsage adds up what the attempts of a run reported; nil is unknown.
func (g *Graph) RunUsage(id string) (in, out *int64, cost *float64, err error) {
	err = g.tx.Each(runUsageSQL, func(stmt *sqlite.Stmt) error {
		r := row{stmt: stmt}
		in, out, cost = r.optionalInt64(), r.optionalInt64(), r.optionalFloat()
		return nil
	}, ":id", id)
	return in, out, cost, err
}
