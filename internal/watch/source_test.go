package watch

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ralph/dag"
	"ralph/internal/db"
	"ralph/internal/testing/check"
)

// world is a project with a real database, and a second handle on it for what others do.
type world struct {
	*testing.T
	now   time.Time
	store *dag.Store // of another process, as it were
	dead  bool
	opts  Options
	src   *source
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, now: start}
	dir := t.TempDir()
	open := func() (*db.DB, *dag.Store) {
		d, err := db.Open(t.Context(), filepath.Join(dir, "progress.db"), db.Options{})
		check.OK(t, err)
		t.Cleanup(func() { _ = d.Close() })
		return d, dag.New(d, dag.Options{Now: func() time.Time { return w.now }})
	}
	_, w.store = open()
	mine, store := open()
	w.opts = Options{
		Store: store, Version: mine.Version, Intact: mine.Intact, Folder: filepath.Join(dir, "runs"), Now: func() time.Time { return w.now },
		Life: func(dag.Process) dag.Life {
			if w.dead {
				return dag.Dead
			}
			return dag.Alive
		},
	}
	w.src = &source{opts: w.opts}
	return w
}

func (w *world) update(fn func(*dag.Graph) error) {
	w.Helper()
	check.OK(w, w.store.Update(w.Context(), fn))
}

// poll wants news without an error.
func (w *world) poll(wish wish) news {
	w.Helper()
	n := w.src.poll(w.Context(), wish)
	if n.err != nil {
		w.Fatal(n.err)
	}
	return n
}

func (w *world) add(title string) (id string) {
	w.Helper()
	w.update(func(g *dag.Graph) (err error) { id, err = g.Add(dag.NewTask{Title: title}); return err })
	return id
}

// claim starts a run that takes the next task.
func (w *world) claim() (c dag.Claim, run dag.Run) {
	w.Helper()
	w.update(func(g *dag.Graph) (err error) {
		if run, err = g.StartRun(dag.Scope{}, dag.Process{PID: 1}); err != nil {
			return err
		}
		c, _, err = g.Claim(dag.ClaimOptions{Run: run, Lease: time.Hour, Iteration: 1})
		return err
	})
	return c, run
}

func (w *world) status(id string) (t dag.Task) {
	w.Helper()
	err := w.store.View(w.Context(), func(g *dag.Graph) (err error) { t, err = g.Task(id); return err })
	if err != nil {
		w.Fatal(err)
	}
	return t
}

// TestTheDatabaseIsReadWhenItChanged, and now and then because a run may have died.
func TestTheDatabaseIsReadWhenItChanged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if n := w.poll(wish{}); n.snap == nil || n.snap.state != none || len(n.snap.tasks) != 0 {
		t.Fatalf("got %+v, want an empty project", n.snap)
	}
	if n := w.poll(wish{}); n.snap != nil {
		t.Error("it was read again though nothing changed")
	}
	id := w.add("one")
	if n := w.poll(wish{}); n.snap == nil || len(n.snap.tasks) != 1 || n.snap.tally.Ready != 1 {
		t.Errorf("got %+v, want the new task", n.snap)
	}
	if n := w.poll(wish{task: id}); n.snap == nil || n.detail == nil || n.detail.task != id {
		t.Errorf("got %+v, want the task that is looked at", n.detail)
	}
	_, run := w.claim()
	n := w.poll(wish{task: id})
	if n.snap.state != running || n.snap.run.ID != run.ID || len(n.snap.attempts) != 1 || n.snap.attempts[0].Task != id {
		t.Errorf("got %+v, want the run with its attempt", n.snap)
	}
	w.dead = true
	if n := w.poll(wish{task: id}); n.snap != nil {
		t.Error("it was read again though nothing changed")
	}
	w.now = w.now.Add(refresh)
	if n := w.poll(wish{task: id}); n.snap == nil || n.snap.state != died || len(n.snap.attempts) != 0 {
		t.Errorf("got %+v, want to learn that the run died", n.snap)
	}
	w.update(func(g *dag.Graph) error { return g.EndRun(run.ID, "died", "", 0) })
	if n := w.poll(wish{task: id}); n.snap.state != ended {
		t.Errorf("got %s, want ended", n.snap.state)
	}
	w.update(func(g *dag.Graph) error { return g.Delete(id) })
	if n := w.poll(wish{task: id}); n.snap == nil || len(n.snap.tasks) != 0 || n.detail != nil {
		t.Errorf("got %+v, %+v, want no task any more", n.snap, n.detail)
	}
}

// TestTheNewestAttemptIsFollowed from one attempt to the next, and in what ralph does.
func TestTheNewestAttemptIsFollowed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.add("one")
	c, run := w.claim()
	said := func(attempt, text string) {
		quoted, _ := json.Marshal(text)
		line := fmt.Sprintf(`{"at":"2026-01-02T03:04:05Z","dir":"in","msg":{"method":"session/update","params":{"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":%s}}}}}`, quoted)
		w.append(filepath.Join(run.ID, attempt, "transcript.jsonl"), line)
	}
	stream := func() string { t.Helper(); return strings.Join(w.poll(wish{task: id}).stream.lines, "\n") }
	if got := stream(); got != "" {
		t.Errorf("got %q before anything was said", got)
	}
	said(c.Attempt, "Hello \x1b[31mred\u202e.\nI th")
	check.Equal(t, "result", "  says    Hello red.\n          I th", stream())
	said(c.Attempt, "ink.\n")
	check.Equal(t, "result", "  says    Hello red.\n          I think.", stream())
	w.append(filepath.Join(run.ID, "events.jsonl"), fmt.Sprintf(`{"v":1,"type":"gate_started","attempt":%q,"gate":{"command":"go test"}}`, c.Attempt))
	if n := w.poll(wish{task: id}); n.doing[c.Attempt] != "gate go test" {
		t.Errorf("got %v, want the gate", n.doing)
	}
	w.append(filepath.Join(run.ID, "events.jsonl"), fmt.Sprintf(`{"v":1,"type":"gate_ended","attempt":%q}`, c.Attempt))
	if n := w.poll(wish{task: id}); n.doing[c.Attempt] != "" {
		t.Errorf("got %v, want no gate", n.doing)
	}
	w.update(func(g *dag.Graph) error { return g.Release(c, dag.Release{}) })
	var again dag.Claim
	w.update(func(g *dag.Graph) (err error) {
		again, _, err = g.Claim(dag.ClaimOptions{Run: run, Lease: time.Hour, Iteration: 2})
		return err
	})
	said(again.Attempt, "Again.\n")
	if got := stream(); got != "  says    Again." {
		t.Errorf("got %q, want the second attempt only", got)
	}
	if n := w.poll(wish{}); len(n.stream.lines) != 0 {
		t.Errorf("got %q, want nothing of no task", n.stream.lines)
	}
}

func (w *world) append(name, line string) {
	w.Helper()
	path := filepath.Join(w.opts.Folder, name)
	check.OK(w, os.MkdirAll(filepath.Dir(path), 0o700))
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	check.OK(w, err)
	defer f.Close()
	if _, err := fmt.Fprintln(f, line); err != nil {
		w.Fatal(err)
	}
}

// TestAFloodIsShownInBoundedMemory: what an attempt said is kept up to a number of
// lines of a bounded length.
func TestAFloodIsShownInBoundedMemory(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.add("one")
	c, run := w.claim()
	w.poll(wish{task: id})
	var n news
	for part := range 8 { // each more than is read at a time
		var b strings.Builder
		for i := range 25_000 {
			fmt.Fprintf(&b, `{"dir":"in","msg":{"method":"session/update","params":{"update":{"sessionUpdate":"agent_message_chunk","content":{"text":"word %d\n"}}}}}`+"\n", part*25_000+i)
		}
		w.append(filepath.Join(run.ID, c.Attempt, "transcript.jsonl"), b.String())
		n = w.poll(wish{task: id})
	}
	if got := n.stream.lines[len(n.stream.lines)-1]; !strings.Contains(got, "word 199999") {
		t.Errorf("got %q, want the newest at the end", got)
	}
	if len(n.stream.lines) > keptLines || !n.stream.left {
		t.Errorf("kept %d lines, and says that some were left out: %v", len(n.stream.lines), n.stream.left)
	}
	w.append(filepath.Join(run.ID, c.Attempt, "transcript.jsonl"), `{"raw":"`+strings.Repeat("x", 1<<18)+`"}`)
	for _, l := range w.poll(wish{task: id}).stream.lines {
		if len(l) > 2*keptColumn {
			t.Fatalf("a line of %d bytes", len(l))
		}
	}
}

func TestALostDatabaseIsTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.src.opts.Intact = func() bool { return false }
	if n := w.src.poll(t.Context(), wish{}); n.err == nil || !strings.Contains(n.err.Error(), "gone") {
		t.Errorf("got %v", n.err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w.src.opts.Intact = nil
	if n := w.src.poll(ctx, wish{}); n.err == nil {
		t.Error("it cannot have been read")
	}
}

// TestDeeds: what keys ask for happens in the database.
func TestDeeds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.add("one")
	task := dag.Outline{ID: id}
	do := func(d deed, want string) {
		t.Helper()
		if got := act(t.Context(), w.opts, d); got.err != nil || !strings.Contains(got.text, want) {
			t.Errorf("got %q, %v, want %q", got.text, got.err, want)
		}
	}
	do(deed{verb: pauseOrResume}, "paused")
	if n := w.poll(wish{}); n.snap.paused.IsZero() {
		t.Error("it is not paused")
	}
	do(deed{verb: pauseOrResume}, "resumed")
	do(deed{verb: hold, task: task}, "paused")
	if !w.status(id).Paused {
		t.Error("the task is not paused")
	}
	do(deed{verb: hold, task: task}, "resumed")
	do(deed{verb: stopAfter}, "nothing is running")
	c, run := w.claim()
	do(deed{verb: stopAfter}, run.ID+" ends after its current task")
	if n := w.poll(wish{reread: true}); n.snap.state != stopping {
		t.Errorf("got %s, want stopping", n.snap.state)
	}
	do(deed{verb: stopNow}, run.ID+" ends now")
	do(deed{verb: guide, task: task, text: " use the window \n"}, "noted")
	if n := w.poll(wish{task: id}); n.detail.wish != "use the window" {
		t.Errorf("got %q", n.detail.wish)
	}
	do(deed{verb: skip, task: task}, "skipped") // it is taken from its agent
	if got := w.status(id); got.Status != dag.Blocked || got.Leaving != c.Attempt {
		t.Errorf("got %s, leaving %q", got.Status, got.Leaving)
	}
	do(deed{verb: skip, task: task}, "unblocked")
	w.update(func(g *dag.Graph) error { return g.GiveUp(id, "") })
	do(deed{verb: guide, task: task, text: "again"}, "noted: whoever tries "+id+" again reads it; r lets it be tried")
	do(deed{verb: retry, task: task}, "reset")
	if got := w.status(id).Status; got != dag.Pending {
		t.Errorf("got %s, want pending", got)
	}
	w.update(func(g *dag.Graph) error { return g.Finish(id) })
	if got := act(t.Context(), w.opts, deed{verb: guide, task: task, text: "too late"}); got.err == nil || !strings.Contains(got.err.Error(), id+" is done: no agent would read it") {
		t.Errorf("got %+v, want it refused: it was done meanwhile", got)
	}
	if got := act(t.Context(), w.opts, deed{verb: retry, task: dag.Outline{ID: "t-none"}}); got.err == nil {
		t.Error("a task that is gone was reset")
	}
}

// TestRetryingAGroupRetriesWhatFailedInIt.
func TestRetryingAGroupRetriesWhatFailedInIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	group := w.add("group")
	var ids []string
	for range 3 {
		w.update(func(g *dag.Graph) error {
			id, err := g.Add(dag.NewTask{Title: "below", Parent: group})
			ids = append(ids, id)
			return err
		})
	}
	task := dag.Outline{ID: group, Children: 3}
	for _, want := range []string{"nothing failed in " + group, "1 failed task reset"} {
		if got := act(t.Context(), w.opts, deed{verb: retry, task: task}); got.err != nil || !strings.Contains(got.text, want) {
			t.Errorf("got %q, %v, want %q", got.text, got.err, want)
		}
		w.update(func(g *dag.Graph) error { return g.GiveUp(ids[0], "") })
	}
}
