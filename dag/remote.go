package dag

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"ralph/internal/db"
)

const adoptRunSQL = `
UPDATE runs SET pid = :pid, pid_start = :start, boot_id = :boot, pid_ns = :ns, heartbeat_at = :now
WHERE id = :id AND ended_at IS NULL;`

// AdoptRun makes a process go on with the run whose attempts the same remote makes. False means that there is none. It is
// refused while the process that did so before may live.
func (g History) AdoptRun(p Process, life func(Process) Life) (Run, bool, error) {
	open, err := g.OpenRuns()
	i := slices.IndexFunc(open, func(r Run) bool { return r.Process.Remote == p.Remote })
	if err != nil || i < 0 {
		return Run{}, false, err
	}
	run := open[i]
	before := run.Process
	before.Remote = ""
	if served(before, run, g.now, life) {
		return run, true, fmt.Errorf("%w: process %d already serves %s, of %s", ErrRefused, before.PID, run.ID, p.Remote)
	}
	run.Process = p
	return run, true, g.tx.Exec(adoptRunSQL, ":id", run.ID, ":pid", p.PID, ":start", p.Start, ":boot", p.BootID, ":ns", p.Namespace, ":now", g.millis())
}

// silent is how long a run whose process cannot be seen is silent before it counts as gone.
const silent = 2 * time.Minute

// served says that the process of a run may live.
func served(p Process, r Run, now time.Time, life func(Process) Life) bool {
	known := life(p)
	return known == Alive || known == Unknown && now.Sub(r.Heartbeat) < silent
}

const disownRunSQL = `UPDATE runs SET remote = NULL WHERE id = :id;`

// DisownRuns forgets that attempts of open runs are made on other machines, if the process of the run is gone: the run is dead
// then, and whatever those machines deliver counts for nothing.
func (g History) DisownRuns(life func(Process) Life) error {
	open, err := g.OpenRuns()
	for _, r := range open {
		remote := r.Process.Remote
		if r.Process.Remote = ""; remote != "" && !served(r.Process, r, g.now, life) {
			g.tx.Do(disownRunSQL, ":id", r.ID)
		}
	}
	return cmp.Or(err, g.tx.Err())
}

// Apart refuses to begin a run of a scope while another one that is not dead works on the same tasks, if other machines make the
// attempts of either: what is ready is theirs to say alone.
func (g History) Apart(scope Scope, p Process, life func(Process) Life) error {
	open, err := g.OpenRuns()
	if err != nil {
		return err
	}
	for _, r := range open {
		if r.Process.Remote == "" && p.Remote == "" || life(r.Process) == Dead {
			continue
		}
		both, err := g.queue().overlap(scope, r.Scope)
		if err != nil {
			return err
		}
		if both {
			return &ApartError{Run: r}
		}
	}
	return nil
}

// ApartError is a run that works on the same tasks.
type ApartError struct{ Run Run }

func (e *ApartError) Error() string {
	by := "another run works on these tasks"
	if remote := e.Run.Process.Remote; remote != "" {
		by = "other machines work on these tasks, for " + remote
	}
	return fmt.Sprintf("%v: %s: %s", ErrRefused, e.Run.ID, by)
}

func (e *ApartError) Unwrap() error { return ErrRefused }

// overlap says whether two scopes may have a task in common. Only what lies in two features surely has not.
func (g Queue) overlap(a, b Scope) (bool, error) {
	one, err := g.featureOf(a)
	other, oerr := g.featureOf(b)
	if err != nil || oerr != nil {
		return true, cmp.Or(err, oerr)
	}
	return one == "" || other == "" || one == other, nil
}

// featureOf is the feature that all of a scope lies in; "" if that is not known.
func (g Queue) featureOf(s Scope) (string, error) {
	if s.Task == "" || s.Feature != "" {
		return s.Feature, nil
	}
	t, err := g.tasks().Get(s.Task)
	return t.Feature, err
}

const ownedSQL = `SELECT id FROM tasks INDEXED BY tasks_owner WHERE owner = :owner ORDER BY n;`

// Owned lists the claims of a run, each with the attempt that it is for.
func (g Queue) Owned(run Run) (claims []Claim, err error) {
	ids, err := db.All(g.tx, ownedSQL, (*db.Row).Text, ":owner", run.Owner)
	for _, id := range ids {
		t, terr := g.tasks().Get(id)
		attempts, aerr := g.history().Attempts(t)
		if err = cmp.Or(err, terr, aerr); err != nil {
			return nil, err
		}
		if len(attempts) == 0 {
			continue
		}
		last := attempts[len(attempts)-1]
		c := t.Claim()
		c.Attempt, c.Slot = last.ID, last.Slot
		claims = append(claims, c)
	}
	return claims, err
}
