package loop

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"ralph/dag"
	"ralph/event"
	"ralph/internal/db"
	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
	"ralph/loop/attempt"
)

// closed tells when a session is closed, before its attempt is settled.
type closed struct {
	attempt.Session
	then func()
}

func (c closed) Close() error {
	defer c.then()
	return c.Session.Close()
}

// TestAClaimThatCouldNotBeRenewedIsGivenBackWhenTheDatabaseAnswersAgain: the agent is
// stopped, because another run might have its task by now; but none has, and the run
// itself lives, so nobody else would ever free it.
func TestAClaimThatCouldNotBeRenewedIsGivenBackWhenTheDatabaseAnswersAgain(t *testing.T) {
	t.Parallel()
	s := newStage(t, fakeagent.Script{Conversations: []fakeagent.Conversation{
		{When: fakeagent.When{Attempt: 1}, Steps: []fakeagent.Step{{Do: "mark", Text: "at work"}, {Do: "hang"}}},
	}})
	path := filepath.Join(t.TempDir(), "gone.db")
	s.reopen(t, path, db.Options{})
	s.opts.Workers.Lease = 300 * time.Millisecond
	s.opts.Recovery.Life = func(dag.Process) dag.Life { return dag.Alive }
	ids := s.add(t, dag.NewTask{Title: "mine"})
	other, err := db.Open(t.Context(), path, db.Options{})
	check.OK(t, err)
	defer other.Close()
	rename := func(from, to string) {
		t.Helper()
		err := other.Update(t.Context(), func(tx *db.Tx) error { return tx.Exec("ALTER TABLE " + from + " RENAME TO " + to + ";") })
		if err != nil {
			t.Error(err)
		}
	}
	open, answers := s.opts.Agents.Open, false
	s.opts.Agents.Open = func(ctx context.Context, op attempt.Opening) (attempt.Session, error) {
		session, err := open(ctx, op)
		if err != nil {
			return nil, err
		}
		return closed{session, func() {
			if !answers {
				answers = true
				rename("nowhere", "tasks")
			}
		}}, nil
	}
	out := s.whileAtWork(t, func() { rename("tasks", "nowhere") })
	if out.Outcome != event.OutcomeComplete || out.Counts.Done != 1 || out.Iterations != 1 {
		t.Errorf("got %+v, want complete with one counted iteration", out)
	}
	var got []string
	for _, a := range s.attempts(t, ids[0]) {
		got = append(got, string(a.Outcome)+": "+a.Reason)
	}
	want := []string{"interrupted: the task was taken away, or may be: the claim could not be renewed for longer than its lease", "done: "}
	check.Equal(t, "attempts", want, got)
}
