package dag

import "ralph/internal/db"

// Life is what is known about a process.
type Life int

// A process may be known to live, known to be gone, or out of sight.
const (
	Unknown Life = iota
	Alive
	Dead
)

const claimedSQL = `SELECT id FROM tasks INDEXED BY tasks_owner WHERE owner IS NOT NULL ORDER BY n;`

// Stale lists the claimed tasks whose owner is gone. life says whether a process
// lives; only where it cannot know does the lease decide, because a live owner
// may have slept past its lease.
func (g Queue) Stale(life func(Process) Life) ([]Task, error) {
	var stale []Task
	for t := range g.named(claimedSQL) {
		run, err := g.history().Owner(t.Owner)
		if err != nil {
			return nil, err
		}
		switch known := life(run.Process); {
		case !run.EndedAt.IsZero(), known == Dead, known == Unknown && t.LeaseUntil.Before(g.now):
			stale = append(stale, t)
		}
	}
	return stale, g.tx.Err()
}

const leavingSQL = `
SELECT t.leaving, r.owner FROM tasks t JOIN attempts a ON a.id = t.leaving JOIN runs r ON r.n = a.run
WHERE t.leaving IS NOT NULL;`

// Leaving lists the attempts that a person took a task from and whose agents are
// not known to be gone, with the owners of their runs.
func (g Queue) Leaving() (map[string]string, error) { return g.pairs(leavingSQL) }

// Left says that the agent of an attempt is gone whose task a person took away: its slot and its locks are free.
func (g Queue) Left(attempt string) error {
	g.tx.Do(leftSQL, ":id", attempt)
	return g.tx.Exec(freeLocksSQL, ":id", attempt)
}

// ReclaimOptions say how the task of a dead run is reclaimed.
type ReclaimOptions struct {
	Reason     string
	Unverified string // the attempt whose finished work is only to be verified; "" to start over
	Counted    bool   // it costs an attempt after all
	Fail       bool   // the task fails, for the reason
}

const (
	reclaimedSQL = `
UPDATE tasks SET interruptions = interruptions + 1, attempts = attempts + :counted, unverified = :unverified WHERE n = :n;`
	// The phase stays: it says how far the attempt came.
	diedSQL = `
UPDATE attempts SET ended_at = :now, outcome = 'interrupted', reason = :reason
WHERE task = :n AND generation = :generation AND ended_at IS NULL;`
)

// Claim is the claim that a task is under, as it is needed to say what became of the work of a dead run.
func (t Task) Claim() Claim { return Claim{Task: t, Owner: t.Owner, Generation: t.Generation} }

// Reclaim makes a stale task available again. Doing so twice is refused with ErrLost.
func (g Queue) Reclaim(t Task, how ReclaimOptions) error {
	n, err := g.held(t.Claim())
	if err == nil && how.Unverified == "" {
		_, err = g.takeable(t.ID)
	}
	if err != nil {
		return err
	}
	to, by, kind := Pending, ByRelease, LogSystem
	if how.Fail {
		to, by, kind = Failed, ByFail, LogFailure
	}
	g.log(n.n, kind, how.Reason)
	g.move(n, to, by)
	g.tx.Do(reclaimedSQL, ":n", n.n, ":counted", how.Counted, ":unverified", db.OrNull(how.Unverified))
	g.tx.Do(diedSQL, ":n", n.n, ":generation", t.Generation, ":reason", db.OrNull(g.said(how.Reason)), ":now", g.millis())
	if how.Unverified == "" {
		g.dropUndo(n.n)
	}
	return g.tx.Err()
}

// Died ends the record of a run whose process is gone. Doing so twice changes nothing.
func (g Queue) Died(id, reason string) (bool, error) {
	err := g.tx.Exec(diedRunSQL, ":id", id, ":reason", g.said(reason), ":now", g.millis())
	return g.tx.Changes() == 1, err
}

const diedRunSQL = `UPDATE runs SET ended_at = :now, outcome = 'died', reason = :reason WHERE id = :id AND ended_at IS NULL;`
