package strategy

import (
	"slices"
	"strings"
)

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
