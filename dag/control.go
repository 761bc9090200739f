package dag

import (
	"fmt"
	"slices"
	"time"

	"ralph/internal/db"
)

// Stop is how a person wants a run to end.
type Stop string

// The ways to stop; empty means not at all.
const (
	StopAfterTask Stop = "after_task" // what runs is finished
	StopNow       Stop = "now"        // what runs is given back
)

// Control is what people asked of a run from another shell.
type Control struct {
	Stop     Stop
	PausedAt time.Time // of the project; zero if it is not paused
	Asking   int       // tasks that wait for an answer
}

// Runs reports whether nobody asked the run to stop or to wait.
func (c Control) Runs() bool { return c.Stop == "" && c.PausedAt.IsZero() }

const controlSQL = `SELECT (SELECT stop_requested FROM runs WHERE id = :run), paused_at, (` + asksAllSQL + `) FROM control;`

// Control says what was asked of a run. It reads a few rows: runs ask every second.
func (g Queue) Control(run string) (Control, error) {
	return db.One(g.tx, controlSQL, func(r *db.Row) Control { return Control{Stop: Stop(r.Text()), PausedAt: r.Time(), Asking: r.Int()} }, ":run", run)
}

const stopSQL = `
UPDATE runs SET stop_requested = :how
WHERE id = :id AND ended_at IS NULL AND (stop_requested IS NULL OR :how = 'now');`

// StopRuns asks all runs that are not dead to end, or only one of them, and returns them. A
// run that was asked to end now is not asked to take its time.
func (g Queue) StopRuns(only string, how Stop, life func(Process) Life) ([]Run, error) {
	runs, _ := g.history().OpenRuns()
	runs = slices.DeleteFunc(runs, func(r Run) bool { return life(r.Process) == Dead || only != "" && r.ID != only })
	for _, run := range runs {
		g.tx.Do(stopSQL, ":id", run.ID, ":how", string(how))
	}
	return runs, g.tx.Err()
}

const (
	pauseAllSQL  = `UPDATE control SET paused_at = :now WHERE paused_at IS NULL;`
	resumeAllSQL = `UPDATE control SET paused_at = NULL WHERE paused_at IS NOT NULL;`
)

// PauseAll keeps every run from claiming, and says whether that is new.
func (g Queue) PauseAll() (bool, error) {
	err := g.tx.Exec(pauseAllSQL, ":now", g.millis())
	return g.tx.Changes() == 1, err
}

// ResumeAll lets runs claim again, and says whether that is new. Tasks that were
// paused by themselves stay so.
func (g Queue) ResumeAll() (bool, error) {
	err := g.tx.Exec(resumeAllSQL)
	return g.tx.Changes() == 1, err
}

const pauseSQL = `UPDATE tasks SET paused = :paused, updated_at = :now WHERE n = :n AND paused <> :paused;`

// Pause keeps a task, and all that lies below it, from being claimed until it is
// resumed. An attempt that is under way continues.
func (g Tasks) Pause(id string) error { return g.setPaused(id, true, "paused by hand") }

// Resume lets a paused task run again.
func (g Tasks) Resume(id string) error { return g.setPaused(id, false, "resumed by hand") }

func (g Tasks) setPaused(id string, paused bool, text string) error {
	t, err := g.nodeByID(id)
	if err != nil {
		return err
	}
	if paused && !t.status.Open() {
		return fmt.Errorf("%w: %s is %s: there is nothing to pause", ErrRefused, t.id, t.status)
	}
	g.tx.Do(pauseSQL, ":n", t.n, ":paused", paused, ":now", g.millis())
	if g.tx.Err() == nil && g.tx.Changes() == 0 {
		if paused {
			return nil
		}
		return fmt.Errorf("%w: %s is not paused", ErrRefused, t.id)
	}
	g.log(t.n, LogSystem, text)
	g.flagDescendants(t.n)
	return g.tx.Err()
}

const aliveSQL = `UPDATE runs SET heartbeat_at = :now WHERE owner = :owner;`

// Alive records that a run is alive, though it has no claim to renew.
func (g Queue) Alive(owner string) error {
	return g.tx.Exec(aliveSQL, ":owner", owner, ":now", g.millis())
}
