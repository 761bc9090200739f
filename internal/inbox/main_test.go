package inbox_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ralph/dag"
	"ralph/internal/db"
	"ralph/internal/inbox"
	"ralph/internal/provenance"
	"ralph/internal/testing/check"
	_ "ralph/internal/testing/seeded"
)

// TestMain is also the main of processes that answer.
func TestMain(m *testing.M) {
	if path := os.Getenv("RALPH_TEST_ANSWER"); path != "" {
		if err := answerIn(path, os.Getenv("RALPH_TEST_WHO")); err != nil {
			fmt.Println(err)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// answerIn answers the only question as soon as something is written to it.
func answerIn(path, who string) error {
	ctx := context.Background()
	d, err := db.Open(ctx, path, db.Options{BusyTimeout: time.Minute})
	if err != nil {
		return err
	}
	defer d.Close()
	fmt.Println("ready")
	_, _ = io.ReadFull(os.Stdin, make([]byte, 1))
	return dag.New(d, dag.Options{}).As(dag.Actor{Who: who, Via: "test"}).Update(ctx, func(g *dag.Graph) error {
		list, err := inbox.Last(g, 1)
		if err == nil {
			_, err = inbox.Answer(g, trustAt(path), list[0].ID, inbox.Reply{Text: "by " + who})
		}
		return err
	})
}

// world is a graph on a real file, with a clock that only the test moves.
type world struct {
	t     check.TB
	ctx   context.Context
	path  string
	store *dag.Store
	run   dag.Run
	trust provenance.Store
	close func()

	mu  sync.Mutex
	now time.Time
	seq int
}

var start = time.Date(2026, 1, 2, 23, 0, 0, 0, time.UTC)

func newWorld(t *testing.T) *world {
	t.Helper()
	w := openWorld(t.Context(), t, filepath.Join(t.TempDir(), "progress.db"))
	t.Cleanup(w.close)
	return w
}

func openWorld(ctx context.Context, t check.TB, path string) *world {
	t.Helper()
	check.OK(t, os.WriteFile(path, emptyFile(), 0o600))
	d, err := db.Open(ctx, path, db.Options{})
	check.OK(t, err)
	w := &world{t: t, ctx: ctx, path: path, trust: trustAt(path), now: start, close: func() { check.OK(t, d.Close()) }}
	w.store = dag.New(d, dag.Options{
		Now: func() time.Time { w.mu.Lock(); defer w.mu.Unlock(); return w.now },
		NewID: func(prefix string) string {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.seq++
			return fmt.Sprintf("%s%08x", prefix, w.seq)
		},
		Redact: func(s string) string { return strings.ReplaceAll(s, "hunter2", "•••") },
	}).As(dag.Actor{Who: "ann", Via: "test", Action: "answer"})
	w.update(func(g *dag.Graph) (err error) {
		w.run, err = g.History.StartRun(dag.Scope{}, dag.Process{PID: 1})
		return err
	})
	return w
}

// trustAt is where the answers to the questions in a database are sealed.
func trustAt(path string) provenance.Store { return provenance.Store{Dir: path + "-trust"} }

// emptyFile is copied, which is faster than migrating each time.
var emptyFile = sync.OnceValue(func() []byte {
	dir, err := os.MkdirTemp("", "ralph-inbox-")
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "progress.db")
	d, opened := db.Open(context.Background(), path, db.Options{})
	if err = errors.Join(err, opened); err == nil {
		err = d.Close()
	}
	content, read := os.ReadFile(path)
	if err = errors.Join(err, read); err != nil {
		panic(err)
	}
	return content
})

func (w *world) pass(d time.Duration) { w.mu.Lock(); defer w.mu.Unlock(); w.now = w.now.Add(d) }

func (w *world) try(fn func(*dag.Graph) error) error { return w.store.Update(w.ctx, fn) }

func (w *world) update(fn func(*dag.Graph) error) {
	w.t.Helper()
	check.OK(w.t, w.try(fn))
}

// get reads one thing.
func get[T any](w *world, read func(*dag.Graph) (T, error)) (got T) {
	w.t.Helper()
	check.OK(w.t, w.store.View(w.ctx, func(g *dag.Graph) (err error) { got, err = read(g); return err }))
	return got
}

func (w *world) add(title string) (id string) {
	w.t.Helper()
	w.update(func(g *dag.Graph) (err error) {
		id, err = g.Plan.Add(dag.NewTask{Detail: dag.Detail{Title: title}})
		return err
	})
	return id
}

func (w *world) claim(task string) dag.Claim {
	w.t.Helper()
	c, ok := w.tryClaim(task)
	check.That(w.t, ok, "%s could not be claimed", task)
	return c
}

func (w *world) tryClaim(task string) (c dag.Claim, ok bool) {
	w.t.Helper()
	w.update(func(g *dag.Graph) (err error) {
		c, ok, err = g.Queue.Claim(dag.ClaimOptions{Run: w.run, Scope: dag.Scope{Task: task}, Lease: time.Minute})
		return err
	})
	return c, ok
}

func (w *world) ask(c dag.Claim, r inbox.Request) (got inbox.Request) {
	w.t.Helper()
	w.update(func(g *dag.Graph) (err error) { got, err = inbox.Ask(g, w.trust, c, r); return err })
	return got
}

func (w *world) answer(id string, a inbox.Reply) error {
	return w.try(func(g *dag.Graph) error { _, err := inbox.Answer(g, w.trust, id, a); return err })
}

func (w *world) release(c dag.Claim) {
	w.t.Helper()
	w.update(func(g *dag.Graph) error { return g.Queue.Release(c, dag.Release{Uncounted: true}) })
}

func (w *world) task(id string) dag.Task {
	w.t.Helper()
	return get(w, func(g *dag.Graph) (dag.Task, error) { return g.Tasks.Get(id) })
}

func (w *world) request(id string) inbox.Request {
	w.t.Helper()
	return get(w, func(g *dag.Graph) (inbox.Request, error) { return inbox.Get(g, id) })
}

// sound fails the test if anything derived is wrong.
func (w *world) sound() {
	w.t.Helper()
	check.Equal(w.t, "faults", []dag.Fault(nil), get(w, (*dag.Graph).Verify))
}

func question(text string, options ...string) inbox.Request {
	return inbox.Request{Kind: inbox.Question, Text: text, Options: options, Parks: true}
}

// answering starts a process that answers when it is told to.
func answering(t *testing.T, path, who string) (goOn func(), said func() string) {
	t.Helper()
	exe, err := os.Executable()
	check.OK(t, err)
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), "RALPH_TEST_ANSWER="+path, "RALPH_TEST_WHO="+who)
	in, err := cmd.StdinPipe()
	check.OK(t, err)
	out, err := cmd.StdoutPipe()
	check.OK(t, err)
	check.OK(t, cmd.Start())
	_, err = io.ReadFull(out, make([]byte, len("ready\n")))
	check.OK(t, err)
	return func() { _ = in.Close() }, func() string {
		rest, err := io.ReadAll(out)
		check.OK(t, errors.Join(err, cmd.Wait()))
		return strings.TrimSpace(string(rest))
	}
}
