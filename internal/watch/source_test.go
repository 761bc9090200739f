package watch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ralph/dag"
	"ralph/internal/db"
	"ralph/internal/inbox"
	"ralph/internal/provenance"
	"ralph/internal/testing/check"
	"ralph/internal/testing/emptydb"
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
	emptydb.Write(t, filepath.Join(dir, "progress.db"))
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
	check.OK(w, n.err)
	return n
}

func (w *world) add(title string) (id string) {
	w.Helper()
	w.update(func(g *dag.Graph) (err error) {
		id, err = g.Plan.Add(dag.NewTask{Detail: dag.Detail{Title: title}})
		return err
	})
	return id
}

// claim starts a run that takes the next task.
func (w *world) claim() (c dag.Claim, run dag.Run) {
	w.Helper()
	w.update(func(g *dag.Graph) (err error) {
		if run, err = g.History.StartRun(dag.Scope{}, dag.Process{PID: 1}); err != nil {
			return err
		}
		c, _, err = g.Queue.Claim(dag.ClaimOptions{Run: run, Lease: time.Hour, Iteration: 1})
		return err
	})
	return c, run
}

// TestTheDatabaseIsReadWhenItChanged, and now and then because a run may have died.
func TestTheDatabaseIsReadWhenItChanged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := w.poll(wish{})
	check.That(t, n.snap != nil && n.snap.state == none && len(n.snap.tasks) == 0, "got %+v, want an empty project", n.snap)
	check.That(t, w.poll(wish{}).snap == nil, "it was read again though nothing changed")
	id := w.add("one")
	n = w.poll(wish{})
	check.That(t, n.snap != nil && len(n.snap.tasks) == 1 && n.snap.tally.Ready == 1, "got %+v, want the new task", n.snap)
	n = w.poll(wish{task: id})
	check.That(t, n.snap != nil && n.detail != nil && n.detail.task == id, "got %+v, want the task that is looked at", n.detail)
	_, run := w.claim()
	n = w.poll(wish{task: id})
	check.Equal(t, "state", running, n.snap.state)
	check.That(t, n.snap.run.ID == run.ID && len(n.snap.attempts) == 1 && n.snap.attempts[0].Task == id, "got %+v, want the run with its attempt", n.snap)
	w.dead = true
	check.That(t, w.poll(wish{task: id}).snap == nil, "it was read again though nothing changed")
	w.now = w.now.Add(refresh)
	n = w.poll(wish{task: id})
	check.That(t, n.snap != nil && n.snap.state == died && len(n.snap.attempts) == 0, "got %+v, want to learn that the run died", n.snap)
	w.update(func(g *dag.Graph) error { return g.History.EndRun(run.ID, "died", "", 0) })
	check.Equal(t, "state", ended, w.poll(wish{task: id}).snap.state)
	w.update(func(g *dag.Graph) error { return g.Plan.Delete(id) })
	n = w.poll(wish{task: id})
	check.That(t, n.snap != nil && len(n.snap.tasks) == 0 && n.detail == nil, "got %+v, %+v, want no task any more", n.snap, n.detail)
}

// TestWhatBecameOfAQuestionIsLearned by whoever looks at it; nobody else sees it any more.
func TestWhatBecameOfAQuestionIsLearned(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.add("one")
	c, _ := w.claim()
	var asked []inbox.Request
	w.update(func(g *dag.Graph) error {
		for _, text := range []string{"first?", "second?", "third?"} {
			r, err := inbox.Ask(g, provenance.Store{}, c, inbox.Request{Kind: inbox.Question, Text: text, Parks: true})
			if err != nil {
				return err
			}
			asked = append(asked, r)
		}
		return nil
	})
	states := func(looked string) (list []inbox.State) {
		t.Helper()
		for _, r := range w.poll(wish{request: looked}).snap.questions {
			list = append(list, r.State)
		}
		return list
	}
	second := asked[1].ID
	check.Equal(t, "before", []inbox.State{inbox.Open, inbox.Open, inbox.Open}, states(""))
	w.update(func(g *dag.Graph) error {
		_, err := inbox.Answer(g, provenance.Store{Dir: t.TempDir()}, second, inbox.Reply{Text: "yes"})
		return err
	})
	check.Equal(t, "for who looks at it", []inbox.State{inbox.Open, inbox.Answered, inbox.Open}, states(second))
	check.Equal(t, "for who looks elsewhere", []inbox.State{inbox.Open, inbox.Open}, states(asked[0].ID))
	w.update(func(g *dag.Graph) error { return g.Tasks.Reset(c.Task.ID) })
	check.Equal(t, "after the task was reset", []inbox.State{inbox.Withdrawn}, states(asked[0].ID))
	check.Equal(t, "one that never was", []inbox.State(nil), states("q-none"))
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
	check.Equal(t, "before anything was said", "", stream())
	said(c.Attempt, "Hello \x1b[31mred\u202e.\nI th")
	check.Equal(t, "result", "  says    Hello red.\n          I th", stream())
	said(c.Attempt, "ink.\n")
	check.Equal(t, "result", "  says    Hello red.\n          I think.", stream())
	w.append(filepath.Join(run.ID, "events.jsonl"), fmt.Sprintf(`{"v":1,"type":"gate_started","attempt":%q,"gate":{"command":"go test"}}`, c.Attempt))
	check.Equal(t, "doing", "gate go test", w.poll(wish{task: id}).doing[c.Attempt])
	w.append(filepath.Join(run.ID, "events.jsonl"), fmt.Sprintf(`{"v":1,"type":"gate_ended","attempt":%q}`, c.Attempt))
	check.Equal(t, "doing", "", w.poll(wish{task: id}).doing[c.Attempt])
	w.update(func(g *dag.Graph) error { return g.Queue.Release(c, dag.Release{}) })
	var again dag.Claim
	w.update(func(g *dag.Graph) (err error) {
		again, _, err = g.Queue.Claim(dag.ClaimOptions{Run: run, Lease: time.Hour, Iteration: 2})
		return err
	})
	said(again.Attempt, "Again.\n")
	check.Equal(t, "the second attempt", "  says    Again.", stream())
	check.Equal(t, "lines of no task", 0, len(w.poll(wish{}).stream.lines))
}

func (w *world) append(name, line string) {
	w.Helper()
	path := filepath.Join(w.opts.Folder, name)
	check.OK(w, os.MkdirAll(filepath.Dir(path), 0o700))
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	check.OK(w, err)
	defer f.Close()
	_, err = fmt.Fprintln(f, line)
	check.OK(w, err)
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
	kept := len(n.stream.lines)
	check.Contains(t, "the end", "word 199999", n.stream.lines[kept-1])
	check.That(t, kept <= keptLines && n.stream.left, "kept %d lines, and says that some were left out: %v", kept, n.stream.left)
	w.append(filepath.Join(run.ID, c.Attempt, "transcript.jsonl"), `{"raw":"`+strings.Repeat("x", 1<<18)+`"}`)
	for _, l := range w.poll(wish{task: id}).stream.lines {
		check.That(t, len(l) <= 2*keptColumn, "a line of %d bytes", len(l))
	}
}

func TestALostDatabaseIsReported(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.src.opts.Intact = func() bool { return false }
	check.Contains(t, "the error", "gone", fmt.Sprint(w.src.poll(t.Context(), wish{}).err))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w.src.opts.Intact = func() bool { return true }
	check.That(t, w.src.poll(ctx, wish{}).err != nil, "it cannot have been read")
}

// TestDeeds: keys are commands, by what is stored and not by what was on the screen.
func TestDeeds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.add("one")
	task := dag.Outline{ID: id}
	group := w.add("group")
	w.update(func(g *dag.Graph) error {
		_, err := g.Plan.Add(dag.NewTask{Detail: dag.Detail{Title: "below"}, Parent: group})
		return err
	})
	var typed string
	w.opts.Command = func(_ context.Context, stdin string, args ...string) (string, error) {
		typed = strings.TrimSuffix(strings.Join(args, " ")+" < "+stdin, " < ")
		return "said", nil
	}
	do := func(d deed, want string) {
		t.Helper()
		typed = ""
		got := act(t.Context(), w.opts, d)
		if got.err != nil {
			typed = got.err.Error()
		}
		check.Equal(t, "command", want, typed)
	}
	do(deed{verb: pauseOrResume}, "pause")
	w.update(func(g *dag.Graph) error { _, err := g.Queue.PauseAll(); return err })
	do(deed{verb: pauseOrResume}, "resume")
	do(deed{verb: hold, task: task}, "pause "+id)
	w.update(func(g *dag.Graph) error { return g.Tasks.Pause(id) })
	do(deed{verb: hold, task: task}, "resume "+id)
	do(deed{verb: stopAfter}, "stop")
	w.opts.Run = "r-1"
	do(deed{verb: stopNow}, "stop --now --run=r-1")
	do(deed{verb: end, task: task}, "stop "+id)
	do(deed{verb: guide, task: task, text: " -use @the window \n"}, "task log --message=- "+id+" < -use @the window")
	do(deed{verb: guide, task: dag.Outline{ID: group}, text: "x"}, group+" is a group, which no agent works on: guide a task in it")
	do(deed{verb: retry, task: task}, "task reset "+id)
	do(deed{verb: retry, task: dag.Outline{ID: group}}, "task reset --failed "+group)
	do(deed{verb: retry, task: dag.Outline{ID: "t-none"}}, "task t-none: not found")
	do(deed{verb: skip, task: task}, "task block --now --reason=skipped in ralph watch "+id)
	w.update(func(g *dag.Graph) error { return errors.Join(g.Tasks.Resume(id), g.Tasks.Block(id, "")) })
	do(deed{verb: skip, task: task}, "task unblock "+id)
	w.update(func(g *dag.Graph) error { return g.Tasks.Finish(id) })
	do(deed{verb: guide, task: task, text: "too late"}, id+" is done: no agent would read it; r resets it")
	do(deed{verb: answer, request: "q-1", reply: inbox.Reply{Option: 2}}, "inbox answer q-1 --option=2")
	do(deed{verb: answer, request: "q-1", reply: inbox.Reply{Text: "-"}}, "inbox answer q-1 - < -")
	do(deed{verb: answer, request: "q-1", reply: inbox.Reply{Denied: true}}, "inbox answer q-1 --deny")
	do(deed{verb: answer, request: "q-1", reply: inbox.Reply{Denied: true, Text: "old"}}, "inbox answer q-1 --deny - < old")
	do(deed{verb: answer, request: "q-1", secret: true, reply: inbox.Reply{Text: "s3cret"}}, "inbox answer q-1 --credential - < s3cret")
}
