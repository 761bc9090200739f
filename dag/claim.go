package dag

import (
	"time"

	"ralph/internal/db"
)

// Scope is what a run may touch: a feature by name, a task by ID or those with a tag, with all below
// them, or, if all is empty, everything.
type Scope struct {
	Feature string
	Task    string
	Tag     string
}

// String says what the scope is, in words.
func (s Scope) String() string {
	switch {
	case s.Task != "":
		return "task " + s.Task
	case s.Feature != "":
		return "feature " + s.Feature
	case s.Tag != "":
		return "tag " + s.Tag
	default:
		return "everything"
	}
}

// parts counts what the scope names: everything is named by none.
func (s Scope) parts() (n int) {
	for _, part := range []string{s.Feature, s.Task, s.Tag} {
		if part != "" {
			n++
		}
	}
	return n
}

// Covers reports whether a scope that is not one of a tag has a task of a feature.
func (s Scope) Covers(task, feature string) bool {
	switch {
	case s.Task != "":
		return s.Task == task
	case s.Feature != "":
		return s.Feature == feature
	}
	return s.Tag == ""
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
	Merge   Merge // what that work was in the queue; zero if it never was

	Slot    int    // that it took; 0 if it was to take none
	Already string // where its task was done before, if nothing was left to do
}

// ClaimOptions say who claims what.
type ClaimOptions struct {
	Run       Run
	Scope     Scope
	KeepGoing bool          // also take what lies below a failed ancestor
	Lease     time.Duration // how long the claim holds without a heartbeat
	Iteration int
	Skip      Skip

	Finished bool                 // take only work that is finished
	Slots    bool                 // take a slot
	Here     bool                 // take the project's own folder instead
	Locks    map[string]int       // how many may hold a lock at once, where that is not 1
	Ahead    int                  // how many pieces of held work may lie below a task that begins before they have landed; 0: none does
	Target   string               // on which they are to land
	Agents   map[string]AgentGate // how many attempts agents may make at once; "" is for those that are not named
}

const (
	claimSQL = `
UPDATE tasks SET status = 'in_progress', owner = :owner, generation = generation + 1,
    stands_on = nullif(:stands_on, 0), lease_until = :lease, started_at = coalesce(started_at, :now), finished_at = NULL, updated_at = :now
WHERE n = :n RETURNING {task};`
	clearWaitsSQL = `
UPDATE tasks INDEXED BY tasks_waiting SET not_before = 0, wait_reason = NULL WHERE not_before > 0 AND not_before <= :now;`
)

// Claim chooses the next ready task in the scope and makes it ours, with a slot and all of its
// locks. It returns false if there is none that could have them all: what it cannot get whole it
// leaves alone, so that nobody has a lock and waits for another.
func (g Queue) Claim(opts ClaimOptions) (Claim, bool, error) {
	g.tx.Do(clearWaitsSQL, ":now", g.millis())
	if !opts.Finished {
		if _, err := g.Decide(opts.Scope, opts.KeepGoing); err != nil {
			return Claim{}, false, err
		}
	}
	p, err := g.pick(opts)
	if err != nil || p.found.n == 0 {
		return Claim{}, false, err
	}
	if !p.found.finished && g.dropUndo(p.found.n) {
		return g.Claim(opts)
	}
	t, err := db.One(g.tx, statement(claimSQL), g.scanTask, ":n", p.found.n, ":owner", opts.Run.Owner,
		":lease", g.now.Add(opts.Lease).UnixMilli(), ":now", g.millis(), ":stands_on", p.found.standsOn)
	if err != nil {
		return Claim{}, false, err
	}
	c := Claim{Task: t, Owner: t.Owner, Generation: t.Generation, Slot: p.slotFor(t)}
	if c.Attempt, err = g.beginAttempt(opts, t, c.Slot); err != nil {
		return Claim{}, false, err
	}
	p.take(c)
	if t.Unverified != "" {
		c.Resume = true
		c.Merge, _ = db.One(g.tx, resumedSQL, scanMerge, ":task", t.N, ":attempt", t.Unverified)
		if c.Resumed, err = g.history().Attempt(t.Unverified); err != nil {
			return Claim{}, false, err
		}
	}
	return c, true, g.Alive(opts.Run.Owner)
}
