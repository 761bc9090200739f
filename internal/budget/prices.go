package budget

import (
	"regexp"
	"strings"

	"ralph/internal/event"
)

// Price is in US dollars per million tokens.
type Price struct {
	Input  float64
	Cached *float64 // read from a cache; nil means as much as Input
	Output float64
}

// Prices estimates what tokens cost where the agent does not say. It maps patterns of model
// names, in which * stands for anything, to prices. What fits none has its list price if it is
// one of the well-known models; every other price is unknown.
type Prices map[string]Price

// Known reports whether the price of a model is known.
func (t Prices) Known(model string) bool {
	_, known := t.estimate(model, event.Usage{TokensIn: 1})
	return known
}

// Charge adds to what a session used what it cost: what its agent reported, else the
// estimate, else unknown. One that did no work and reported no tokens cost nothing.
func (t Prices) Charge(used event.Usage, model string, worked bool) event.Usage {
	if used.CostUSD != nil {
		return used
	}
	if guess, known := t.estimate(model, used); known {
		used.CostUSD, used.Estimated = &guess, true
	} else {
		used.Unknown = worked || used.AllTokens() != 0
	}
	return used
}

// estimate is what the tokens cost at the price of the model. It is unknown if nobody
// knows the price, or if no tokens were reported.
func (t Prices) estimate(model string, used event.Usage) (usd float64, known bool) {
	model = strings.ToLower(strings.TrimSpace(model))
	p, ok := t.find(model)
	if !ok {
		p, ok = listed(model)
	}
	if !ok || used.AllTokens() <= 0 {
		return 0, false
	}
	cached := p.Input
	if p.Cached != nil {
		cached = *p.Cached
	}
	return (p.Input*float64(used.TokensIn) + cached*float64(used.TokensCached) + p.Output*float64(used.TokensOut)) / 1e6, true
}

// find takes the pattern that says most about a name in small letters: the one with the most
// letters of its own, and of two such the first in the alphabet. A model that
// the agent did not name fits only what fits everything.
func (t Prices) find(model string) (best Price, found bool) {
	chosen, letters := "", -1
	for pattern, p := range t {
		own := len(strings.ReplaceAll(pattern, "*", ""))
		if !fits(strings.ToLower(pattern), model) || own < letters || (own == letters && pattern > chosen) {
			continue
		}
		best, chosen, letters, found = p, pattern, own, true
	}
	return best, found
}

func fits(pattern, name string) bool {
	ok, _ := regexp.MatchString("(?s)^"+strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, ".*")+"$", name)
	return ok
}
