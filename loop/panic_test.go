package loop

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"ralph/acp"
	"ralph/dag"
	"ralph/internal/event"
	"ralph/internal/redact"
	"ralph/internal/slot"
	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
	"ralph/loop/attempt"
	"ralph/verify"
)

// panicking is a session whose prompts panic.
type panicking struct{ attempt.Session }

func (p panicking) Prompt(context.Context, string) (acp.Turn, error) { panic("a bug") }

// TestAPanicEndsOneAttempt: the other worker finishes, no agent is left, and the task is
// tried again at no cost. The second panic over one task ends the run.
func TestAPanicEndsOneAttempt(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		panics int
		want   event.RunOutcome
		status dag.Status
	}{
		"once":  {1, event.OutcomeComplete, dag.Done},
		"twice": {2, event.OutcomeError, dag.Pending},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, say(done()))
			ids := s.add(t, dag.NewTask{Detail: dag.Detail{Title: "bad"}}, dag.NewTask{Detail: dag.Detail{Title: "good"}})
			s.script.Conversations = []fakeagent.Conversation{
				{When: fakeagent.When{Task: ids[1]}, Steps: []fakeagent.Step{{Do: "await", Path: "panicked"}, done()}},
			}
			s.opts.Workers.Jobs = 2
			var mu sync.Mutex
			left := tt.panics
			s.opts.Agents.Open = func(ctx context.Context, op attempt.Opening) (attempt.Session, error) {
				opened, err := s.open(ctx, op)
				mu.Lock()
				defer mu.Unlock()
				if err == nil && op.Task.ID == ids[0] && left > 0 {
					left--
					return panicking{opened}, nil
				}
				return opened, err
			}
			s.on(func(e event.Event) {
				mu.Lock()
				defer mu.Unlock()
				if e.Type == event.AttemptEnded && e.Task == ids[0] && left == 0 {
					s.write(t, "panicked", "")
				}
			})
			r := s.start(t)
			out, err := r.Run(t.Context())
			check.That(t, out.Outcome == tt.want && (err != nil) == (tt.want == event.OutcomeError),
				"got %s (%s), %v; want %s", out.Outcome, out.Reason, err, tt.want)
			s.wantNothingLeft(t)
			bad, good := s.task(t, ids[0]), s.task(t, ids[1])
			check.That(t, bad.Status == tt.status && good.Status == dag.Done, "got %s and %s, want %s and done", bad.Status, good.Status, tt.status)
			first := s.attempts(t, ids[0])[0]
			check.That(t, first.Outcome == event.AttemptInterrupted && strings.Contains(first.Reason, "a bug"),
				"got %s: %s", first.Outcome, first.Reason)
			stack, err := os.ReadFile(filepath.Join(s.opts.Place.Runs, r.ID(), first.ID, "panic.txt"))
			check.That(t, err == nil && strings.Contains(string(stack), "panicking.Prompt"), "got stack %q, %v", stack, err)
			if err := r.Finish(t.Context(), out); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestAPanicDuringVerificationKeepsFinishedWork: the next attempt verifies it, and no agent
// works again.
func TestAPanicDuringVerificationKeepsFinishedWork(t *testing.T) {
	t.Parallel()
	s := newStage(t, say(done()))
	id := s.add(t, dag.NewTask{Detail: dag.Detail{Title: "mine", Kind: dag.Check}})[0]
	s.opts.Verify.AgentVerdict = true
	verdicts := 0
	s.opts.Agents.Open = func(ctx context.Context, op attempt.Opening) (attempt.Session, error) {
		opened, err := s.open(ctx, op)
		if err != nil || !op.Verifier {
			return opened, err
		}
		if verdicts++; verdicts == 1 {
			return panicking{opened}, nil
		}
		return approving{opened}, nil
	}
	if out := s.run(t); out.Outcome != event.OutcomeComplete || out.Iterations != 1 || verdicts != 2 {
		t.Errorf("got %+v after %d verdicts, want complete after 2", out, verdicts)
	}
	check.Equal(t, "prompts", 1, s.count(t, "prompted"))
	if got := s.attempts(t, id); len(got) != 2 || got[0].Outcome != event.AttemptInterrupted {
		t.Errorf("got %+v, want one that was interrupted and one that was verified", got)
	}
}

// TestAPanicBeforeTheAgentKeepsItsStack, and shows no secret.
func TestAPanicBeforeTheAgentKeepsItsStack(t *testing.T) {
	t.Parallel()
	const secret = "sk-4f9a8b7c6d5e4f3a2b1c"
	s := newStage(t, say(done()))
	s.opts.Host.Redact = redact.New(secret)
	s.opts.Agents.Modelless = func(string) bool { panic("a bug with " + secret) }
	id := s.add(t, dag.NewTask{Detail: dag.Detail{Title: "bad"}})[0]
	r := s.start(t)
	if _, err := r.Run(t.Context()); err == nil || strings.Contains(err.Error(), secret) {
		t.Errorf("got %v", err)
	}
	first := s.attempts(t, id)[0]
	stack, err := os.ReadFile(filepath.Join(s.opts.Place.Runs, r.ID(), first.ID, "panic.txt"))
	check.That(t, err == nil && strings.Contains(string(stack), "a bug") && !strings.Contains(string(stack)+first.Reason, secret),
		"got reason %q, stack %q, %v", first.Reason, stack, err)
}

// TestAPanicOverASlotEndsOneAttempt: the other worker lands its task, and the task is tried again and lands, too.
func TestAPanicOverASlotEndsOneAttempt(t *testing.T) {
	t.Parallel()
	s := newStage(t, say(fakeagent.Step{Do: "file", Path: "{{task}}.txt", Text: "work"}, done()))
	var gates atomic.Int64
	s.opts.Workers.Jobs, s.opts.Landing.Gates = 2, func(slot.Room) (verify.Gates, func() error, error) {
		if gates.Add(1) == 1 {
			panic("a bug")
		}
		return verify.Gates{}, func() error { return nil }, nil
	}
	ids := s.add(t, dag.NewTask{Detail: dag.Detail{Title: "one"}}, dag.NewTask{Detail: dag.Detail{Title: "other"}})
	out := s.run(t)
	check.That(t, out.Outcome == event.OutcomeComplete && out.Work.Commits == 2, "got %s: %s", out.Outcome, out.Reason)
	check.Equal(t, "attempts", 3, len(s.attempts(t, ids[0]))+len(s.attempts(t, ids[1])))
	for _, id := range ids {
		_, err := os.Stat(filepath.Join(s.dir, id+".txt"))
		check.OK(t, err)
	}
}
