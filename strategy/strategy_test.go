package strategy_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"ralph/event"
	"ralph/internal/testing/check"
	_ "ralph/internal/testing/seeded" // the same values each time
	"ralph/strategy"
)

// attempts builds a history of other tasks with these outcomes.
func attempts(outcomes ...event.AttemptOutcome) []strategy.Attempt {
	var out []strategy.Attempt
	for _, o := range outcomes {
		out = append(out, strategy.Attempt{Task: "t-00000000", Outcome: o})
	}
	return out
}

func notes(texts ...string) []strategy.Attempt {
	var out []strategy.Attempt
	for _, s := range texts {
		out = append(out, strategy.Attempt{Task: "t-00000000", Outcome: event.AttemptDone, Notes: s})
	}
	return out
}

const (
	done     = event.AttemptDone
	released = event.AttemptReleased
)

func TestNextChoosesTheModelOfItsStrategy(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		in   strategy.Input
		want string
	}{
		"fixed answers the model that was asked for":              {strategy.Input{Kind: strategy.Fixed, Model: "gpt-9"}, "gpt-9"},
		"fixed keeps its model after trouble":                     {strategy.Input{Kind: strategy.Fixed, Model: "haiku", Retries: 3, History: attempts(event.AttemptFailed)}, "haiku"},
		"fixed without a model leaves the agent its default":      {strategy.Input{Kind: strategy.Fixed}, ""},
		"fixed is a person's word and is not capped":              {strategy.Input{Kind: strategy.Fixed, Model: "opus", Used: 0.99}, "opus"},
		"naming a model without a strategy means fixed":           {strategy.Input{Model: "opus", Iteration: 7}, "opus"},
		"a tier is written as the constants have it":              {strategy.Input{Model: "Opus"}, "opus"},
		"without anything the strategy is cost-optimized":         {strategy.Input{}, "sonnet"},
		"cost-optimized starts with sonnet":                       {strategy.Input{Kind: strategy.CostOptimized, Iteration: 1}, "sonnet"},
		"cost-optimized stays at sonnet after two completions":    {strategy.Input{Kind: strategy.CostOptimized, History: attempts(done, done)}, "sonnet"},
		"cost-optimized drops to haiku after three completions":   {strategy.Input{Kind: strategy.CostOptimized, History: attempts(done, done, done)}, "haiku"},
		"completions need not be in a row":                        {strategy.Input{Kind: strategy.CostOptimized, History: attempts(done, released, done, done)}, "haiku"},
		"errors take priority over completions before them":       {strategy.Input{Kind: strategy.CostOptimized, History: attempts(done, done, done, event.AttemptFailed)}, "opus"},
		"errors take priority over completions after them":        {strategy.Input{Kind: strategy.CostOptimized, History: attempts(event.AttemptFailed, done, done, done)}, "opus"},
		"a retry of this task is trouble":                         {strategy.Input{Kind: strategy.CostOptimized, Retries: 1, History: attempts(done, done, done)}, "opus"},
		"a task that was released before is not steady":           {strategy.Input{Kind: strategy.CostOptimized, Task: "t-00000001", History: append(attempts(done, done, done), strategy.Attempt{Task: "t-00000001", Outcome: released})}, "sonnet"},
		"trouble of other tasks is forgotten after ten attempts":  {strategy.Input{Kind: strategy.CostOptimized, History: attempts(event.AttemptFailed, done, done, done, done, done, done, done, done, done, done)}, "haiku"},
		"trouble of other tasks is remembered for ten attempts":   {strategy.Input{Kind: strategy.CostOptimized, History: attempts(event.AttemptFailed, done, done, done, done, done, done, done, done, done)}, "opus"},
		"trouble of this task is never forgotten":                 {strategy.Input{Kind: strategy.CostOptimized, Task: "t-00000001", History: append([]strategy.Attempt{{Task: "t-00000001", Outcome: event.AttemptFailed}}, attempts(done, done, done, done, done, done, done, done, done, done)...)}, "opus"},
		"what got nowhere is followed by a stronger one":          {strategy.Input{Kind: strategy.Escalate, Above: strategy.Haiku}, "sonnet"},
		"above the strongest there is nothing":                    {strategy.Input{Kind: strategy.CostOptimized, Above: strategy.Opus}, "opus"},
		"what is stronger already is not lowered":                 {strategy.Input{Kind: strategy.CostOptimized, Above: strategy.Haiku, Retries: 1}, "opus"},
		"a hint cannot go back to what got nowhere":               {strategy.Input{Kind: strategy.Escalate, Above: strategy.Sonnet, Hint: "haiku"}, "opus"},
		"a person's model is kept though it got nowhere":          {strategy.Input{Kind: strategy.Escalate, Above: strategy.Haiku, Pinned: "haiku"}, "haiku"},
		"a run's fixed model is kept though it got nowhere":       {strategy.Input{Kind: strategy.Fixed, Model: "haiku", Above: strategy.Haiku}, "haiku"},
		"near the budget nothing stronger is bought":              {strategy.Input{Kind: strategy.Escalate, Above: strategy.Sonnet, Used: 0.9}, "sonnet"},
		"escalate starts with haiku":                              {strategy.Input{Kind: strategy.Escalate}, "haiku"},
		"escalate stays at haiku while all goes well":             {strategy.Input{Kind: strategy.Escalate, History: attempts(done, released, event.AttemptInterrupted)}, "haiku"},
		"escalate goes to sonnet on moderate distress":            {strategy.Input{Kind: strategy.Escalate, History: attempts(event.AttemptFailed)}, "sonnet"},
		"escalate goes to opus on severe distress":                {strategy.Input{Kind: strategy.Escalate, History: notes("I am stuck")}, "opus"},
		"escalate stays up after completions":                     {strategy.Input{Kind: strategy.Escalate, History: append(notes("I am stuck"), attempts(done, done, done, done)...)}, "opus"},
		"escalate takes the worst signal of a note":               {strategy.Input{Kind: strategy.Escalate, History: notes("an error, then a crash, then a bug")}, "opus"},
		"escalate goes to sonnet with the first retry":            {strategy.Input{Kind: strategy.Escalate, Retries: 1}, "sonnet"},
		"escalate goes to opus with the second retry":             {strategy.Input{Kind: strategy.Escalate, Retries: 2}, "opus"},
		"escalate goes to opus when one task fails twice":         {strategy.Input{Kind: strategy.Escalate, History: attempts(event.AttemptRetried, event.AttemptError)}, "opus"},
		"escalate counts trouble task by task":                    {strategy.Input{Kind: strategy.Escalate, History: []strategy.Attempt{{Task: "a", Outcome: event.AttemptError}, {Task: "b", Outcome: event.AttemptError}}}, "sonnet"},
		"escalate never goes below a tier it has bought":          {strategy.Input{Kind: strategy.Escalate, History: []strategy.Attempt{{Outcome: done, Tier: strategy.Opus}}}, "opus"},
		"escalate goes down by an earlier attempt's hint":         {strategy.Input{Kind: strategy.Escalate, History: []strategy.Attempt{{Outcome: event.AttemptFailed, Notes: "stuck", Hint: "haiku"}, {Outcome: done, Tier: strategy.Haiku}}}, "haiku"},
		"escalate goes up again after a hint":                     {strategy.Input{Kind: strategy.Escalate, History: []strategy.Attempt{{Notes: "stuck", Hint: "haiku"}, {Outcome: event.AttemptFailed}}}, "sonnet"},
		"plan-then-execute plans with opus":                       {strategy.Input{Kind: strategy.PlanThenExecute, Iteration: 1}, "opus"},
		"plan-then-execute executes with sonnet":                  {strategy.Input{Kind: strategy.PlanThenExecute, Iteration: 2}, "sonnet"},
		"plan-then-execute does not react to trouble":             {strategy.Input{Kind: strategy.PlanThenExecute, Iteration: 9, Retries: 2, History: notes("panic")}, "sonnet"},
		"a pinned model wins over strategy, hint and budget":      {strategy.Input{Kind: strategy.Escalate, Pinned: "opus", Hint: "haiku", Used: 1}, "opus"},
		"sonnet is the most after four fifths of the budget":      {strategy.Input{Kind: strategy.PlanThenExecute, Iteration: 1, Used: 0.80}, "sonnet"},
		"opus is bought just before four fifths of the budget":    {strategy.Input{Kind: strategy.PlanThenExecute, Iteration: 1, Used: 0.79}, "opus"},
		"haiku is the most after nineteen twentieths of it":       {strategy.Input{Kind: strategy.PlanThenExecute, Iteration: 1, Used: 0.95}, "haiku"},
		"the budget does not raise a tier":                        {strategy.Input{Kind: strategy.Escalate, Used: 0.85}, "haiku"},
		"an overspent budget is capped like a spent one":          {strategy.Input{Kind: strategy.PlanThenExecute, Used: 4}, "haiku"},
		"a strategy nobody knows is the default":                  {strategy.Input{Kind: "clever"}, "sonnet"},
		"a hint of an earlier attempt is over for cost-optimized": {strategy.Input{Kind: strategy.CostOptimized, History: []strategy.Attempt{{Outcome: done, Hint: "opus"}}}, "sonnet"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := strategy.Next(tt.in); got.Model != tt.want {
				t.Errorf("got %+v, want model %q", got, tt.want)
			}
		})
	}
}

func TestNextReactsToEveryOutcome(t *testing.T) {
	t.Parallel()
	tests := map[event.AttemptOutcome]struct{ costOptimized, escalate string }{
		event.AttemptDone:        {"sonnet", "haiku"},
		event.AttemptFailed:      {"opus", "sonnet"},
		event.AttemptRetried:     {"opus", "sonnet"},
		event.AttemptReleased:    {"sonnet", "haiku"},
		event.AttemptInterrupted: {"sonnet", "haiku"},
		event.AttemptTimeout:     {"opus", "sonnet"},
		event.AttemptRefused:     {"opus", "sonnet"},
		event.AttemptError:       {"opus", "sonnet"},
		event.AttemptLimited:     {"sonnet", "haiku"},
	}
	if got := len(event.AttemptOutcomes()); got != len(tests) {
		t.Fatalf("got %d outcomes, want a row for each of them (%d)", got, len(tests))
	}
	for outcome, tt := range tests {
		t.Run(string(outcome), func(t *testing.T) {
			t.Parallel()
			h := attempts(outcome)
			if got := strategy.Next(strategy.Input{Kind: strategy.CostOptimized, History: h}); got.Model != tt.costOptimized {
				t.Errorf("cost-optimized: got %+v, want %s", got, tt.costOptimized)
			}
			if got := strategy.Next(strategy.Input{Kind: strategy.Escalate, History: h}); got.Model != tt.escalate {
				t.Errorf("escalate: got %+v, want %s", got, tt.escalate)
			}
		})
	}
}

func TestHintsWinAndSayWhatTheyOverrode(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		in   strategy.Input
		want strategy.Choice
	}{
		"a hint wins over cost-optimized": {
			strategy.Input{Kind: strategy.CostOptimized, Hint: "haiku"},
			strategy.Choice{Model: "haiku", Tier: strategy.Haiku, Overrode: "sonnet", Reason: "asked for with <next-model>"},
		},
		"a hint wins over fixed": {
			strategy.Input{Kind: strategy.Fixed, Model: "opus", Hint: "sonnet"},
			strategy.Choice{Model: "sonnet", Tier: strategy.Sonnet, Overrode: "opus", Reason: "asked for with <next-model>"},
		},
		"a hint takes escalate down": {
			strategy.Input{Kind: strategy.Escalate, Hint: "haiku", History: notes("stuck")},
			strategy.Choice{Model: "haiku", Tier: strategy.Haiku, Overrode: "opus", Reason: "asked for with <next-model>"},
		},
		"a hint may be a name that is no tier": {
			strategy.Input{Kind: strategy.PlanThenExecute, Iteration: 2, Hint: "GPT-9"},
			strategy.Choice{Model: "GPT-9", Overrode: "sonnet", Reason: "asked for with <next-model>"},
		},
		"a hint that agrees overrides nothing": {
			strategy.Input{Kind: strategy.Escalate, Hint: " HAIKU "},
			strategy.Choice{Model: "haiku", Tier: strategy.Haiku, Reason: "escalate: no distress"},
		},
		"a hint is capped near the budget": {
			strategy.Input{Kind: strategy.Escalate, Hint: "opus", Used: 0.9},
			strategy.Choice{Model: "sonnet", Tier: strategy.Sonnet, Overrode: "haiku", Uncapped: "opus", Reason: "asked for with <next-model>; capped near the budget"},
		},
		"a name is not taken near the budget": {
			strategy.Input{Kind: strategy.Escalate, Hint: "gpt-9", Used: 0.9},
			strategy.Choice{Model: "haiku", Tier: strategy.Haiku, Reason: "escalate: no distress; the hint is no tier, and near the budget only a tier is taken"},
		},
		"a hint the cap makes equal overrides nothing": {
			strategy.Input{Kind: strategy.PlanThenExecute, Iteration: 2, Hint: "opus", Used: 0.9},
			strategy.Choice{Model: "sonnet", Tier: strategy.Sonnet, Reason: "plan-then-execute: later iterations execute"},
		},
		"the cap says what it took away": {
			strategy.Input{Kind: strategy.PlanThenExecute, Iteration: 1, Used: 0.9},
			strategy.Choice{Model: "sonnet", Tier: strategy.Sonnet, Uncapped: "opus", Reason: "plan-then-execute: the first iteration plans; capped near the budget"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check.Equal(t, "choice", tt.want, strategy.Next(tt.in))
		})
	}
}

func TestParseKindKnowsItsNames(t *testing.T) {
	t.Parallel()
	for _, k := range strategy.Kinds() {
		if got, err := strategy.ParseKind(string(k)); err != nil || got != k {
			t.Errorf("%s: got %q, %v, want it back", k, got, err)
		}
	}
	_, err := strategy.ParseKind("cheap")
	want := `unknown model strategy "cheap", want one of fixed, cost-optimized, escalate, plan-then-execute`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestEverySignalWordOfTheSeedIsHeard holds both lists of the seed's section
// on model strategies: its error signals, and the two levels of Escalate.
func TestEverySignalWordOfTheSeedIsHeard(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"error": "sonnet", "failure": "sonnet", "failed": "sonnet", "bug": "sonnet", "stuck": "opus", "cannot": "opus",
		"unable": "opus", "panic": "opus", "crash": "opus", "broken": "opus", "regression": "opus",
	}
	for word, escalated := range tests {
		t.Run(word, func(t *testing.T) {
			t.Parallel()
			h := notes("The test says "+word+", again.", "", "")
			if got := strategy.Next(strategy.Input{Kind: strategy.CostOptimized, History: h}); got.Model != "opus" {
				t.Errorf("cost-optimized: got %+v, want opus", got)
			}
			if got := strategy.Next(strategy.Input{Kind: strategy.Escalate, History: h}); got.Model != escalated {
				t.Errorf("escalate: got %+v, want %s", got, escalated)
			}
		})
	}
}

func TestSignalsAreWholeWords(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		note  string
		heard bool
	}{
		"debug is not bug":                     {"added debug output", false},
		"a longer word is another word":        {"errors, failures, crashing, unbroken, panicky", false},
		"an identifier is another word":        {"renamed error_code and bug_id", false},
		"a word with letters of other scripts": {"bugé and éerror", false},
		"a word with digits":                   {"bug2", false},
		"upper case is the same word":          {"PANIC", true},
		"punctuation ends a word":              {"(bug)", true},
		"a hyphen ends a word":                 {"error-prone", true},
		"a line break ends a word":             {"so\nstuck\nhere", true},
		"the first and the last word count":    {"broken", true},
		"no takes a signal back":               {"there is no regression", false},
		"without takes a signal back":          {"ends without error", false},
		"a count of zero takes a signal back":  {"0 error, zero bug", false},
		"not takes nothing back":               {"this is not stuck", true},
		"a later signal still counts":          {"no error, but one crash", true},
		"an empty note says nothing":           {"", false},
		"invalid text says nothing":            {"\xff\xfe", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := strategy.Next(strategy.Input{Kind: strategy.CostOptimized, History: notes(tt.note)})
			if heard := got.Tier == strategy.Opus; heard != tt.heard {
				t.Errorf("note %q: got %+v, want heard = %v", tt.note, got, tt.heard)
			}
		})
	}
}

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
