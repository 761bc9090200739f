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

	"ralph/internal/event"
)

// Input is everything a choice depends on. Its zero value asks for the first
// iteration of a run with the default strategy.
type Input struct {
	Kind      Kind      // empty means Fixed when Model is set and CostOptimized otherwise
	Model     string    // what Fixed answers, a tier or a name; empty leaves the agent its own default
	Pinned    string    // given to this task by a person; wins over strategy, hint and budget
	Hint      string    // the <next-model> of the iteration before, a tier or a name that the agent offers
	Iteration int       // of the run, from 1
	Task      string    // the ID of the task about to run
	Retries   int       // how often its verification has sent it back
	Above     Tier      // was not enough for this task: a stronger tier is chosen, if there is one
	History   []Attempt // those in scope, oldest first
	Used      float64   // the share of the tightest budget already spent: 1 for all of it
}

// Attempt is what one earlier iteration came to.
type Attempt struct {
	Task    string
	Outcome event.AttemptOutcome
	Tier    Tier   // what the strategy chose; empty when a person did, or when nobody knows any more
	Hint    string // the <next-model> it ended with
	Notes   string // its journal entry, where whole-word signals are looked for
}

// Choice is the model for one iteration and why.
type Choice struct {
	Model    string // a tier or a name; empty for the agent's own default
	Tier     Tier   // Model, if that is a tier
	Reason   string // what decided, in one line
	Overrode string // what the strategy would have chosen without the hint
	Uncapped string // what would have been chosen but for the budget
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
	tier, ok := ParseTier(model)
	if ok { // a name is left alone: its case may matter to the agent
		model = string(tier)
	}
	return Choice{Model: model, Tier: tier, Reason: reason}
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
