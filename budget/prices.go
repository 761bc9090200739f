package budget

import (
	"regexp"
	"strings"
)

// Price is in US dollars per million tokens.
type Price struct {
	Input  float64
	Cached *float64 // read from a cache; nil means as much as Input
	Output float64
}

// TokenUse is what was used.
type TokenUse struct {
	Input  int64 // without what came from a cache
	Cached int64 // read from a cache
	Output int64
}

// Prices estimates what tokens cost where the agent does not say. It maps patterns of model
// names, in which * stands for anything, to prices; every other price is unknown.
type Prices map[string]Price

// Estimate is what the tokens cost at the price of the model. It is unknown if no
// pattern fits, or if no tokens were reported.
func (t Prices) Estimate(model string, used TokenUse) (usd float64, known bool) {
	p, ok := t.find(model)
	if !ok || used.Input+used.Cached+used.Output <= 0 {
		return 0, false
	}
	cached := p.Input
	if p.Cached != nil {
		cached = *p.Cached
	}
	return (p.Input*float64(used.Input) + cached*float64(used.Cached) + p.Output*float64(used.Output)) / 1e6, true
}

// Cost is what a session cost: what its agent reported, else the estimate, else unknown. One
// that did no work and reported no tokens cost nothing.
func (t Prices) Cost(reported *float64, model string, used TokenUse, worked bool) (usd *float64, estimated, unknown bool) {
	if reported != nil {
		return reported, false, false
	}
	if guess, known := t.Estimate(model, used); known {
		return &guess, true, false
	}
	return nil, false, worked || used != (TokenUse{})
}

// find takes the pattern that says most about a name: the one with the most
// letters of its own, and of two such the first in the alphabet. A model that
// the agent did not name fits only what fits everything.
func (t Prices) find(model string) (best Price, found bool) {
	model = strings.ToLower(strings.TrimSpace(model))
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
