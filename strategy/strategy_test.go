package strategy

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"ralph/internal/event"
	"ralph/internal/testing/check"
	_ "ralph/internal/testing/seeded" // the same values each time
)

// attempts builds a history of other tasks with these outcomes.
func attempts(outcomes ...event.AttemptOutcome) []Attempt {
	var out []Attempt
	for _, o := range outcomes {
		out = append(out, Attempt{Task: "t-00000000", Outcome: o})
	}
	return out
}

func notes(texts ...string) []Attempt {
	var out []Attempt
	for _, s := range texts {
		out = append(out, Attempt{Task: "t-00000000", Outcome: event.AttemptDone, Notes: s})
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
		in   Input
		want string
	}{
		"fixed answers the model that was asked for":              {Input{Kind: Fixed, Model: "gpt-9"}, "gpt-9"},
		"fixed keeps its model after trouble":                     {Input{Kind: Fixed, Model: "haiku", Retries: 3, History: attempts(event.AttemptFailed)}, "haiku"},
		"fixed without a model leaves the agent its default":      {Input{Kind: Fixed}, ""},
		"fixed is a person's word and is not capped":              {Input{Kind: Fixed, Model: "opus", Used: 0.99}, "opus"},
		"naming a model without a strategy means fixed":           {Input{Model: "opus", Iteration: 7}, "opus"},
		"a tier is written as the constants have it":              {Input{Model: "Opus"}, "opus"},
		"without anything the strategy is cost-optimized":         {Input{}, "sonnet"},
		"cost-optimized starts with sonnet":                       {Input{Kind: CostOptimized, Iteration: 1}, "sonnet"},
		"cost-optimized stays at sonnet after two completions":    {Input{Kind: CostOptimized, History: attempts(done, done)}, "sonnet"},
		"cost-optimized drops to haiku after three completions":   {Input{Kind: CostOptimized, History: attempts(done, done, done)}, "haiku"},
		"completions need not be in a row":                        {Input{Kind: CostOptimized, History: attempts(done, released, done, done)}, "haiku"},
		"errors take priority over completions before them":       {Input{Kind: CostOptimized, History: attempts(done, done, done, event.AttemptFailed)}, "opus"},
		"errors take priority over completions after them":        {Input{Kind: CostOptimized, History: attempts(event.AttemptFailed, done, done, done)}, "opus"},
		"a retry of this task is trouble":                         {Input{Kind: CostOptimized, Retries: 1, History: attempts(done, done, done)}, "opus"},
		"a task that was released before is not steady":           {Input{Kind: CostOptimized, Task: "t-00000001", History: append(attempts(done, done, done), Attempt{Task: "t-00000001", Outcome: released})}, "sonnet"},
		"trouble of other tasks is forgotten after ten attempts":  {Input{Kind: CostOptimized, History: attempts(event.AttemptFailed, done, done, done, done, done, done, done, done, done, done)}, "haiku"},
		"trouble of other tasks is remembered for ten attempts":   {Input{Kind: CostOptimized, History: attempts(event.AttemptFailed, done, done, done, done, done, done, done, done, done)}, "opus"},
		"trouble of this task is never forgotten":                 {Input{Kind: CostOptimized, Task: "t-00000001", History: append([]Attempt{{Task: "t-00000001", Outcome: event.AttemptFailed}}, attempts(done, done, done, done, done, done, done, done, done, done)...)}, "opus"},
		"what got nowhere is followed by a stronger one":          {Input{Kind: Escalate, Above: Haiku}, "sonnet"},
		"above the strongest there is nothing":                    {Input{Kind: CostOptimized, Above: Opus}, "opus"},
		"what is stronger already is not lowered":                 {Input{Kind: CostOptimized, Above: Haiku, Retries: 1}, "opus"},
		"a hint cannot go back to what got nowhere":               {Input{Kind: Escalate, Above: Sonnet, Hint: "haiku"}, "opus"},
		"a person's model is kept though it got nowhere":          {Input{Kind: Escalate, Above: Haiku, Pinned: "haiku"}, "haiku"},
		"a run's fixed model is kept though it got nowhere":       {Input{Kind: Fixed, Model: "haiku", Above: Haiku}, "haiku"},
		"near the budget nothing stronger is bought":              {Input{Kind: Escalate, Above: Sonnet, Used: 0.9}, "sonnet"},
		"escalate starts with haiku":                              {Input{Kind: Escalate}, "haiku"},
		"escalate stays at haiku while all goes well":             {Input{Kind: Escalate, History: attempts(done, released, event.AttemptInterrupted)}, "haiku"},
		"escalate goes to sonnet on moderate distress":            {Input{Kind: Escalate, History: attempts(event.AttemptFailed)}, "sonnet"},
		"escalate goes to opus on severe distress":                {Input{Kind: Escalate, History: notes("I am stuck")}, "opus"},
		"escalate stays up after completions":                     {Input{Kind: Escalate, History: append(notes("I am stuck"), attempts(done, done, done, done)...)}, "opus"},
		"escalate takes the worst signal of a note":               {Input{Kind: Escalate, History: notes("an error, then a crash, then a bug")}, "opus"},
		"escalate goes to sonnet with the first retry":            {Input{Kind: Escalate, Retries: 1}, "sonnet"},
		"escalate goes to opus with the second retry":             {Input{Kind: Escalate, Retries: 2}, "opus"},
		"escalate goes to opus when one task fails twice":         {Input{Kind: Escalate, History: attempts(event.AttemptRetried, event.AttemptError)}, "opus"},
		"escalate counts trouble task by task":                    {Input{Kind: Escalate, History: []Attempt{{Task: "a", Outcome: event.AttemptError}, {Task: "b", Outcome: event.AttemptError}}}, "sonnet"},
		"escalate never goes below a tier it has bought":          {Input{Kind: Escalate, History: []Attempt{{Outcome: done, Tier: Opus}}}, "opus"},
		"escalate goes down by an earlier attempt's hint":         {Input{Kind: Escalate, History: []Attempt{{Outcome: event.AttemptFailed, Notes: "stuck", Hint: "haiku"}, {Outcome: done, Tier: Haiku}}}, "haiku"},
		"escalate goes up again after a hint":                     {Input{Kind: Escalate, History: []Attempt{{Notes: "stuck", Hint: "haiku"}, {Outcome: event.AttemptFailed}}}, "sonnet"},
		"plan-then-execute plans with opus":                       {Input{Kind: PlanThenExecute, Iteration: 1}, "opus"},
		"plan-then-execute executes with sonnet":                  {Input{Kind: PlanThenExecute, Iteration: 2}, "sonnet"},
		"plan-then-execute does not react to trouble":             {Input{Kind: PlanThenExecute, Iteration: 9, Retries: 2, History: notes("panic")}, "sonnet"},
		"a pinned model wins over strategy, hint and budget":      {Input{Kind: Escalate, Pinned: "opus", Hint: "haiku", Used: 1}, "opus"},
		"sonnet is the most after four fifths of the budget":      {Input{Kind: PlanThenExecute, Iteration: 1, Used: 0.80}, "sonnet"},
		"opus is bought just before four fifths of the budget":    {Input{Kind: PlanThenExecute, Iteration: 1, Used: 0.79}, "opus"},
		"haiku is the most after nineteen twentieths of it":       {Input{Kind: PlanThenExecute, Iteration: 1, Used: 0.95}, "haiku"},
		"the budget does not raise a tier":                        {Input{Kind: Escalate, Used: 0.85}, "haiku"},
		"an overspent budget is capped like a spent one":          {Input{Kind: PlanThenExecute, Used: 4}, "haiku"},
		"a strategy nobody knows is the default":                  {Input{Kind: "clever"}, "sonnet"},
		"a hint of an earlier attempt is over for cost-optimized": {Input{Kind: CostOptimized, History: []Attempt{{Outcome: done, Hint: "opus"}}}, "sonnet"},
	}
	for name, tt := range tests {
		check.Equal(t, name, tt.want, Next(tt.in).Model)
	}
}

// TestNextReactsToEveryOutcomeAndSignal: the words are those of the seed's section on
// model strategies: its error signals, and the two levels of Escalate.
func TestNextReactsToEveryOutcomeAndSignal(t *testing.T) {
	t.Parallel()
	type models struct{ CostOptimized, Escalate string }
	want := func(what string, want models, history []Attempt) {
		t.Helper()
		got := models{Next(Input{Kind: CostOptimized, History: history}).Model, Next(Input{Kind: Escalate, History: history}).Model}
		check.Equal(t, what, want, got)
	}
	neutral, moderate, severe := models{"sonnet", "haiku"}, models{"opus", "sonnet"}, models{"opus", "opus"}
	outcomes := map[event.AttemptOutcome]models{
		event.AttemptDone: neutral, event.AttemptAlreadyDone: neutral, event.AttemptReleased: neutral, event.AttemptInterrupted: neutral, event.AttemptLimited: neutral, event.AttemptAsked: neutral,
		event.AttemptFailed: moderate, event.AttemptRetried: moderate, event.AttemptTimeout: moderate, event.AttemptRefused: moderate, event.AttemptError: moderate,
	}
	check.Equal(t, "rows", len(event.AttemptOutcomes()), len(outcomes))
	for outcome, models := range outcomes {
		want(string(outcome), models, attempts(outcome))
	}
	for word, models := range map[string]models{
		"error": moderate, "failure": moderate, "failed": moderate, "bug": moderate, "stuck": severe, "cannot": severe,
		"unable": severe, "panic": severe, "crash": severe, "broken": severe, "regression": severe,
	} {
		want(word, models, notes("The test says "+word+", again.", "", ""))
	}
}

func TestHintsWinAndSayWhatTheyOverrode(t *testing.T) {
	t.Parallel()
	const asked, near = "asked for with <next-model>", "; capped near the budget"
	for name, tt := range map[string]struct {
		in   Input
		want Choice // without its tier, which its model says
	}{
		"a hint wins over cost-optimized":      {Input{Kind: CostOptimized, Hint: "haiku"}, Choice{Model: "haiku", Overrode: "sonnet", Reason: asked}},
		"a hint wins over fixed":               {Input{Kind: Fixed, Model: "opus", Hint: "sonnet"}, Choice{Model: "sonnet", Overrode: "opus", Reason: asked}},
		"a hint takes escalate down":           {Input{Kind: Escalate, Hint: "haiku", History: notes("stuck")}, Choice{Model: "haiku", Overrode: "opus", Reason: asked}},
		"a hint may be a name that is no tier": {Input{Kind: PlanThenExecute, Iteration: 2, Hint: "GPT-9"}, Choice{Model: "GPT-9", Overrode: "sonnet", Reason: asked}},
		"a hint that agrees overrides nothing": {Input{Kind: Escalate, Hint: " HAIKU "}, Choice{Model: "haiku", Reason: "escalate: no distress"}},
		"a hint is capped near the budget":     {Input{Kind: Escalate, Hint: "opus", Used: 0.9}, Choice{Model: "sonnet", Overrode: "haiku", Uncapped: "opus", Reason: asked + near}},
		"a name is not taken near the budget": {
			Input{Kind: Escalate, Hint: "gpt-9", Used: 0.9},
			Choice{Model: "haiku", Reason: "escalate: no distress; the hint is no tier, and near the budget only a tier is taken"},
		},
		"a hint the cap makes equal overrides nothing": {
			Input{Kind: PlanThenExecute, Iteration: 2, Hint: "opus", Used: 0.9},
			Choice{Model: "sonnet", Reason: "plan-then-execute: later iterations execute"},
		},
		"the cap says what it took away": {
			Input{Kind: PlanThenExecute, Iteration: 1, Used: 0.9},
			Choice{Model: "sonnet", Uncapped: "opus", Reason: "plan-then-execute: the first iteration plans" + near},
		},
	} {
		tt.want.Tier, _ = ParseTier(tt.want.Model)
		check.Equal(t, name, tt.want, Next(tt.in))
	}
}

func TestParseKindKnowsItsNames(t *testing.T) {
	t.Parallel()
	for _, k := range Kinds() {
		got, err := ParseKind(string(k))
		check.OK(t, err)
		check.Equal(t, "kind", k, got)
	}
	_, err := ParseKind("cheap")
	check.Equal(t, "error", `unknown model strategy "cheap", want one of fixed, cost-optimized, escalate, plan-then-execute`, fmt.Sprint(err))
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
		check.Equal(t, name, tt.heard, Next(Input{Kind: CostOptimized, History: notes(tt.note)}).Tier == Opus)
	}
}

func anyAttempt() *rapid.Generator[Attempt] {
	return rapid.Custom(func(t *rapid.T) Attempt {
		return Attempt{
			Task:    rapid.SampledFrom([]string{"t-1", "t-2", "t-3"}).Draw(t, "task"),
			Outcome: rapid.SampledFrom(append(event.AttemptOutcomes(), "unheard of")).Draw(t, "outcome"),
			Tier:    rapid.SampledFrom(append(Tiers(), "", "other")).Draw(t, "tier"),
			Hint:    rapid.SampledFrom([]string{"", "", "opus", "haiku", "gpt-9"}).Draw(t, "hint"),
			Notes:   rapid.SampledFrom([]string{"", "fine", "a bug", "stuck", "debug", "no error"}).Draw(t, "notes"),
		}
	})
}

func anyInput() *rapid.Generator[Input] {
	return rapid.Custom(func(t *rapid.T) Input {
		return Input{
			Kind:      rapid.SampledFrom(append(Kinds(), "", "unheard of")).Draw(t, "kind"),
			Model:     rapid.SampledFrom([]string{"", "opus", "gpt-9"}).Draw(t, "model"),
			Pinned:    rapid.SampledFrom([]string{"", "", "sonnet", "gpt-8"}).Draw(t, "pinned"),
			Hint:      rapid.OneOf(rapid.SampledFrom([]string{"", "opus", "sonnet", "haiku"}), rapid.String()).Draw(t, "hint"),
			Iteration: rapid.IntRange(-1, 50).Draw(t, "iteration"),
			Task:      rapid.SampledFrom([]string{"", "t-1", "t-2"}).Draw(t, "task"),
			Retries:   rapid.IntRange(-1, 9).Draw(t, "retries"),
			History:   rapid.SliceOf(anyAttempt()).Draw(t, "history"),
			Above:     rapid.SampledFrom(append(Tiers(), "", "other")).Draw(t, "above"),
			Used:      rapid.Float64().Draw(t, "used"),
		}
	})
}

func TestNextAnswersEveryInputTheSameWayTwice(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := anyInput().Draw(t, "input")
		before := slices.Clone(in.History)
		got := Next(in)
		check.Equal(t, "asked twice", got, Next(in))
		check.Equal(t, "the history", before, in.History)
		check.That(t, got.Reason != "", "got %+v without a reason", got)
		tier, ok := ParseTier(got.Model)
		check.That(t, ok == (got.Tier != "") && tier == got.Tier, "got tier %q for model %q", got.Tier, got.Model)
		check.That(t, got.Overrode != got.Model || got.Model == "", "got %+v, which overrode itself", got)
		left := in.Kind != Fixed && in.Model == "" && in.Hint == "" && in.Pinned == ""
		check.That(t, !left || got.Tier != "", "got %+v, want a tier from a strategy that was left alone", got)
	})
}

func TestFixedIsConstant(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := anyInput().Draw(t, "input")
		in.Kind, in.Pinned, in.Hint = Fixed, "", ""
		got := Next(in)
		check.That(t, got.Model == in.Model, "got %+v, want %q", got, in.Model)
	})
}

// TestEscalateNeverStepsDownByItself plays whole runs: what is chosen is
// recorded with the attempt, as the loop does, tasks alternate and retries
// come and go. The budget and hints are the only ways down, so there are none.
func TestEscalateNeverStepsDownByItself(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var history []Attempt
		previous := Haiku
		for i := range rapid.IntRange(1, 30).Draw(t, "iterations") {
			a := anyAttempt().Draw(t, "attempt")
			got := Next(Input{Kind: Escalate, Iteration: i + 1, Task: a.Task, Retries: rapid.IntRange(0, 3).Draw(t, "retries"), History: history})
			check.That(t, got.Tier.rank() >= previous.rank(), "iteration %d: got %+v after %s", i+1, got, previous)
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
		in.Kind, in.Pinned = Escalate, ""
		in.Used = rapid.Float64Range(0.95, 2).Draw(t, "used")
		got := Next(in)
		check.That(t, got.Tier == Haiku, "got %+v, want haiku", got)
	})
}
