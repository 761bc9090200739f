package loop

import (
	"context"
	"testing"

	"ralph/dag"
	"ralph/internal/budget"
	"ralph/internal/event"
	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
	"ralph/loop/attempt"
	"ralph/prompt"
)

// accepting is a stage with a feature of one task, and a verifier that answers its acceptance so.
func accepting(t *testing.T, answers ...fakeagent.Conversation) *stage {
	t.Helper()
	verifies := true
	for i := range answers {
		answers[i].When.Verify = &verifies
	}
	s := newStage(t, fakeagent.Script{Conversations: answers})
	s.opts.Prompt.Context = func(dag.Task) attempt.Sources {
		return attempt.Sources{Spec: prompt.Document{Text: "There is a way out.", From: "spec.md"}}
	}
	s.opts.Verify.Acceptor = &Acceptor{Specified: func(string) bool { return true }}
	s.update(t, func(g *dag.Graph) error { _, err := g.Plan.AddFeature("door"); return err })
	s.add(t, dag.NewTask{Detail: dag.Detail{Title: "Build"}, Feature: "door"})
	return s
}

// acceptance is the only one there is.
func (s *stage) acceptance(t *testing.T) dag.Task {
	t.Helper()
	var list []dag.Task
	s.update(t, func(g *dag.Graph) (err error) { list, err = g.Tasks.List(dag.Filter{Feature: "door"}); return err })
	check.Equal(t, "tasks", 2, len(list))
	check.Equal(t, "the title", "Accept door: its specification", list[1].Title)
	return list[1]
}

func TestAnAcceptanceWaitsForALimit(t *testing.T) {
	t.Parallel()
	s := accepting(t, limitedAt(1, "You've hit your usage limit, try again in 5 hours."))
	s.withClock()
	out := s.run(t)
	check.Equal(t, "the outcome", event.OutcomeComplete, out.Outcome)
	got := s.acceptance(t)
	check.That(t, got.Status == dag.Done && got.Attempts == 1, "got %s with %d attempts", got.Status, got.Attempts)
	check.Equal(t, "waits", 1, len(s.all(ofType(event.Waiting))))
}

func TestAnAcceptanceThatDiesIsAskedOnceMore(t *testing.T) {
	t.Parallel()
	s := accepting(t, fakeagent.Conversation{When: fakeagent.When{Attempt: 1}, Steps: []fakeagent.Step{{Do: "exit", N: 3}}})
	check.Equal(t, "the outcome", event.OutcomeComplete, s.run(t).Outcome)
	got := s.acceptance(t)
	check.That(t, got.Status == dag.Done && got.Attempts == 1, "got %s with %d attempts", got.Status, got.Attempts)
	check.Equal(t, "sessions", 3, s.count(t, "prompted"))
	check.Equal(t, "who looked", "fake", s.attempts(t, got.ID)[0].Agent)
}

// What an acceptance costs is its feature's, and a budget that is used up costs it no attempt.
func TestAnAcceptanceIsPaidByItsFeature(t *testing.T) {
	t.Parallel()
	cost := 0.6
	spends := []fakeagent.Step{{Do: "usage", N: 1, Cost: &cost}, {Do: "hang"}}
	s := accepting(t, fakeagent.Conversation{When: fakeagent.When{Attempt: 1}, Steps: spends})
	s.opts.Limits.Budgets.Feature = budget.Limits{CostUSD: 0.5}
	check.Equal(t, "the outcome", event.OutcomeLimit, s.run(t).Outcome)
	s.wantUncharged(t, s.acceptance(t).ID)
	var used dag.Usage
	s.update(t, func(g *dag.Graph) (err error) { used, err = g.History.UsageOfFeature("door", ""); return err })
	check.That(t, used.CostUSD != nil && *used.CostUSD == cost, "got %+v", used)
	s.opts.Limits.Budgets.Feature = budget.Limits{}
	check.Equal(t, "the next outcome", event.OutcomeComplete, s.run(t).Outcome)
	check.Equal(t, "the acceptance", dag.Done, s.acceptance(t).Status)
}

func TestAnAcceptanceThatIsInterruptedIsLeft(t *testing.T) {
	t.Parallel()
	s := accepting(t, fakeagent.Conversation{When: fakeagent.When{Attempt: 1}, Steps: []fakeagent.Step{{Do: "mark", Text: "looks"}, {Do: "hang"}}})
	ctx, cancel := context.WithCancel(t.Context())
	_, ended := s.begin(t, ctx)
	s.awaitMark(t, "looks")
	cancel()
	check.Equal(t, "the outcome", event.OutcomeInterrupted, (<-ended).Outcome)
	s.wantUncharged(t, s.acceptance(t).ID)
	check.Equal(t, "the next outcome", event.OutcomeComplete, s.run(t).Outcome)
	check.Equal(t, "the acceptance", dag.Done, s.acceptance(t).Status)
}
