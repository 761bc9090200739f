package strategy_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"ralph/event"
	_ "ralph/internal/testing/seeded" // the same values each time
	"ralph/strategy"
)

func anyAttempt() *rapid.Generator[strategy.Attempt] {
	return rapid.Custom(func(t *rapid.T) strategy.Attempt {
		return strategy.Attempt{
			Task:    rapid.SampledFrom([]string{"t-1", "t-2", "t-3"}).Draw(t, "task"),
			Outcome: rapid.SampledFrom(append(event.AttemptOutcomes(), "unheard of")).Draw(t, "outcome"),
			Tier:    rapid.SampledFrom(append(strategy.Tiers(), "", "other")).Draw(t, "tier"),
			Hint:    rapid.SampledFrom([]string{"", "", "opus", "haiku", "gpt-9"}).Draw(t, "hint"),
			Notes:   rapid.SampledFrom([]string{"", "fine", "a bug", "stuck", "debug", "no error"}).Draw(t, "notes"),
		}
	})
}

func anyInput() *rapid.Generator[strategy.Input] {
	return rapid.Custom(func(t *rapid.T) strategy.Input {
		return strategy.Input{
			Kind:      rapid.SampledFrom(append(strategy.Kinds(), "", "unheard of")).Draw(t, "kind"),
			Model:     rapid.SampledFrom([]string{"", "opus", "gpt-9"}).Draw(t, "model"),
			Pinned:    rapid.SampledFrom([]string{"", "", "sonnet", "gpt-8"}).Draw(t, "pinned"),
			Hint:      rapid.OneOf(rapid.SampledFrom([]string{"", "opus", "sonnet", "haiku"}), rapid.String()).Draw(t, "hint"),
			Iteration: rapid.IntRange(-1, 50).Draw(t, "iteration"),
			Task:      rapid.SampledFrom([]string{"", "t-1", "t-2"}).Draw(t, "task"),
			Retries:   rapid.IntRange(-1, 9).Draw(t, "retries"),
			History:   rapid.SliceOf(anyAttempt()).Draw(t, "history"),
			Above:     rapid.SampledFrom(append(strategy.Tiers(), "", "other")).Draw(t, "above"),
			Used:      rapid.Float64().Draw(t, "used"),
		}
	})
}

func TestNextAnswersEveryInputTheSameWayTwice(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := anyInput().Draw(t, "input")
		before := slices.Clone(in.History)
		got := strategy.Next(in)
		if diff := cmp.Diff(got, strategy.Next(in)); diff != "" {
			t.Fatalf("asked twice it differs:\n%s", diff)
		}
		if diff := cmp.Diff(before, in.History); diff != "" {
			t.Fatalf("the history was changed:\n%s", diff)
		}
		if got.Reason == "" {
			t.Fatalf("got %+v without a reason", got)
		}
		if tier, ok := strategy.ParseTier(got.Model); ok != (got.Tier != "") || tier != got.Tier {
			t.Fatalf("got tier %q for model %q", got.Tier, got.Model)
		}
		if got.Overrode == got.Model && got.Model != "" {
			t.Fatalf("got %+v, which overrode itself", got)
		}
		if in.Kind != strategy.Fixed && in.Model == "" && in.Hint == "" && in.Pinned == "" && got.Tier == "" {
			t.Fatalf("got %+v, want a tier from a strategy that was left alone", got)
		}
	})
}

func TestFixedIsConstant(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := anyInput().Draw(t, "input")
		in.Kind, in.Pinned, in.Hint = strategy.Fixed, "", ""
		if got := strategy.Next(in); got.Model != in.Model {
			t.Fatalf("got %+v, want %q", got, in.Model)
		}
	})
}

// TestEscalateNeverStepsDownByItself plays whole runs: what is chosen is
// recorded with the attempt, as the loop does, tasks alternate and retries
// come and go. The budget and hints are the only ways down, so there are none.
func TestEscalateNeverStepsDownByItself(t *testing.T) {
	t.Parallel()
	rank := func(tier strategy.Tier) int { return slices.Index(strategy.Tiers(), tier) }
	rapid.Check(t, func(t *rapid.T) {
		var history []strategy.Attempt
		previous := strategy.Haiku
		for i := range rapid.IntRange(1, 30).Draw(t, "iterations") {
			a := anyAttempt().Draw(t, "attempt")
			got := strategy.Next(strategy.Input{
				Kind:      strategy.Escalate,
				Iteration: i + 1,
				Task:      a.Task,
				Retries:   rapid.IntRange(0, 3).Draw(t, "retries"),
				History:   history,
			})
			if rank(got.Tier) < rank(previous) {
				t.Fatalf("iteration %d: got %+v after %s", i+1, got, previous)
			}
			previous = got.Tier
			a.Tier, a.Hint = got.Tier, ""
			history = append(history, a)
		}
	})
}

func TestNoChoiceOfAStrategyExceedsTheBudgetsTier(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := anyInput().Draw(t, "input")
		in.Kind, in.Pinned = strategy.Escalate, ""
		in.Used = rapid.Float64Range(0.95, 2).Draw(t, "used")
		if got := strategy.Next(in); got.Tier != strategy.Haiku {
			t.Fatalf("got %+v, want haiku", got)
		}
	})
}
