package report_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"ralph/dag"
	"ralph/internal/db"
	"ralph/internal/event"
	"ralph/internal/report"
	"ralph/internal/testing/check"
	"ralph/internal/testing/emptydb"
	"ralph/journal"
)

var pages = flag.String("pages", "", "write the pages to this folder, to be looked at")

// world is a project on real files, with a clock that only the test moves and IDs
// that count.
type world struct {
	t     *testing.T
	root  string
	store *dag.Store
	run   dag.Run
	now   time.Time
	ids   map[string]int
	iter  int
	log   *os.File
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, root: filepath.Join(t.TempDir(), "project"), now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), ids: map[string]int{}}
	check.OK(t, os.MkdirAll(filepath.Join(w.root, ".ralph"), 0o700))
	path := filepath.Join(w.root, ".ralph", "progress.db")
	emptydb.Write(t, path)
	d, err := db.Open(t.Context(), path, db.Options{})
	check.OK(t, err)
	t.Cleanup(func() { d.Close() })
	w.store = dag.New(d, dag.Options{Now: func() time.Time { return w.now }, NewID: func(prefix string) string {
		w.ids[prefix]++
		return fmt.Sprintf("%s%08x", prefix, w.ids[prefix])
	}})
	return w
}

func (w *world) update(fn func(*dag.Graph) error) {
	w.t.Helper()
	check.OK(w.t, w.store.Update(w.t.Context(), fn))
}

func (w *world) add(t dag.NewTask) (id string) {
	w.t.Helper()
	w.update(func(g *dag.Graph) (err error) { id, err = g.Plan.Add(t); return err })
	return id
}

func (w *world) runs() string { return filepath.Join(w.root, ".ralph", "runs") }

// begin starts a run with its file of events.
func (w *world) begin(scope dag.Scope) {
	w.t.Helper()
	w.update(func(g *dag.Graph) (err error) {
		w.run, err = g.History.StartRun(scope, dag.Process{PID: 1})
		return err
	})
	dir := filepath.Join(w.runs(), w.run.ID)
	check.OK(w.t, os.MkdirAll(dir, 0o700))
	f, err := os.Create(filepath.Join(dir, "events.jsonl"))
	check.OK(w.t, err)
	w.t.Cleanup(func() { f.Close() })
	w.log, w.iter = f, 0
	w.event(event.Event{Type: event.RunStarted, Setup: &event.Setup{
		Scope: "everything", Agent: "claude", Model: "cost-optimized", Verify: "go vet ./...", Sandbox: "landlock: writes only below this folder",
	}})
}

func (w *world) event(e event.Event) {
	w.t.Helper()
	e.V, e.At, e.Run = event.Version, w.now, w.run.ID
	line, err := json.Marshal(e)
	check.OK(w.t, err)
	_, err = w.log.Write(append(line, '\n'))
	check.OK(w.t, err)
}

// try is one attempt as a test tells it.
type try struct {
	task   string // claimed must be this one
	took   time.Duration
	note   dag.Note
	gates  string // JSON
	guess  bool   // the cost is an estimate
	files  map[string]string
	notes  string
	fail   string // why the task fails; otherwise settle says what becomes of it, or it is done
	settle func(*dag.Graph, dag.Claim) error
	status dag.Status
}

// attempt claims the next task and plays an attempt at it; false means that nothing
// was ready.
func (w *world) attempt(a try) bool {
	w.t.Helper()
	w.iter++
	var claim dag.Claim
	claimed := false
	w.update(func(g *dag.Graph) error {
		c, ok, err := g.Queue.Claim(dag.ClaimOptions{Run: w.run, Scope: w.run.Scope, Lease: time.Hour, Iteration: w.iter})
		if err == nil && a.task != "" && c.Task.ID != a.task {
			return fmt.Errorf("claimed %q, want %s", c.Task.ID, a.task)
		}
		claim, claimed = c, ok
		return err
	})
	if !claimed {
		return false
	}
	began := w.now
	w.now = w.now.Add(a.took)
	switch {
	case a.fail != "":
		a.settle, a.status = func(g *dag.Graph, c dag.Claim) error { return g.Queue.Fail(c, a.fail) }, "failed"
	case a.settle == nil:
		a.settle, a.status = func(g *dag.Graph, c dag.Claim) error { return g.Queue.Complete(c, "skipped") }, "done"
	}
	dir := filepath.Join(w.runs(), w.run.ID, claim.Attempt)
	check.OK(w.t, os.MkdirAll(dir, 0o700))
	for name, text := range a.files {
		check.OK(w.t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	w.update(func(g *dag.Graph) error {
		if a.note.Agent != "" && a.note.Usage == nil {
			a.note.Usage = &event.Usage{Unknown: true}
		}
		if err := g.History.NoteAttempt(claim.Attempt, a.note); err != nil {
			return err
		}
		if a.gates != "" {
			if err := g.Tx().Exec(`UPDATE attempts SET gates = :gates WHERE id = :id;`, ":gates", a.gates, ":id", claim.Attempt); err != nil {
				return err
			}
		}
		if err := g.Tx().Exec(`UPDATE attempts SET cost_estimated = :guess WHERE id = :id;`, ":guess", a.guess, ":id", claim.Attempt); err != nil {
			return err
		}
		var used event.Usage
		if a.note.Usage != nil {
			used = event.Usage{CostUSD: a.note.Usage.CostUSD}
		}
		if err := a.settle(g, claim); err != nil {
			return err
		}
		return journal.Add(g.Tx(), journal.Entry{
			At: w.now, Run: w.run.ID, Attempt: claim.Attempt, Iteration: w.iter, Task: claim.Task.ID, Feature: claim.Task.Feature,
			Title: claim.Task.Title, Outcome: "done", Notes: a.notes, Duration: w.now.Sub(began), Usage: used,
		})
	})
	w.event(event.Event{Type: event.AttemptEnded, Attempt: claim.Attempt, Task: claim.Task.ID, Title: claim.Task.Title, Status: a.status})
	w.now = w.now.Add(time.Second)
	return true
}

// end ends the run.
func (w *world) end(outcome event.RunOutcome, reason string, counts event.Counts) {
	w.t.Helper()
	w.update(func(g *dag.Graph) error { return g.History.EndRun(w.run.ID, outcome, reason, w.iter) })
	w.event(event.Event{Type: event.RunEnded, Outcome: string(outcome), Counts: &counts})
}

func (w *world) load() report.Run {
	w.t.Helper()
	r, err := report.Load(w.t.Context(), w.store, report.Options{
		Root: w.root, Runs: w.runs(), Run: w.run.ID, Now: func() time.Time { return w.now }, Zone: time.UTC,
	})
	check.OK(w.t, err)
	return r
}

func ptr[T any](v T) *T { return &v }
