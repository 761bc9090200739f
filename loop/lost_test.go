package loop

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"ralph/dag"
	"ralph/internal/db"
	"ralph/internal/event"
	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
	"ralph/loop/attempt"
)

// TestAClaimTakenAwayEndsTheAgent lets a person change a task while an agent is
// at work on it: the agent is stopped at the next heartbeat, what it did is not
// settled, and the person's word stands.
func TestAClaimTakenAwayEndsTheAgent(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		person     func(g *dag.Graph, id string) error
		status     dag.Status // that the attempt ended with
		reason     string
		iterations int // that count
	}{
		"a person marks it done":   {func(g *dag.Graph, id string) error { return g.Tasks.Finish(id) }, "done", "it was marked as done meanwhile", 0},
		"a person marks it failed": {func(g *dag.Graph, id string) error { return g.Tasks.GiveUp(id, "no") }, "failed", "no", 0},
		"a person deletes it":      {func(g *dag.Graph, id string) error { return g.Plan.Delete(id) }, "deleted", "it was deleted meanwhile", 0},
		"a person resets it":       {func(g *dag.Graph, id string) error { return g.Tasks.Reset(id) }, "pending", "it was reset meanwhile", 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// It forks, so that stopping it takes more than a kill.
			s := newStage(t, say(fakeagent.Step{Do: "fork", Argv: []string{"session"}}, fakeagent.Step{Do: "mark", Text: "at work"}, fakeagent.Step{Do: "hang"}))
			s.script.Conversations[0].When.Attempt = 1
			s.opts.Workers.Lease = 150 * time.Millisecond
			ids := s.add(t, dag.NewTask{Detail: dag.Detail{Title: "mine"}}, dag.NewTask{Detail: dag.Detail{Title: "other"}})
			s.update(t, func(g *dag.Graph) error { return g.Tasks.Finish(ids[1]) })
			out := s.whileAtWork(t, func() {
				s.update(t, func(g *dag.Graph) error { return tt.person(g, ids[0]) })
			})
			check.That(t, out.Outcome == event.OutcomeComplete && out.Iterations == tt.iterations, "got %+v, want %d counted iterations", out, tt.iterations)
			ended := s.await(t, ofType(event.AttemptEnded))
			check.That(t, ended.Outcome == "interrupted" && ended.Status == tt.status && ended.Reason == tt.reason,
				"got %s, task %s: %s; want interrupted, task %s: %s", ended.Outcome, ended.Status, ended.Reason, tt.status, tt.reason)
		})
	}
}

// TestAnAnswerAfterTheClaimWasLostCountsForNothing: nobody looks at the claim before the work
// is settled, and the refusal comes then.
func TestAnAnswerAfterTheClaimWasLostCountsForNothing(t *testing.T) {
	t.Parallel()
	s := newStage(t, say(fakeagent.Step{Do: "mark", Text: "at work"}, fakeagent.Step{Do: "await", Path: "go"}, done()))
	s.opts.Workers.Poll, s.opts.Workers.Lease = time.Hour, time.Hour
	id := s.add(t, dag.NewTask{Detail: dag.Detail{Title: "mine"}})[0]
	out := s.whileAtWork(t, func() {
		s.update(t, func(g *dag.Graph) error { return g.Tasks.GiveUp(id, "I changed my mind") })
		s.write(t, "go", "")
	})
	check.That(t, out.Outcome == event.OutcomeComplete && out.Counts.Failed == 1 && out.Iterations == 0, "got %+v", out)
	check.Equal(t, "status", dag.Failed, s.task(t, id).Status)
	ended := s.await(t, ofType(event.AttemptEnded))
	check.That(t, ended.Outcome == "interrupted" && ended.Reason == "I changed my mind", "got %s: %s", ended.Outcome, ended.Reason)
}

// whileAtWork runs, and does something once the agent has made its mark.
func (s *stage) whileAtWork(t *testing.T, do func()) event.Result {
	t.Helper()
	_, ended := s.begin(t, t.Context())
	s.awaitMark(t, "at work")
	do()
	return <-ended
}

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
	ids := s.add(t, dag.NewTask{Detail: dag.Detail{Title: "mine"}})
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
	check.That(t, out.Outcome == event.OutcomeComplete && out.Counts.Done == 1 && out.Iterations == 1,
		"got %+v, want complete with one counted iteration", out)
	var got []string
	for _, a := range s.attempts(t, ids[0]) {
		got = append(got, string(a.Outcome)+": "+a.Reason)
	}
	want := []string{"interrupted: the task was taken away, or may be: the claim could not be renewed for longer than its lease", "done: "}
	check.Equal(t, "attempts", want, got)
}
