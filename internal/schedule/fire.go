package schedule

import (
	"slices"
	"time"

	"ralph/dag"
	"ralph/internal/db"
)

// State is what became of a fire.
type State string

// The states of a fire. One that was claimed and whose claimer is gone was missed: nobody knows whether it was started, so
// nobody starts it again.
const (
	Seen    State = "seen"    // nothing was due: the clock goes on after it
	Claimed State = "claimed" // somebody is about to start it
	Started State = "started"
	Skipped State = "skipped" // the last run was still at work
	Missed  State = "missed"  // nobody was there
	Failed  State = "failed"  // it could not be started
)

// Fire is a time at which a schedule was due, or several that were missed or skipped in a row.
type Fire struct {
	N       int64
	Name    string
	Line    string // with which it was due
	Due     time.Time
	Until   time.Time // the clock goes on after it; zero for what a person started
	Count   int       // of the times, as far as they were counted
	At      time.Time
	State   State
	Note    string
	Process dag.Process // that claimed it, and then the one that was started
}

const fireColumns = `n, name, line, due_at, until_at, count, at, state, note, pid, pid_start, boot_id, pid_ns`

func scanFire(r *db.Row) Fire {
	return Fire{
		N: r.Int64(), Name: r.Text(), Line: r.Text(), Due: r.Time(), Until: r.Time(), Count: r.Int(), At: r.Time(), State: State(r.Text()), Note: r.Text(),
		Process: dag.Process{PID: r.Int64(), Start: r.Int64(), BootID: r.Text(), Namespace: r.Text()},
	}
}

const (
	cursorSQL  = `SELECT ` + fireColumns + ` FROM schedule_fires WHERE name = :name AND until_at IS NOT NULL ORDER BY n DESC LIMIT 1;`
	lastSQL    = `SELECT ` + fireColumns + ` FROM schedule_fires WHERE name = :name AND state <> 'seen' ORDER BY n DESC LIMIT 1;`
	begunSQL   = `SELECT ` + fireColumns + ` FROM schedule_fires WHERE name = :name AND state IN ('claimed', 'started') ORDER BY n DESC LIMIT 1;`
	claimedSQL = `SELECT ` + fireColumns + ` FROM schedule_fires WHERE name = :name AND state = 'claimed' ORDER BY n;`
)

// Last is what was last done about a schedule; N is 0 if nothing was.
func Last(g *dag.Graph, name string) (Fire, error) {
	return db.One(g.Tx(), lastSQL, scanFire, ":name", name)
}

const (
	insertSQL = `
INSERT INTO schedule_fires (name, line, due_at, until_at, count, at, state, note, pid, pid_start, boot_id, pid_ns)
VALUES (:name, :line, :due, :until, :count, :at, :state, :note, :pid, :start, :boot, :ns) ON CONFLICT DO NOTHING;`
	trimSQL = `DELETE FROM schedule_fires WHERE name = :name AND n <= (SELECT n FROM schedule_fires WHERE name = :name ORDER BY n DESC LIMIT 1 OFFSET :kept);`
)

// kept is how many fires of a schedule are remembered.
const kept = 1000

// insert stores a fire, and says whether it did: one that somebody claimed already is not stored again.
func insert(g *dag.Graph, f *Fire) (bool, error) {
	f.At = g.Now()
	var until any
	if !f.Until.IsZero() {
		until = f.Until.UnixMilli()
	}
	err := g.Tx().Exec(insertSQL, ":name", f.Name, ":line", f.Line, ":due", f.Due.UnixMilli(), ":until", until, ":count", f.Count, ":at", f.At.UnixMilli(),
		":state", string(f.State), ":note", db.OrNull(g.Redact(f.Note)), ":pid", f.Process.PID, ":start", f.Process.Start, ":boot", f.Process.BootID, ":ns", f.Process.Namespace)
	if err != nil || g.Tx().Changes() == 0 {
		return false, err
	}
	f.N = g.Tx().LastInsert()
	return true, g.Tx().Exec(trimSQL, ":name", f.Name, ":kept", kept)
}

const updateSQL = `
UPDATE schedule_fires SET until_at = :until, count = :count, state = :state, note = :note, pid = :pid, pid_start = :start, boot_id = :boot, pid_ns = :ns WHERE n = :n;`

func update(g *dag.Graph, f Fire) error {
	return g.Tx().Exec(updateSQL, ":n", f.N, ":until", f.Until.UnixMilli(), ":count", f.Count, ":state", string(f.State), ":note", db.OrNull(g.Redact(f.Note)),
		":pid", f.Process.PID, ":start", f.Process.Start, ":boot", f.Process.BootID, ":ns", f.Process.Namespace)
}

// RunOf is the run that a fire has started; its ID is empty if there is none (yet).
func RunOf(g *dag.Graph, f Fire) (dag.Run, error) {
	runs, err := g.Runs(recent)
	i := slices.IndexFunc(runs, func(r dag.Run) bool {
		return r.Process == f.Process && !r.StartedAt.Before(f.At.Truncate(time.Millisecond))
	})
	if err != nil || i < 0 || f.State != Started {
		return dag.Run{}, err
	}
	return runs[i], nil
}

const (
	recent  = 100              // runs among which that of a fire is looked for
	silence = 10 * time.Minute // after which a run counts as gone of which nothing can be known
	starts  = time.Minute      // a run that has begun is in the database by then
)

// Running says that what a fire has started is at work. Where the system cannot tell, its run in the database does.
func Running(g *dag.Graph, f Fire, life func(dag.Process) dag.Life) (bool, error) {
	if f.State != Claimed && f.State != Started {
		return false, nil
	}
	if known := life(f.Process); known != dag.Unknown {
		return known == dag.Alive, nil
	}
	run, err := RunOf(g, f)
	if run.ID == "" {
		return g.Now().Sub(f.At) < starts, err
	}
	return run.EndedAt.IsZero() && g.Now().Sub(run.Heartbeat) < silence, nil
}

// ByHand records that a person starts a schedule in a process, unless its last run is at work.
func ByHand(g *dag.Graph, s Schedule, self dag.Process, life func(dag.Process) dag.Life) (ok bool, err error) {
	last, err := db.One(g.Tx(), begunSQL, scanFire, ":name", s.Name)
	if err != nil {
		return false, err
	}
	if running, err := Running(g, last, life); err != nil || running {
		return false, err
	}
	return insert(g, &Fire{Name: s.Name, Line: s.Line.String(), Due: g.Now(), Count: 1, State: Started, Note: "by hand", Process: self})
}
