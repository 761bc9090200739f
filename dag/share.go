package dag

import (
	"encoding/json"

	"ralph/event"
)

// Share is what one agent with one model used of an attempt: the one that worked, or
// one that verified.
type Share struct {
	Agent        string   `json:"agent"`
	Model        string   `json:"model"`
	TokensIn     int64    `json:"tokens_in,omitempty"`
	TokensCached int64    `json:"tokens_cached,omitempty"`
	TokensOut    int64    `json:"tokens_out,omitempty"`
	CostUSD      *float64 `json:"cost_usd,omitempty"`
	Estimated    bool     `json:"estimated,omitempty"`
	Unknown      bool     `json:"unknown,omitempty"`
}

// ShareOf is what an agent with a model used, as it is stored.
func ShareOf(agent, model string, u event.Usage) Share {
	s := Share{Agent: agent, Model: model, CostUSD: u.CostUSD, Estimated: u.Estimated, Unknown: u.Unknown}
	if u.Tokens() > 0 {
		s.TokensIn, s.TokensCached, s.TokensOut = u.TokensIn, u.TokensCached, u.TokensOut
	}
	return s
}

// sharesJSON is the list as it is stored; nil leaves what is stored as it is.
func sharesJSON(list []Share) (any, error) {
	if list == nil {
		return nil, nil
	}
	b, err := json.Marshal(list)
	return string(b), err
}

// Split is the receipt by agent and model, one for each, the first of which stands for
// the attempt: the others are no attempts of their own.
func (r Receipt) Split() []Receipt {
	if len(r.Shares) == 0 {
		return []Receipt{r}
	}
	list := make([]Receipt, len(r.Shares))
	for i, s := range r.Shares {
		part := Receipt{ID: r.ID, Run: r.Run, Task: r.Task, Title: r.Title, Feature: r.Feature, StartedAt: r.StartedAt, EndedAt: r.EndedAt, Part: true}
		if i == 0 {
			part = r
			part.Shares = nil
		}
		part.Agent, part.Model, part.ModelEffective = s.Agent, s.Model, s.Model
		part.Usage = event.Usage{
			TokensIn: s.TokensIn, TokensCached: s.TokensCached, TokensOut: s.TokensOut, CostUSD: s.CostUSD, Estimated: s.Estimated, Unknown: s.Unknown,
		}
		list[i] = part
	}
	return list
}
