package dag_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"ralph/dag"
	"ralph/internal/db"
	"ralph/internal/testing/check"
	"ralph/internal/testing/emptydb"
)

// world is a graph on a real file, with a clock that only the test moves.
type world struct {
	t     check.TB
	ctx   context.Context
	path  string
	db    *db.DB
	store *dag.Store
	run   dag.Run
	ids   map[string]string // by the title that the test gave

	mu  sync.Mutex
	now time.Time
	seq int
}

var start = time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC)

const lease = time.Minute

func newWorld(t *testing.T) *world {
	t.Helper()
	w := openWorld(t.Context(), t, filepath.Join(t.TempDir(), "progress.db"))
	t.Cleanup(w.close)
	return w
}

// openWorld makes a world on a new file.
func openWorld(ctx context.Context, t check.TB, path string) *world {
	t.Helper()
	emptydb.Write(t, path)
	d, err := dag.Open(ctx, path, db.Options{})
	check.OK(t, err)
	w := &world{t: t, ctx: ctx, path: path, db: d, now: start, ids: map[string]string{}}
	w.store = dag.New(d, dag.Options{Now: w.clock, NewID: w.newID})
	w.update(func(g *dag.Graph) (err error) {
		w.run, err = g.History.StartRun(dag.Scope{}, dag.Process{PID: 1})
		return err
	})
	return w
}

func (w *world) close() { check.OK(w.t, w.db.Close()) }

func (w *world) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *world) pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

func (w *world) newID(prefix string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seq++
	return fmt.Sprintf("%s%08x", prefix, w.seq)
}

// try runs fn in one write transaction and hands its error back.
func (w *world) try(fn func(*dag.Graph) error) error { return w.store.Update(w.ctx, fn) }

// update is try for what must succeed.
func (w *world) update(fn func(*dag.Graph) error) {
	w.t.Helper()
	check.OK(w.t, w.try(fn))
}

func (w *world) view(fn func(*dag.Graph) error) {
	w.t.Helper()
	check.OK(w.t, w.store.View(w.ctx, fn))
}

// get reads one thing from the graph.
func get[T any](w *world, read func(*dag.Graph) (T, error)) (got T) {
	w.t.Helper()
	w.view(func(g *dag.Graph) (err error) { got, err = read(g); return err })
	return got
}

// refused tries what must be refused with that error and must change nothing.
func (w *world) refused(want error, fn func(*dag.Graph) error) error {
	w.t.Helper()
	before := w.dump()
	err := w.try(fn)
	check.That(w.t, errors.Is(err, want), "got %v, want %v", err, want)
	check.Equal(w.t, "what a refusal leaves", before, w.dump())
	return err
}

// plan adds one task per line: "title [in parent] [after a,b] [prio 3] [feature f]".
func (w *world) plan(lines ...string) {
	w.t.Helper()
	for _, line := range lines {
		words := strings.Fields(line)
		nt := dag.NewTask{Detail: dag.Detail{Title: words[0]}}
		for i := 1; i+1 < len(words); i += 2 {
			switch word := words[i+1]; words[i] {
			case "in":
				nt.Parent = w.id(word)
			case "after":
				for _, name := range strings.Split(word, ",") {
					nt.After = append(nt.After, w.id(name))
				}
			case "prio":
				nt.Priority, _ = strconv.ParseInt(word, 10, 64)
			case "feature":
				nt.Feature = word
			}
		}
		w.add(nt)
	}
}

func (w *world) add(nt dag.NewTask) string {
	w.t.Helper()
	var id string
	w.update(func(g *dag.Graph) (err error) {
		if _, ferr := g.Plan.Feature(nt.Feature); nt.Feature != "" && ferr != nil {
			if _, err := g.Plan.AddFeature(nt.Feature); err != nil {
				return err
			}
		}
		id, err = g.Plan.Add(nt)
		return err
	})
	w.ids[nt.Title] = id
	return id
}

// id is the ID of the task with that title; an ID is its own.
func (w *world) id(title string) string {
	if id, ok := w.ids[title]; ok {
		return id
	}
	return title
}

func (w *world) task(title string) dag.Task {
	w.t.Helper()
	return get(w, func(g *dag.Graph) (dag.Task, error) { return g.Tasks.Get(w.id(title)) })
}

// wantStatuses compares the statuses of the titled tasks.
func (w *world) wantStatuses(want map[string]dag.Status) {
	w.t.Helper()
	got := map[string]dag.Status{}
	for title := range want {
		got[title] = w.task(title).Status
	}
	check.Equal(w.t, "statuses", want, got)
}

// wantReady compares the titles of what is ready, in the order of claims.
func (w *world) wantReady(want ...string) {
	w.t.Helper()
	check.Equal(w.t, "ready", want, w.list(dag.Filter{Ready: true}))
}

// list is the titles of what the filter lets pass.
func (w *world) list(f dag.Filter) (titles []string) {
	w.t.Helper()
	for _, t := range get(w, func(g *dag.Graph) ([]dag.Task, error) { return g.Tasks.List(f) }) {
		titles = append(titles, t.Title)
	}
	return titles
}

func (w *world) wantFeature(name string, want dag.FeatureStatus) {
	w.t.Helper()
	f := get(w, func(g *dag.Graph) (dag.Feature, error) { return g.Plan.Feature(name) })
	check.Equal(w.t, "status of feature "+name, want, f.Status)
}

// take claims the next task of a scope, which must be the one with that title.
func (w *world) take(title string, opts dag.ClaimOptions) dag.Claim {
	w.t.Helper()
	c, ok := w.next(opts)
	if !ok || c.Task.Title != title {
		w.t.Fatalf("claim: got %q, %v, want %q", c.Task.Title, ok, title)
	}
	return c
}

func (w *world) next(opts dag.ClaimOptions) (c dag.Claim, ok bool) {
	w.t.Helper()
	opts.Run = w.run
	if opts.Lease == 0 {
		opts.Lease = lease
	}
	w.update(func(g *dag.Graph) (err error) { c, ok, err = g.Queue.Claim(opts); return err })
	return c, ok
}

// claim claims just that task, even below a failed ancestor.
func (w *world) claim(title string) dag.Claim {
	w.t.Helper()
	return w.take(title, dag.ClaimOptions{Scope: dag.Scope{Task: w.id(title)}, KeepGoing: true})
}

// work claims the task and completes it.
func (w *world) work(title string) {
	w.t.Helper()
	c := w.claim(title)
	w.update(func(g *dag.Graph) error { return g.Queue.Complete(c, "passed") })
}

// spoil claims the task and fails it.
func (w *world) spoil(title string) {
	w.t.Helper()
	c := w.claim(title)
	w.update(func(g *dag.Graph) error { return g.Queue.Fail(c, "it broke") })
}

// person does one of the verbs of people to a task.
func (w *world) person(verb func(*dag.Graph, string) error, title string) {
	w.t.Helper()
	w.update(func(g *dag.Graph) error { return verb(g, w.id(title)) })
	w.leave()
}

// leave lets the agents go that people took tasks from.
func (w *world) leave() {
	w.t.Helper()
	for attempt := range get(w, func(g *dag.Graph) (map[string]string, error) { return g.Queue.Leaving() }) {
		w.update(func(g *dag.Graph) error { return g.Queue.Left(attempt) })
	}
}

var (
	finish    = func(g *dag.Graph, id string) error { return g.Tasks.Finish(id) }
	reset     = func(g *dag.Graph, id string) error { return g.Tasks.Reset(id) }
	unblock   = func(g *dag.Graph, id string) error { return g.Tasks.Unblock(id) }
	remove    = func(g *dag.Graph, id string) error { return g.Plan.Delete(id) }
	giveUp    = func(g *dag.Graph, id string) error { return g.Tasks.GiveUp(id, "") }
	cancel    = func(g *dag.Graph, id string) error { return g.Tasks.Cancel(id, false, "") }
	block     = func(g *dag.Graph, id string) error { return g.Tasks.Block(id, "") }
	resetTree = func(g *dag.Graph, id string) error { _, err := g.Tasks.ResetTree(id); return err }
)

// wantTally compares how many tasks and groups have each status.
func (w *world) wantTally(tasks, groups map[dag.Status]int) {
	w.t.Helper()
	got := get(w, func(g *dag.Graph) (dag.Tally, error) { return g.Tasks.Tally(dag.Scope{}) })
	check.Equal(w.t, "tally", [2]map[dag.Status]int{tasks, groups}, [2]map[dag.Status]int{got.ByStatus, got.Groups}, cmpopts.EquateEmpty())
}

// importMany imports a plan of so many tasks, each changed by then, and returns it with their IDs.
func (w *world) importMany(n int, then func(specs []dag.Spec, i int)) ([]dag.Spec, []string) {
	w.t.Helper()
	specs := make([]dag.Spec, n)
	for i := range specs {
		specs[i] = dag.Spec{Line: i + 1, Ref: fmt.Sprintf("t-%08d", i), Detail: dag.Detail{Title: fmt.Sprint("task ", i)}}
		then(specs, i)
	}
	var ids []string
	w.update(func(g *dag.Graph) (err error) { ids, err = g.Plan.Import(specs); return err })
	return specs, ids
}

// checkWorlds draws worlds and holds each to what fn says.
func checkWorlds(t *testing.T, fn func(*rapid.T, *world)) {
	dir := t.TempDir()
	var files atomic.Int64
	rapid.Check(t, func(rt *rapid.T) {
		w := openWorld(t.Context(), rt, filepath.Join(dir, fmt.Sprint(files.Add(1))))
		defer w.close()
		fn(rt, w)
	})
}

// sound fails the test if anything derived or stored is wrong.
func (w *world) sound() {
	w.t.Helper()
	check.Equal(w.t, "faults", []dag.Fault(nil), append(get(w, (*dag.Graph).Verify), get(w, (*dag.Graph).Integrity)...))
}

// dump is every row of every table, to show that nothing changed.
func (w *world) dump() map[string][]string {
	w.t.Helper()
	all := map[string][]string{}
	w.view(func(g *dag.Graph) error {
		for table, query := range map[string]string{
			"tasks": "SELECT * FROM tasks;", "dependencies": "SELECT * FROM dependencies;",
			"features": "SELECT * FROM features;", "runs": "SELECT * FROM runs;",
			"attempts": "SELECT * FROM attempts;", "task_logs": "SELECT * FROM task_logs;",
			"merges": "SELECT * FROM merges;", "locks": "SELECT * FROM locks;",
			"requests": "SELECT * FROM requests;", "audit": "SELECT * FROM audit;",
		} {
			for r := range g.Tx().Rows(query) {
				var b strings.Builder
				for i := range r.ColumnCount() {
					fmt.Fprintf(&b, "%s=%s ", r.ColumnName(i), r.Text())
				}
				all[table] = append(all[table], b.String())
			}
		}
		return nil
	})
	return all
}
