package event

import "math"

// Usage is what sessions, attempts or runs have used. No agent answers with 0 tokens: a
// count of 0 is one that is not known. A cost of nil is not known either.
type Usage struct {
	TokensIn     int64    `json:"tokens_in,omitempty"`
	TokensCached int64    `json:"tokens_cached,omitempty"`
	TokensOut    int64    `json:"tokens_out,omitempty"`
	CostUSD      *float64 `json:"cost_usd,omitempty"`
	Estimated    bool     `json:"cost_estimated,omitempty"` // from a table of prices: the agent did not report it
	Unknown      bool     `json:"cost_unknown,omitempty"`   // the cost of some of it, or of all, is not known

	Context int64 `json:"context_tokens,omitempty"` // what its last request took of the context
}

// Add returns what both used together.
func (u Usage) Add(v Usage) Usage {
	u.TokensIn += v.TokensIn
	u.TokensCached += v.TokensCached
	u.TokensOut += v.TokensOut
	u.Estimated, u.Unknown = u.Estimated || v.Estimated, u.Unknown || v.Unknown
	switch {
	case u.CostUSD == nil:
		u.CostUSD = v.CostUSD
	case v.CostUSD != nil:
		sum := math.Round((*u.CostUSD+*v.CostUSD)*1e9) / 1e9 // without the noise of binary fractions
		u.CostUSD = &sum
	}
	return u
}

// Equal reports whether both used the same.
func (u Usage) Equal(v Usage) bool {
	if (u.CostUSD == nil) != (v.CostUSD == nil) || u.CostUSD != nil && *u.CostUSD != *v.CostUSD {
		return false
	}
	u.CostUSD, v.CostUSD = nil, nil
	return u == v
}

// Cost is what is known of the cost, in dollars.
func (u Usage) Cost() float64 {
	if u.CostUSD == nil {
		return 0
	}
	return *u.CostUSD
}

// Counts returns the tokens as they are stored and printed: nil for what is not known.
func (u Usage) Counts() (in, cached, out *int64) {
	if u.Tokens() == 0 {
		return nil, nil, nil
	}
	known := func(n int64) *int64 {
		if n == 0 {
			return nil
		}
		return &n
	}
	return known(u.TokensIn), known(u.TokensCached), known(u.TokensOut)
}

// Tokens counts the tokens that were not read from a cache.
func (u Usage) Tokens() int64 { return u.TokensIn + u.TokensOut }

// AllTokens counts those from a cache, too.
func (u Usage) AllTokens() int64 { return u.TokensIn + u.TokensCached + u.TokensOut }
