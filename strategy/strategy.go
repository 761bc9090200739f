// Package strategy decides which model the next iteration is given, from what
// the iterations before it came to.
//
// It never reads a clock, a file or a database, never keeps anything between
// two calls, and never learns a model's real name: it speaks of three tiers,
// and mapping a tier to what an agent calls it is not its business.
package strategy

import (
	"slices"
	"strings"

	"ralph/event"
)

// Input is everything a choice depends on. Its zero value asks for the first
// iteration of a run with the default strategy.
type Input struct {
	// Kind is the strategy. Empty means Fixed when Model is set and
	// CostOptimized otherwise.
	Kind Kind
	// Model is what Fixed always answers, a tier or a name; empty leaves the
	// agent its own default. Other strategies ignore it.
	Model string
	// Pinned is the model that a person gave to this one task. It wins over
	// the strategy, over a hint and over the budget.
	Pinned string
	// Hint is the <next-model> of the iteration before this one, already known
	// to be a tier or a name that the agent offers.
	Hint string
	// Iteration counts the iterations of the run from 1.
	Iteration int
	// Task is the ID of the task about to run, Retries how often its
	// verification has sent it back.
	Task    string
	Retries int
	// Above is a tier that was not enough for this task: a stronger one is
	// chosen, if there is one and a person did not name the model.
	Above Tier
	// History holds the attempts in scope, oldest first.
	History []Attempt
	// Used is the share of the tightest budget already spent: 0 for none, 1
	// for all of it.
	Used float64
}

// Attempt is what one earlier iteration came to.
type Attempt struct {
	Task    string
	Outcome event.AttemptOutcome
	// Tier is what the strategy chose for it; empty when a person did, or when
	// nobody knows any more.
	Tier Tier
	// Hint is the <next-model> it ended with.
	Hint string
	// Notes is its journal entry, where whole-word signals are looked for.
	Notes string
}

// Choice is the model for one iteration and why.
type Choice struct {
	// Model is a tier or a name, and empty for the agent's own default.
	Model string
	// Tier is Model when Model is a tier, and empty otherwise.
	Tier Tier
	// Reason says in one line what decided.
	Reason string
	// Overrode is what the strategy would have chosen when a hint changed it.
	Overrode string
	// Uncapped is what would have been chosen but for the budget.
	Uncapped string
}

// Next chooses the model of the next iteration. It answers for every input,
// and always the same for the same one.
//
// Fixed and pinned models are a person's word, so the budget does not change
// them: what stops such a run is its hard limit.
func Next(in Input) Choice {
	if in.Pinned != "" {
		return choose(in.Pinned, "the task names its model")
	}
	own := unhinted(in)
	hint := strings.TrimSpace(in.Hint)
	if hint == "" {
		return own
	}
	hinted := choose(hint, "asked for with <next-model>")
	if hinted.Tier == "" && limit(in.Used) != "" {
		// A name cannot be compared with a tier, so near the end of the money
		// nobody can say that it is cheap enough.
		own.Reason += "; the hint is no tier, and near the budget only a tier is taken"
		return own
	}
	hinted = capped(raised(hinted, in.Above), in.Used)
	if hinted.Model == own.Model {
		return own
	}
	hinted.Overrode = own.Model
	return hinted
}

// unhinted is what the strategy comes to by itself.
func unhinted(in Input) Choice {
	kind := in.Kind.or(in.Model)
	model, reason := kind.choose(in)
	own := choose(model, string(kind)+": "+reason)
	if kind == Fixed {
		return own
	}
	return capped(raised(own, in.Above), in.Used)
}

func choose(model, reason string) Choice {
	tier, _ := ParseTier(model)
	return Choice{Model: normal(model), Tier: tier, Reason: reason}
}

// normal writes a tier the way the constants do and leaves names alone, whose
// case may matter to the agent.
func normal(model string) string {
	if tier, ok := ParseTier(model); ok {
		return string(tier)
	}
	return model
}

// Tier is a class of model by price and ability.
type Tier string

// The tiers, cheapest first.
const (
	Haiku  Tier = "haiku"
	Sonnet Tier = "sonnet"
	Opus   Tier = "opus"
)

// Tiers returns all tiers, cheapest first.
func Tiers() []Tier { return []Tier{Haiku, Sonnet, Opus} }

// ParseTier reports whether s names a tier, in whatever case. Anything else is
// the name of a model, which only its agent understands.
func ParseTier(s string) (Tier, bool) {
	for _, t := range Tiers() {
		if strings.EqualFold(strings.TrimSpace(s), string(t)) {
			return t, true
		}
	}
	return "", false
}

// rank orders tiers by price; what is no tier comes before all of them.
func (t Tier) rank() int { return slices.Index(Tiers(), t) }

func higher(a, b Tier) Tier {
	if a.rank() >= b.rank() {
		return a
	}
	return b
}

// raised lifts a choice above a tier that was not enough.
func raised(c Choice, above Tier) Choice {
	if above == "" || c.Tier == "" || c.Tier.rank() > above.rank() {
		return c
	}
	tiers := Tiers()
	next := tiers[min(above.rank()+1, len(tiers)-1)]
	if next != c.Tier {
		c.Model, c.Tier = string(next), next
		c.Reason += "; raised, because " + string(above) + " got nowhere"
	}
	return c
}

// From these shares of the budget on, a tier is the dearest still bought. The
// last tasks of a night are then done by a cheaper model, not left undone.
const (
	sonnetFrom = 0.80
	haikuFrom  = 0.95
)

// limit returns the dearest tier that the budget allows, or "" for any.
func limit(used float64) Tier {
	switch {
	case used >= haikuFrom:
		return Haiku
	case used >= sonnetFrom:
		return Sonnet
	}
	return ""
}

// capped lowers a choice to what the budget allows. A choice that is no tier
// cannot be compared with one and stays.
func capped(c Choice, used float64) Choice {
	most := limit(used)
	if most == "" || c.Tier == "" || c.Tier.rank() <= most.rank() {
		return c
	}
	c.Uncapped = c.Model
	c.Model, c.Tier = string(most), most
	c.Reason += "; capped near the budget"
	return c
}
