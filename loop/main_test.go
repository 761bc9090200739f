package loop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ralph/acp"
	"ralph/dag"
	"ralph/internal/db"
	"ralph/internal/event"
	"ralph/internal/git"
	"ralph/internal/proc"
	"ralph/internal/slot"
	"ralph/internal/testing/check"
	"ralph/internal/testing/emptydb"
	"ralph/internal/testing/fakeagent"
	"ralph/loop/attempt"
	"ralph/loop/land"
	"ralph/verify"
)

// beEnv makes the test binary be a fake agent.
const beEnv = "RALPH_TEST_BE_AGENT"

func TestMain(m *testing.M) {
	proc.RunHelper(nil)
	if os.Getenv(beEnv) != "" {
		fakeagent.Main()
		return
	}
	// The race detector holds every exiting process for a second otherwise.
	os.Setenv("GORACE", "atexit_sleep_ms=0")
	goleak.VerifyTestMain(m)
}

// stage is a project with a graph, an agent that plays a script, and all that a
// run tells.
type stage struct {
	dir    string
	ledger string
	script fakeagent.Script
	store  *dag.Store
	clock  func() time.Time // nil means time.Now
	opts   Options

	mu     sync.Mutex
	events []event.Event
	seen   chan struct{} // closed and replaced with each event
}

func newStage(t testing.TB, script fakeagent.Script) *stage {
	t.Helper()
	s := &stage{dir: t.TempDir(), ledger: t.TempDir(), script: script, seen: make(chan struct{})}
	path := filepath.Join(t.TempDir(), "progress.db")
	emptydb.Write(t, path)
	d, err := db.Open(t.Context(), path, db.Options{Conns: 6})
	check.OK(t, err)
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	self, err := proc.Self()
	check.OK(t, err)
	s.store = dag.New(d, dag.Options{Now: s.now})
	s.opts = options(s.store, s.open, s.dir, t.TempDir())
	s.opts.Landing = landing(t, s.dir)
	s.opts.Inbox.Trust.Dir = t.TempDir()
	s.opts.Host.Observe = s.observe
	s.opts.Graph.Process = dag.Process{PID: int64(self.Pid), Start: int64(self.Start), BootID: self.BootID, Namespace: self.PIDNS}
	s.opts.Verify.GateRunner = verify.Gates{Env: os.Environ()}
	return s
}

// landing makes a folder a repository in which slots land.
func landing(t testing.TB, dir string) land.Options {
	t.Helper()
	for _, args := range []string{"init -q -b main", "commit -q --allow-empty -m first"} {
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=t", "-c", "user.email=t@localhost"}, strings.Fields(args)...)...)
		cmd.Dir = dir
		check.OK(t, cmd.Run())
	}
	repo, err := git.OpenRepo(t.Context(), dir)
	check.OK(t, err)
	return land.Options{
		Repo: repo, Target: "refs/heads/main",
		Slots: slot.Open(slot.Options{Dir: t.TempDir(), State: t.TempDir(), Project: dir, Name: "p", Repo: repo, Sub: "."}),
		Gates: func(room slot.Room) (verify.Gates, func() error, error) {
			return verify.Gates{Env: os.Environ(), Dir: room.Dir()}, func() error { return nil }, nil
		},
	}
}

// options are those of a run in which a task is tried five times.
func options(store *dag.Store, open func(context.Context, attempt.Opening) (attempt.Session, error), dir, runs string) (o Options) {
	o.Graph.Store, o.Agents.Open, o.Place = store, open, Place{Dir: dir, Runs: runs}
	o.Rules.MaxRetries, o.Rules.MaxAttempts, o.Workers.Breaker = 3, 5, 3
	return o
}

// now is the clock of the graph and of the agent's session.
func (s *stage) now() time.Time {
	if s.clock != nil {
		return s.clock()
	}
	return time.Now()
}

// open starts the fake agent, as cmd/ralph starts real ones.
func (s *stage) open(ctx context.Context, op attempt.Opening) (attempt.Session, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	transcript, err := os.Create(filepath.Join(op.Folder, "transcript.jsonl"))
	if err != nil {
		return nil, err
	}
	script := s.script.JSON()
	for _, name := range []string{"go", "begun", "panicked"} { // signals are for all slots
		script = strings.ReplaceAll(script, fmt.Sprintf(`"path":%q`, name), fmt.Sprintf(`"path":%q`, filepath.Join(s.dir, name)))
	}
	session, err := acp.Start(ctx, acp.Config{
		Client: acp.Client{Now: s.now}, Conversation: acp.Conversation{Resume: op.Resume, Model: op.Model, Folder: op.Folder},
		Argv: []string{exe}, Dir: cmp.Or(op.Dir, s.dir), Owner: op.Run.Owner,
		Env:        append(os.Environ(), beEnv+"=1", fakeagent.ScriptEnv+"="+script, fakeagent.LedgerEnv+"="+s.ledger),
		Transcript: transcript, Observe: op.Observe,
		Started: func(id proc.Identity) error { return op.Started(cmp.Or(op.Task.Agent, op.Substitute, "fake"), id) },
	})
	if err != nil {
		return nil, errors.Join(err, transcript.Close())
	}
	return &sessionWithFile{session, transcript}, nil
}

type sessionWithFile struct {
	*acp.Session
	file *os.File
}

func (s *sessionWithFile) Sandbox() string             { return "none" }
func (s *sessionWithFile) Evident() bool               { return false }
func (s *sessionWithFile) Tampered() ([]string, error) { return nil, nil }

func (s *sessionWithFile) Renew() error { return nil }

func (s *sessionWithFile) Freeze() (thaw func()) { return func() {} }

func (s *sessionWithFile) Close() error {
	return errors.Join(s.Session.Close(), s.file.Close())
}

func (s *stage) observe(e event.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, e)
	close(s.seen)
	s.seen = make(chan struct{})
}

// on calls a function after each event.
func (s *stage) on(do func(event.Event)) {
	observe := s.opts.Host.Observe
	s.opts.Host.Observe = func(e event.Event) {
		observe(e)
		do(e)
	}
}

// await returns the first event that fits, from the past or the future.
func (s *stage) await(t *testing.T, fits func(event.Event) bool) event.Event {
	t.Helper()
	for {
		s.mu.Lock()
		i, seen := slices.IndexFunc(s.events, fits), s.seen
		var found event.Event
		if i >= 0 {
			found = s.events[i]
		}
		s.mu.Unlock()
		if i >= 0 {
			return found
		}
		select {
		case <-seen:
		case <-time.After(time.Minute):
			t.Fatal("the event never came")
		}
	}
}

func (s *stage) all(fits func(event.Event) bool) []event.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []event.Event
	for _, e := range s.events {
		if fits(e) {
			list = append(list, e)
		}
	}
	return list
}

func ofType(kind event.Type) func(event.Event) bool {
	return func(e event.Event) bool { return e.Type == kind }
}

// add puts tasks with these titles into the graph and returns their IDs.
func (s *stage) add(t *testing.T, tasks ...dag.NewTask) []string {
	t.Helper()
	var ids []string
	s.update(t, func(g *dag.Graph) error {
		for _, task := range tasks {
			task.Kind = cmp.Or(task.Kind, dag.Check) // most agents here change nothing
			id, err := g.Plan.Add(task)
			if err != nil {
				return err
			}
			ids = append(ids, id)
		}
		return nil
	})
	return ids
}

func (s *stage) update(t *testing.T, fn func(*dag.Graph) error) {
	t.Helper()
	check.OK(t, s.store.Update(t.Context(), fn))
}

func (s *stage) task(t *testing.T, id string) dag.Task {
	t.Helper()
	var task dag.Task
	s.update(t, func(g *dag.Graph) (err error) { task, err = g.Tasks.Get(id); return err })
	return task
}

// wantUncharged wants a task that was given back and not charged an attempt.
func (s *stage) wantUncharged(t *testing.T, id string) {
	t.Helper()
	got := s.task(t, id)
	check.That(t, got.Status == dag.Pending && got.Attempts == 0, "got %s with %d attempts, want pending with none", got.Status, got.Attempts)
}

func (s *stage) attempts(t *testing.T, id string) []dag.Attempt {
	t.Helper()
	var list []dag.Attempt
	task := s.task(t, id)
	s.update(t, func(g *dag.Graph) (err error) { list, err = g.History.Attempts(task); return err })
	return list
}

// start begins a run.
func (s *stage) start(t *testing.T) *Runner {
	t.Helper()
	r, err := Start(t.Context(), s.opts)
	check.OK(t, err)
	return r
}

// run does a whole run and checks that no agent survives it.
func (s *stage) run(t *testing.T) event.Result {
	t.Helper()
	r := s.start(t)
	return s.finish(t, r, t.Context())
}

// begin starts a run and returns what it comes to.
func (s *stage) begin(t *testing.T, ctx context.Context) (*Runner, <-chan event.Result) { //nolint:revive // t comes first
	t.Helper()
	r := s.start(t)
	ended := make(chan event.Result, 1)
	go func() {
		defer close(ended) // finish may give up
		ended <- s.finish(t, r, ctx)
	}()
	return r, ended
}

func (s *stage) finish(t *testing.T, r *Runner, ctx context.Context) event.Result { //nolint:revive // t comes first
	t.Helper()
	out, err := r.Run(ctx)
	check.OK(t, err)
	check.OK(t, r.Finish(ctx, out))
	s.wantNothingLeft(t)
	return out
}

func (s *stage) entries(t *testing.T) []fakeagent.Entry {
	t.Helper()
	entries, err := fakeagent.ReadLedger(s.ledger)
	check.OK(t, err)
	return entries
}

// wantNothingLeft fails for every process in the ledger that still lives.
func (s *stage) wantNothingLeft(t *testing.T) {
	t.Helper()
	for _, e := range s.entries(t) {
		id, err := proc.Of(e.Pid)
		check.That(t, err != nil || proc.Liveness(id) == proc.Dead, "%s %s (pid %d) is still running", e.Event, e.Name, e.Pid)
	}
}

// count is the number of ledger entries of a kind.
func (s *stage) count(t *testing.T, event string) int {
	t.Helper()
	n := 0
	for _, e := range s.entries(t) {
		if e.Event == event {
			n++
		}
	}
	return n
}

// say is a script that answers every prompt with these steps.
func say(steps ...fakeagent.Step) fakeagent.Script {
	return fakeagent.Script{Conversations: []fakeagent.Conversation{{Steps: steps}}}
}

func done() fakeagent.Step {
	return fakeagent.Step{Do: "say", Text: "<task-done>{{task}}</task-done>\n"}
}

// awaitMark waits until an agent has made its mark in the ledger.
func (s *stage) awaitMark(t *testing.T, name string) {
	t.Helper()
	deadline := time.After(time.Minute)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if slices.ContainsFunc(s.entries(t), func(e fakeagent.Entry) bool { return e.Event == "mark" && e.Name == name }) {
			return
		}
		select {
		case <-deadline:
			t.Fatalf("no agent made the mark %q", name)
		case <-tick.C:
		}
	}
}

func (s *stage) write(t *testing.T, name, text string) {
	t.Helper()
	check.OK(t, os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600))
}
