package loop

import (
	"sync"
	"testing"
	"time"

	"ralph/dag"
	"ralph/internal/budget"
	"ralph/internal/event"
	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
	"ralph/loop/attempt"
)

// jumping is a clock that can be put forward.
type jumping struct {
	mu  sync.Mutex
	off time.Duration
}

func (c *jumping) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.off)
}

func (c *jumping) jump(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.off += d
}

// withClock gives a stage a clock, and lets every wait pass in a moment.
func (s *stage) withClock() *jumping {
	clock := &jumping{}
	s.clock, s.opts.Host.Now, s.opts.Workers.Poll = clock.now, clock.now, 5*time.Millisecond
	s.on(func(e event.Event) {
		if e.Type == event.Waiting && e.Until != nil {
			clock.jump(e.Until.Sub(clock.now()) + time.Second)
		}
	})
	return clock
}

func limitedAt(attempt int, text string) fakeagent.Conversation {
	return fakeagent.Conversation{
		When:  fakeagent.When{Attempt: attempt},
		Steps: []fakeagent.Step{{Do: "error", Code: -32603, Text: text}},
	}
}

// A limit met at two in the morning is waited for, and the time does not count.
func TestWaitingForALimitCostsNoTime(t *testing.T) {
	t.Parallel()
	s := newStage(t, fakeagent.Script{Conversations: []fakeagent.Conversation{
		limitedAt(1, "You've hit your usage limit, try again in 5 hours."),
		limitedAt(2, "You've hit your usage limit, try again in 2 days."),
	}})
	s.withClock()
	s.opts.Limits.Budgets.Run = budget.Limits{Duration: time.Hour}
	s.opts.Limits.Iterations = 1
	id := s.add(t, dag.NewTask{Detail: dag.Detail{Title: "one"}})[0]
	out := s.run(t)
	check.That(t, out.Outcome == event.OutcomeComplete && out.Iterations == 1 && s.task(t, id).Attempts == 1, "got %+v", out)
	waits := s.all(ofType(event.Waiting))
	check.That(t, len(waits) == 2 && waits[0].Agent == s.opts.Host.Setup.Agent, "got %+v, want two waits", waits)
	check.That(t, out.Duration >= 53*time.Hour, "the run took %s, which is not what the clock says", out.Duration)
}

// An agent that has answered and then says nothing, to one task after the other, has
// used up its allowance: that is waited for however often, and the breaker does not
// count it.
func TestEmptyAnswersAfterGoodOnesAreALimit(t *testing.T) {
	t.Parallel()
	s := newStage(t, fakeagent.Script{})
	s.withClock()
	ids := s.add(t, dag.NewTask{Detail: dag.Detail{Title: "first"}}, dag.NewTask{Detail: dag.Detail{Title: "second"}})
	for attempt := range 4 {
		s.script.Conversations = append(s.script.Conversations, fakeagent.Conversation{When: fakeagent.When{Task: ids[1], Attempt: attempt + 1}})
	}
	out := s.run(t)
	check.That(t, out.Outcome == event.OutcomeComplete && out.Counts.Done == 2, "got %+v", out)
	waits := s.all(ofType(event.Waiting))
	check.That(t, len(waits) == 4, "got %d waits, want 4", len(waits))
}

// A provider that says "in a moment" for ever does not have agents started for ever.
func TestALimitThatDoesNotEndIsAskedForLessAndLess(t *testing.T) {
	t.Parallel()
	s := newStage(t, fakeagent.Script{})
	for attempt := range 6 {
		s.script.Conversations = append(s.script.Conversations, limitedAt(attempt+1, "rate limit reached, try again in 25s"))
	}
	s.withClock()
	s.add(t, dag.NewTask{Detail: dag.Detail{Title: "one"}})
	out := s.run(t)
	check.That(t, out.Outcome == event.OutcomeComplete, "got %+v", out)
	var waits []time.Duration
	for _, e := range s.all(ofType(event.Waiting)) {
		waits = append(waits, e.Until.Sub(e.At))
	}
	want := []time.Duration{25 * time.Second, 25 * time.Second, 25 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute}
	if len(waits) != len(want) {
		t.Fatalf("got %v, want %v", waits, want)
	}
	for i := range want {
		if waits[i] > want[i] || waits[i] < want[i]/2 { // what happens in between takes a moment too
			t.Errorf("wait %d: got %v, want nearly %v", i+1, waits[i], want[i])
		}
	}
}

// A person who knows better has an agent asked again before its limit is over, and
// the run that waits for it continues.
func TestALimitThatIsLiftedIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	s := newStage(t, fakeagent.Script{Conversations: []fakeagent.Conversation{limitedAt(1, "usage limit reached, try again in 5 hours")}})
	s.opts.Workers.Poll, s.opts.Host.Setup.Agent = 5*time.Millisecond, "fake"
	s.add(t, dag.NewTask{Detail: dag.Detail{Title: "one"}})
	_, ended := s.begin(t, t.Context())
	s.await(t, ofType(event.Waiting))
	s.update(t, func(g *dag.Graph) error { return g.Queue.LiftLimit("") })
	out := <-ended
	check.That(t, out.Outcome == event.OutcomeComplete, "got %+v", out)
}

// --until ends a run at that time, also in the middle of an agent's work.
func TestARunEndsAtItsTime(t *testing.T) {
	t.Parallel()
	s := newStage(t, say(fakeagent.Step{Do: "mark", Text: "working"}, fakeagent.Step{Do: "hang"}))
	clock := s.withClock()
	s.opts.Limits.Budgets.Run.Until = clock.now().Add(8 * time.Hour)
	id := s.add(t, dag.NewTask{Detail: dag.Detail{Title: "one"}})[0]
	_, ended := s.begin(t, t.Context())
	s.awaitMark(t, "working")
	clock.jump(7 * time.Hour)
	s.await(t, func(e event.Event) bool { return e.Type == event.Warned && e.Text != "" })
	clock.jump(time.Hour)
	out := <-ended
	check.That(t, out.Outcome == event.OutcomeLimit && out.Iterations == 0, "got %+v", out)
	s.wantUncharged(t, id)
}

// Two workers: one meets the limit, and neither takes another task before it is over.
func TestALimitHoldsEveryWorkerBack(t *testing.T) {
	t.Parallel()
	s := newStage(t, fakeagent.Script{})
	s.withClock()
	s.opts.Workers.Jobs = 2
	ids := s.add(t, dag.NewTask{Detail: dag.Detail{Title: "slow"}}, dag.NewTask{Detail: dag.Detail{Title: "first"}}, dag.NewTask{Detail: dag.Detail{Title: "third"}}, dag.NewTask{Detail: dag.Detail{Title: "fourth"}})
	s.script.Conversations = []fakeagent.Conversation{
		{When: fakeagent.When{Task: ids[0]}, Steps: []fakeagent.Step{{Do: "mark", Text: "slow"}, {Do: "await", Path: "go"}, done()}},
		{When: fakeagent.When{Task: ids[1], Attempt: 1}, Steps: []fakeagent.Step{{Do: "error", Code: 429, Text: "try again in 1h"}}},
	}
	_, ended := s.begin(t, t.Context())
	s.await(t, func(e event.Event) bool { return e.Type == event.AttemptEnded && e.Outcome == "limited" })
	s.awaitMark(t, "slow")
	if n := s.count(t, "prompted"); n != 2 {
		t.Errorf("%d prompts were sent, want 2: nobody has room", n)
	}
	s.write(t, "go", "")
	out := <-ended
	check.That(t, out.Outcome == event.OutcomeComplete && out.Counts.Done == 4, "got %+v", out)
	if n := s.count(t, "prompted"); n != 5 {
		t.Errorf("%d prompts were sent, want 5", n)
	}
}

// What several agents are using at once counts together.
func TestWhatAgentsUseNowCounts(t *testing.T) {
	t.Parallel()
	cost := 0.3
	s := newStage(t, say(fakeagent.Step{Do: "usage", N: 1, Cost: &cost}, fakeagent.Step{Do: "hang"}))
	s.opts.Workers.Jobs, s.opts.Workers.Poll = 2, 5*time.Millisecond
	s.opts.Limits.Budgets.Run.CostUSD = 0.5
	s.add(t, dag.NewTask{Detail: dag.Detail{Title: "one"}}, dag.NewTask{Detail: dag.Detail{Title: "two"}})
	out := s.run(t)
	check.That(t, out.Outcome == event.OutcomeLimit && out.Reason == "$0.60 of $0.50 spent", "got %+v", out)
}

// A drifting agent that does not stop when it is asked to cannot be asked to change: its attempt ends.
func TestADriftingAgentThatIgnoresTheCancelIsEnded(t *testing.T) {
	t.Parallel()
	var steps []fakeagent.Step
	for i := range 4 {
		steps = append(steps, fakeagent.Step{Do: "tool", ID: string(rune('a' + i)), Text: "x", Status: "failed"})
	}
	s := newStage(t, fakeagent.Script{Conversations: []fakeagent.Conversation{
		{When: fakeagent.When{Attempt: 1}, Steps: append(steps, fakeagent.Step{Do: "hang", Ignore: true})},
	}})
	s.opts.Agents.Detect.ToolFailures = 3
	s.add(t, dag.NewTask{Detail: dag.Detail{Title: "one"}})
	out := s.run(t)
	check.That(t, out.Outcome == event.OutcomeComplete && out.Iterations == 2, "got %+v", out)
	drifts := s.all(ofType(event.Drifted))
	check.That(t, len(drifts) == 1 && drifts[0].Outcome == "stronger", "got %+v", drifts)
}

// TestATaskThatGetsNoAnswerDoesNotHoldUpTheOthers: the agent answers to the others,
// so it is not at a limit, and in the end the task has failed.
func TestATaskThatGetsNoAnswerDoesNotHoldUpTheOthers(t *testing.T) {
	t.Parallel()
	s := newStage(t, fakeagent.Script{})
	s.withClock()
	s.opts.Rules.MaxAttempts = 2
	ids := s.add(t, dag.NewTask{Detail: dag.Detail{Title: "fine"}}, dag.NewTask{Detail: dag.Detail{Title: "mute"}})
	for range 12 {
		s.add(t, dag.NewTask{Detail: dag.Detail{Title: "later"}})
	}
	s.script.Conversations = []fakeagent.Conversation{{When: fakeagent.When{Task: ids[1]}}}
	out := s.run(t)
	check.That(t, out.Outcome == event.OutcomeComplete && out.Counts.Done == 13 && out.Counts.Failed == 1,
		"got %+v, want all but the mute one done", out)
	check.Equal(t, "status", dag.Failed, s.task(t, ids[1]).Status)
}

// TestALimitIsSuspectedAnewEachTime: two tasks in a row without an answer are a limit,
// and the task that is to blame does not have the agent left alone again and again.
func TestALimitIsSuspectedAnewEachTime(t *testing.T) {
	t.Parallel()
	s := newStage(t, fakeagent.Script{})
	s.withClock()
	ids := s.add(t, dag.NewTask{Detail: dag.Detail{Title: "fine"}}, dag.NewTask{Detail: dag.Detail{Title: "mute"}}, dag.NewTask{Detail: dag.Detail{Title: "later"}})
	s.opts.Rules.MaxAttempts = 1
	s.script.Conversations = []fakeagent.Conversation{
		{When: fakeagent.When{Task: ids[1]}},
		{When: fakeagent.When{Task: ids[2], Attempt: 1}},
	}
	out := s.run(t)
	check.That(t, out.Outcome == event.OutcomeComplete && out.Counts.Done == 2 && s.task(t, ids[1]).Status == dag.Failed, "got %+v", out)
	limits := s.all(func(e event.Event) bool { return e.Type == event.AttemptEnded && e.Outcome == "limited" })
	check.That(t, len(limits) == 3, "got %d attempts that ended at a limit, want mute, later, and mute once more", len(limits))
}

// TestNoAgentWaitsWhileItsRunDoes: that could be for hours.
func TestNoAgentWaitsWhileItsRunDoes(t *testing.T) {
	t.Parallel()
	s := newStage(t, fakeagent.Script{Conversations: []fakeagent.Conversation{limitedAt(1, "usage limit reached, try again in 5 hours")}})
	s.withClock()
	var said []string
	s.opts.Agents.Warm = func(attempt.Opening) {}
	s.opts.Agents.Cool = func() { said = append(said, "ended") }
	s.on(func(e event.Event) {
		if e.Type == event.Waiting {
			said = append(said, "waiting")
		}
	})
	s.add(t, dag.NewTask{Detail: dag.Detail{Title: "one"}})
	check.Equal(t, "outcome", event.OutcomeComplete, s.run(t).Outcome)
	check.Equal(t, "said", []string{"ended", "waiting"}, said[:2])
}
