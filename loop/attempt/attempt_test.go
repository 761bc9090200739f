package attempt

import (
	"cmp"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ralph/acp"
	"ralph/dag"
	"ralph/internal/budget"
	"ralph/internal/event"
	"ralph/internal/git"
	"ralph/internal/proc"
	"ralph/internal/slot"
	"ralph/internal/testing/check"
	"ralph/loop/land"
	"ralph/loop/policy"
	"ralph/prompt"
	"ralph/verify"
)

func TestMain(m *testing.M) {
	proc.RunHelper(nil)
	os.Exit(m.Run())
}

// memory is a recorder without a database.
type memory struct {
	proofs   []dag.Proof
	mu       sync.Mutex
	phases   []dag.Phase
	attempt  dag.Attempt
	base     Base
	finished *Finished
	used     event.Usage
}

// unexcused are no excuses: gates have to pass.
type unexcused struct{}

func (unexcused) Allowed(context.Context, string) (*verify.Allowed, error) { return nil, nil }
func (unexcused) Begin(context.Context, []verify.Result) error             { return nil }

func (m *memory) record(_ context.Context, r Record) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch n := r.Note; {
	case n != nil:
		if n.Phase != "" {
			m.phases = append(m.phases, n.Phase)
		}
		m.attempt.Tree, m.attempt.TreeAfter = cmp.Or(n.Tree, m.attempt.Tree), cmp.Or(n.TreeAfter, m.attempt.TreeAfter)
	case r.Base != nil:
		m.base = *r.Base
	case r.Finished != nil:
		m.finished = r.Finished
	case r.Used != nil:
		m.used = r.Used.Usage
	case r.Proofs != nil:
		m.proofs = r.Proofs
	}
	return nil
}

// scripted is a session in this process.
type scripted struct {
	turns  []func(dir string) string // what it says, after doing something
	dir    string
	closed bool

	mu   sync.Mutex
	cost float64
}

func (s *scripted) Prompt(context.Context, string) (acp.Turn, error) {
	turn := s.turns[0]
	s.turns = s.turns[1:]
	s.mu.Lock()
	s.cost += 0.25
	s.mu.Unlock()
	return acp.Turn{Stop: acp.StopEnd, Segments: []string{turn(s.dir)}}, nil
}
func (s *scripted) Model() acp.ModelChoice      { return acp.ModelChoice{Effective: "swift-1"} }
func (s *scripted) ID() string                  { return "s-1" }
func (s *scripted) Kill() error                 { return nil }
func (s *scripted) Close() error                { s.closed = true; return nil }
func (s *scripted) Sandbox() string             { return "none" }
func (s *scripted) Evident() bool               { return false }
func (s *scripted) Tampered() ([]string, error) { return nil, nil }

func (s *scripted) Renew() error { return nil }

func (s *scripted) Freeze() (thaw func()) { return func() {} }

func (s *scripted) Usage() acp.Usage { return acp.Usage{Input: 10, Output: 1, CostUSD: s.SessionUSD()} }

func (s *scripted) SessionUSD() *float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	cost := s.cost
	return &cost
}

// machine is a worker whose agent takes these turns.
func machine(t *testing.T, turns ...func(dir string) string) (Worker, *scripted) {
	t.Helper()
	s := &scripted{turns: turns}
	return Worker{
		Open: func(_ context.Context, op Opening) (Session, error) {
			s.dir = op.Dir
			return s, op.Started("scripted", proc.Identity{Pid: 1})
		},
		Documents: func(dag.Task) Sources { return Sources{} },
		Sources:   func(context.Context, string, dag.Task, []string) Sources { return Sources{} }, OwnFiles: func(context.Context) []string { return nil },
		Observe: func(event.Event) {}, WarnOnce: func(_, text string) { t.Log(text) },
		Baselines: &Baselines{}, Demand: &Demand{}, Poll: time.Millisecond, Now: time.Now,
	}, s
}

// alone are the ports of an attempt that has no budget, in the slot of its job.
func alone(t *testing.T, m *memory, j *Job) Ports {
	t.Helper()
	repo, err := git.OpenRepo(t.Context(), j.Place.Project)
	check.OK(t, err)
	to := land.Options{
		Repo: repo, Target: "refs/heads/main",
		Slots: slot.Open(slot.Options{Dir: filepath.Join(j.Place.Folder, "slots"), State: filepath.Join(j.Place.Folder, "state"), Project: j.Place.Project, Name: "p", Repo: repo, Sub: "."}),
		Gates: func(room slot.Room) (verify.Gates, func() error, error) {
			return verify.Gates{Env: os.Environ(), Dir: room.Dir()}, func() error { return nil }, nil
		},
	}
	at, err := repo.Commit(t.Context(), "HEAD")
	check.OK(t, err)
	work, err := to.Open(t.Context(), dag.Claim{Task: j.Task, Attempt: j.Run.Attempt, Slot: 1}, at, at)
	check.OK(t, err)
	j.Place.Dir, j.Place.Sub, j.Place.Env = work.Place()
	return Ports{
		Record: m.record, Excuses: unexcused{}, Lane: work, Budget: func(context.Context) ([]budget.Finding, error) { return nil, nil },
	}
}

// job is a task in a repository, as JSON brings it to another machine.
func job(t *testing.T, gates ...string) (j Job) {
	t.Helper()
	dir := t.TempDir()
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"commit", "-q", "--allow-empty", "-m", "x"}} {
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir, "-c", "user.name=t", "-c", "user.email=t@localhost"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git: %v\n%s", err, out)
		}
	}
	data, err := json.Marshal(Job{
		Run: RunRef{ID: "r-1", Owner: "w-1", Attempt: "a-1", Iteration: 1}, Task: dag.Task{ID: "t-1", Detail: dag.Detail{Title: "mine"}},
		Place: Place{Dir: dir, Project: dir, Folder: filepath.Join(t.TempDir(), "a-1")}, Agent: Assignment{Name: "scripted"},
		Brief: prompt.Input{Task: prompt.Task{ID: "t-1", Title: "mine"}}, Verify: Verification{Gates: gates},
		Rules: policy.Rules{MaxAttempts: 5, RepairRounds: 1},
	})
	if err == nil {
		err = json.Unmarshal(data, &j)
	}
	check.OK(t, err)
	return j
}

func says(text string) func(string) string { return func(string) string { return text } }

// TestAnAttemptNeedsNoDatabase: a job that was JSON, a recorder in memory, a red gate that
// is repaired in the same session.
func TestAnAttemptNeedsNoDatabase(t *testing.T) {
	t.Parallel()
	w, s := machine(t, says("<task-done>t-1</task-done>\n"), func(dir string) string {
		if err := os.WriteFile(filepath.Join(dir, "made"), nil, 0o600); err != nil {
			t.Error(err)
		}
		return "<journal>it was missing</journal>\n<task-done>t-1</task-done>\n"
	})
	j := job(t, "test -e made")
	record := &memory{}
	ports := alone(t, record, &j)
	res, err := w.Run(t.Context(), j, ports)
	if err != nil || res.Decision.Action != policy.Complete || !res.Seen.Passed {
		t.Fatalf("got %+v, %v; want complete", res.Decision, err)
	}
	check.That(t, s.closed && res.Said.Journal == "it was missing" && slices.Contains(res.Files, "made") && res.Agent.Model == "swift-1",
		"closed %v, got %+v", s.closed, res)
	want := []dag.Phase{dag.Starting, dag.Prompted, dag.Answered, dag.Verifying, dag.Prompted, dag.Answered, dag.Verifying}
	check.That(t, slices.Equal(record.phases, want), "got phases %v, want %v", record.phases, want)
	check.That(t, record.used.Cost() == 0.5 && res.Agent.Usage.Cost() == 0.5,
		"got %v recorded and %v in the result, want 0.5", record.used.Cost(), res.Agent.Usage.Cost())
	base := record.base.Gates["test -e made"]
	check.That(t, record.base.Tree != "" && !base.Passed, "got base %+v, want the gate red", record.base)
	if data, err := os.ReadFile(filepath.Join(j.Place.Folder, "answer.md")); err != nil || !strings.Contains(string(data), "task-done") {
		t.Errorf("got answer %q, %v", data, err)
	}
}

// TestFinishedWorkIsVerifiedElsewhere: another machine gets what was recorded, and runs no
// agent.
func TestFinishedWorkIsVerifiedElsewhere(t *testing.T) {
	t.Parallel()
	w, _ := machine(t, says("<task-done>t-1</task-done>\n"))
	j := job(t)
	j.Task.Kind, j.Verify.Skip = dag.Check, true
	record := &memory{}
	ports := alone(t, record, &j)
	if _, err := w.Run(t.Context(), j, ports); err != nil || record.finished == nil {
		t.Fatalf("got %v, %v", record.finished, err)
	}
	other, _ := machine(t)
	other.Open = nil
	j.Finished, j.History.Finished, j.Verify = record.finished, record.attempt, Verification{Gates: []string{"true"}}
	ports = alone(t, &memory{}, &j)
	res, err := other.Run(t.Context(), j, ports)
	check.That(t, err == nil && res.Decision.Action == policy.Complete && !res.Seen.Opened, "got %+v, %v; want complete without a session", res, err)
}

// TestALostClaimAborts says why the claim is lost.
func TestALostClaimAborts(t *testing.T) {
	t.Parallel()
	ctx, lose := context.WithCancelCause(t.Context())
	w, s := machine(t, func(string) string { lose(ErrUnrenewed); return "<task-done>t-1</task-done>\n" })
	j := job(t)
	ports := alone(t, &memory{}, &j)
	res, err := w.Run(ctx, j, ports)
	check.That(t, err == nil && res.Decision.Action == policy.Abort && res.Decision.Reason == ErrUnrenewed.Error() && s.closed,
		"got %+v, %v; want an abort", res.Decision, err)
}
