package loop

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ralph/dag"
	"ralph/internal/event"
	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
	"ralph/journal"
	"ralph/loop/attempt"
	"ralph/loop/policy"
)

// TestAnAnswerResetsTheBreaker lets every third attempt say something.
func TestAnAnswerResetsTheBreaker(t *testing.T) {
	t.Parallel()
	crash := []fakeagent.Step{{Do: "exit", Code: 3}}
	s := newStage(t, fakeagent.Script{Conversations: []fakeagent.Conversation{
		{When: fakeagent.When{Attempt: 3}, Steps: []fakeagent.Step{{Do: "say", Text: "half a thought"}, {Do: "exit", Code: 3}}},
		{When: fakeagent.When{Attempt: 6}, Steps: []fakeagent.Step{done()}},
		{Steps: crash},
	}})
	s.opts.Rules.MaxAttempts = 100
	s.add(t, dag.NewTask{Detail: dag.Detail{Title: "mine"}})
	out := s.run(t)
	check.That(t, out.Outcome == event.OutcomeComplete && out.Iterations == 6, "got %+v, want complete after 6 iterations", out)
}

// TestSilenceOfOneTaskIsThatTasksFailure has an agent that answers to one task and dies over another.
func TestSilenceOfOneTaskIsThatTasksFailure(t *testing.T) {
	t.Parallel()
	s := newStage(t, fakeagent.Script{Conversations: []fakeagent.Conversation{{Steps: []fakeagent.Step{done()}}, {Steps: []fakeagent.Step{{Do: "exit", Code: 3}}}}})
	ids := s.add(t, dag.NewTask{Detail: dag.Detail{Title: "answered"}}, dag.NewTask{Detail: dag.Detail{Title: "silent"}})
	s.script.Conversations[0].When.Task = ids[0]
	out := s.run(t)
	silent := s.task(t, ids[1])
	check.That(t, out.Outcome == event.OutcomeComplete && silent.Status == dag.Failed && silent.Attempts == 5,
		"got %+v and a task that is %s after %d attempts; want a complete run and a task that failed after 5", out, silent.Status, silent.Attempts)
}

// TestAnAgentThatFallsSilentEndsTheRun has one that answers once, and then to no task any more.
func TestAnAgentThatFallsSilentEndsTheRun(t *testing.T) {
	t.Parallel()
	s := newStage(t, fakeagent.Script{Conversations: []fakeagent.Conversation{{Steps: []fakeagent.Step{done()}}, {Steps: []fakeagent.Step{{Do: "exit", Code: 3}}}}})
	s.opts.Rules.Backoff = time.Hour // so that each is tried once
	ids := s.add(t, dag.NewTask{Detail: dag.Detail{Title: "answered"}}, dag.NewTask{Detail: dag.Detail{Title: "one"}}, dag.NewTask{Detail: dag.Detail{Title: "two"}}, dag.NewTask{Detail: dag.Detail{Title: "three"}})
	s.script.Conversations[0].When.Task = ids[0]
	out := s.run(t)
	check.That(t, out.Outcome == event.OutcomeUnavailable, "got %+v, want no usable agent", out)
	for _, id := range ids[1:] {
		got := s.task(t, id)
		check.That(t, got.Status == dag.Pending, "%s is %s, want pending", got.Title, got.Status)
	}
}

func TestTheLimitIsExactWithSeveralWorkers(t *testing.T) {
	t.Parallel()
	s := newStage(t, say(done()))
	s.opts.Workers.Jobs, s.opts.Limits.Iterations = 3, 4
	var tasks []dag.NewTask
	for i := range 8 {
		tasks = append(tasks, dag.NewTask{Detail: dag.Detail{Title: fmt.Sprint("task ", i)}})
	}
	s.add(t, tasks...)
	out := s.run(t)
	if got := s.count(t, "prompted"); out.Outcome != event.OutcomeLimit || out.Iterations != 4 || got != 4 {
		t.Errorf("got %s, %d iterations, %d prompts; want limit, 4, 4", out.Outcome, out.Iterations, got)
	}
}

// TestTheAgentIsOnRecordBeforeItIsSpokenTo reads the attempt while the agent
// waits in its handshake.
func TestTheAgentIsOnRecordBeforeItIsSpokenTo(t *testing.T) {
	t.Parallel()
	s := newStage(t, fakeagent.Script{At: map[string][]fakeagent.Step{
		"initialize": {{Do: "mark", Text: "at work"}, {Do: "await", Path: "set below"}},
	}})
	s.script.At["initialize"][1].Path = filepath.Join(s.dir, "go")
	ids := s.add(t, dag.NewTask{Detail: dag.Detail{Title: "mine"}})
	s.whileAtWork(t, func() {
		got := s.attempts(t, ids[0])
		check.That(t, len(got) == 1 && got[0].Phase == dag.Starting && got[0].Agent == "fake",
			"got %+v, want one attempt of fake that is starting", got)
		s.write(t, "go", "")
	})
}

// TestAnAttemptThatCannotBePreparedEndsTheRun makes the folder of attempts
// unusable: the run ends with an error, and the task is given back.
func TestAnAttemptThatCannotBePreparedEndsTheRun(t *testing.T) {
	t.Parallel()
	s := newStage(t, say(done()))
	s.opts.Place.Runs = filepath.Join(s.opts.Place.Runs, "file")
	check.OK(t, os.WriteFile(s.opts.Place.Runs, nil, 0o600))
	ids := s.add(t, dag.NewTask{Detail: dag.Detail{Title: "mine"}})
	out, err := s.start(t).Run(t.Context())
	check.That(t, err != nil, "got %+v and no error", out)
	s.wantUncharged(t, ids[0])
}

// TestASessionThatCannotBeOpenedIsUnavailable has an opener with an error that is
// not one of the protocol's.
func TestASessionThatCannotBeOpenedIsUnavailable(t *testing.T) {
	t.Parallel()
	s := newStage(t, say())
	s.opts.Agents.Open = func(context.Context, attempt.Opening) (attempt.Session, error) { return nil, errors.New("no disk") }
	ids := s.add(t, dag.NewTask{Detail: dag.Detail{Title: "mine"}})
	out := s.run(t)
	check.That(t, out.Outcome == event.OutcomeUnavailable && strings.Contains(out.Reason, "no disk"),
		"got %+v, want agent_unavailable with the reason", out)
	s.wantUncharged(t, ids[0])
}

// TestAGateIsMarkedAsTheRuns: what a gate leaves running can be found by the
// run that recovers.
func TestAGateIsMarkedAsTheRuns(t *testing.T) {
	t.Parallel()
	s := newStage(t, say(done()))
	s.add(t, dag.NewTask{Detail: dag.Detail{Title: "mine", Gates: []string{`printf %s "$RALPH_PROC" > ` + filepath.Join(s.dir, "marker")}}})
	r := s.start(t)
	s.finish(t, r, t.Context())
	got, err := os.ReadFile(filepath.Join(s.dir, "marker"))
	check.That(t, err == nil && strings.HasPrefix(string(got), r.run.Owner+"/"), "got marker %q (%v), want one of %s", got, err, r.run.Owner)
}

// TestWhatAnAttemptCostIsKept also when it was interrupted.
func TestWhatAnAttemptCostIsKept(t *testing.T) {
	t.Parallel()
	cost := 0.25
	s := newStage(t, say(fakeagent.Step{Do: "usage", N: 10, Cost: &cost}, fakeagent.Step{Do: "mark", Text: "at work"}, fakeagent.Step{Do: "hang"}))
	s.add(t, dag.NewTask{Detail: dag.Detail{Title: "mine"}})
	r := s.start(t)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		s.awaitMark(t, "at work")
		cancel()
	}()
	out := s.finish(t, r, ctx)
	check.That(t, out.Usage.CostUSD != nil && *out.Usage.CostUSD == cost, "got cost %v, want %v", out.Usage.CostUSD, cost)
}

func (s *stage) journal(t *testing.T, run string) []journal.Entry {
	t.Helper()
	var list []journal.Entry
	s.update(t, func(g *dag.Graph) (err error) { list, err = journal.List(g.Tx(), journal.Filter{Run: run}); return err })
	return list
}

var _ attempt.Session = (*sessionWithFile)(nil)

// Three jobs run at once, and the second one does not count.
func TestIterationsThatCountHaveNumbersOfTheirOwn(t *testing.T) {
	t.Parallel()
	l := ledger{highest: 4, agents: map[string]*agentRecord{}} // of the run that is continued
	var got []int
	begin := func() {
		got = append(got, l.nextNumber())
		l.begin(got[len(got)-1])
	}
	begin()
	begin()
	begin()
	uncounted := entry{result: attempt.Result{Decision: policy.Decision{Uncounted: true}}}
	uncounted.job.Run.Iteration = 6
	l.settle(uncounted)
	begin()
	begin()
	check.Equal(t, "result", []int{5, 6, 7, 6, 8}, got)
}

// TestAHintStaysWithTheAgentThatGaveIt: the name of one agent's model means
// nothing to another agent.
func TestAHintStaysWithTheAgentThatGaveIt(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		first, second string // agents of the tasks; empty is the run's own
		model         string // of the second
	}{
		"from the run's own agent to itself":          {"", "", "swift-1"},
		"from the run's own agent to a task's own":    {"", "other", "sonnet"},
		"from a task's own agent to the run's own":    {"other", "", "sonnet"},
		"from a task's own agent to the same of next": {"other", "other", "swift-1"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, fakeagent.Script{
				Models: []string{"sonnet", "swift-1"},
				Conversations: []fakeagent.Conversation{
					{When: fakeagent.When{Contains: "first thing"}, Steps: []fakeagent.Step{{Do: "say", Text: "<next-model>swift-1</next-model>\n"}, done()}},
				},
			})
			s.add(t, dag.NewTask{Detail: dag.Detail{Title: "first thing", Agent: tt.first}}, dag.NewTask{Detail: dag.Detail{Title: "second thing", Agent: tt.second}})
			s.run(t)
			claims := s.all(ofType(event.TaskClaimed))
			check.That(t, len(claims) == 2 && claims[1].Model == tt.model, "got %+v, want the second with model %s", claims, tt.model)
		})
	}
}

// TestOnlyAnInterruptionOfTheRunTakesTasks keeps tasks that a person stopped alone out of what Ctrl-C lists.
func TestOnlyAnInterruptionOfTheRunTakesTasks(t *testing.T) {
	t.Parallel()
	l := ledger{agents: map[string]*agentRecord{}}
	for id, reason := range map[string]string{"t-1": attempt.ErrStopped.Error(), "t-2": "interrupted"} {
		var e entry
		e.job.Task.ID = id
		e.result.Decision = policy.Decision{Action: policy.Release, Outcome: event.AttemptInterrupted, Reason: reason, Uncounted: true}
		l.settle(e)
	}
	check.Equal(t, "taken", []string{"t-2"}, l.interrupted)
}
