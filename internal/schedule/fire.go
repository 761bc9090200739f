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
	N          int64
	Name, Line string
	Due        time.Time
	Until      time.Time // the clock goes on after it; zero for what a person started
	Count      int       // of the times, as far as they were counted
	At         time.Time
	State      State
	Note       string
	Process    dag.Process // that claimed it, and then the one that was started
}

const (
	historySQL = `
SELECT n, name, line, due_at, until_at, count, at, state, note, pid, pid_start, boot_id, pid_ns FROM schedule_fires
WHERE name = :name ORDER BY n DESC LIMIT 20;`
	// The database may have been replaced since a row was made: then its number is another one's.
	storeSQL = `
INSERT INTO schedule_fires VALUES (:n, :name, :line, :due, :until, :count, :at, :state, :note, :pid, :start, :boot, :ns)
ON CONFLICT (n) DO UPDATE SET until_at = excluded.until_at, count = excluded.count, state = excluded.state, note = excluded.note,
    pid = excluded.pid, pid_start = excluded.pid_start, boot_id = excluded.boot_id, pid_ns = excluded.pid_ns
    WHERE name = excluded.name AND due_at = excluded.due_at
ON CONFLICT DO NOTHING;`
	trimSQL = `DELETE FROM schedule_fires WHERE name = :name AND n <= (SELECT n FROM schedule_fires WHERE name = :name ORDER BY n DESC LIMIT 1 OFFSET 1000);`
)

// history are the last fires of a schedule, the newest first. Here and below, errors are those of the transaction.
func history(g *dag.Graph, name string) []Fire {
	list, _ := db.All(g.Tx(), historySQL, func(r *db.Row) Fire {
		return Fire{
			N: r.Int64(), Name: r.Text(), Line: r.Text(), Due: r.Time(), Until: r.Time(), Count: r.Int(), At: r.Time(), State: State(r.Text()), Note: r.Text(),
			Process: dag.Process{PID: r.Int64(), Start: r.Int64(), BootID: r.Text(), Namespace: r.Text()},
		}
	}, ":name", name)
	return list
}

// newest is the first fire of which something holds; its N is 0 if there is none.
func newest(list []Fire, holds func(Fire) bool) (f Fire) {
	if i := slices.IndexFunc(list, holds); i >= 0 {
		f = list[i]
	}
	return f
}

// Last is what was last done about a schedule; N is 0 if nothing was.
func Last(g *dag.Graph, name string) Fire {
	return newest(history(g, name), func(f Fire) bool { return f.State != Seen })
}

// store adds a fire or changes it, and says whether it did: a time that somebody claimed before is not claimed again.
func store(g *dag.Graph, f *Fire) bool {
	if f.N == 0 {
		f.At = g.Now()
	}
	var until any
	if !f.Until.IsZero() {
		until = f.Until.UnixMilli()
	}
	g.Tx().Do(storeSQL, ":n", db.OrNull(f.N), ":name", f.Name, ":line", f.Line, ":due", f.Due.UnixMilli(), ":until", until, ":count", f.Count,
		":at", f.At.UnixMilli(), ":state", string(f.State), ":note", db.OrNull(g.Redact(f.Note)),
		":pid", f.Process.PID, ":start", f.Process.Start, ":boot", f.Process.BootID, ":ns", f.Process.Namespace)
	if g.Tx().Err() != nil || g.Tx().Changes() == 0 {
		return false
	}
	if f.N == 0 {
		f.N = g.Tx().LastInsert()
	}
	g.Tx().Do(trimSQL, ":name", f.Name)
	return true
}

// RunOf is the run that a fire has started; its ID is empty if there is none (yet).
func RunOf(g *dag.Graph, f Fire) (run dag.Run) {
	runs, _ := g.History.Runs(100)
	i := slices.IndexFunc(runs, func(r dag.Run) bool {
		return r.Process == f.Process && !r.StartedAt.Before(f.At.Truncate(time.Millisecond))
	})
	if i >= 0 && f.State == Started {
		run = runs[i]
	}
	return run
}

const (
	silence = 10 * time.Minute // after which a run counts as gone of which nothing can be known
	starts  = time.Minute      // a run that has begun is in the database by then
)

// Running says that what a fire has started is at work. Where the system cannot tell, its run in the database does.
func Running(g *dag.Graph, f Fire, life func(dag.Process) dag.Life) bool {
	if f.State != Claimed && f.State != Started {
		return false
	}
	if known := life(f.Process); known != dag.Unknown {
		return known == dag.Alive
	}
	if run := RunOf(g, f); run.ID != "" {
		return run.EndedAt.IsZero() && g.Now().Sub(run.Heartbeat) < silence
	}
	return g.Now().Sub(f.At) < starts
}

// ByHand records that a person starts a schedule in a process, unless its last run is at work.
func ByHand(g *dag.Graph, s Schedule, self dag.Process, life func(dag.Process) dag.Life) bool {
	if slices.ContainsFunc(history(g, s.Name), func(f Fire) bool { return Running(g, f, life) }) {
		return false
	}
	return store(g, &Fire{Name: s.Name, Line: s.Line.String(), Due: g.Now(), Count: 1, State: Started, Note: "by hand", Process: self})
}
