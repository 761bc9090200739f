package main

import (
	"ralph/event"
	"ralph/internal/human"
)

// spentJSON is what something cost. Null is unknown, or nothing: unknown says which.
type spentJSON struct {
	CostUSD   *float64 `json:"cost_usd"`
	Estimated bool     `json:"cost_estimated"`
	Unknown   bool     `json:"cost_unknown"`
}

func spentOf(u event.Usage) spentJSON { return spentJSON{u.CostUSD, u.Estimated, u.Unknown} }

// String says the amount, and what is wrong with it; nothing if nothing was spent.
func (s spentJSON) String() string {
	switch {
	case s.CostUSD == nil && s.Unknown:
		return "unknown"
	case s.CostUSD == nil:
		return ""
	}
	return human.Roughly(s.Unknown, s.Estimated) + human.Dollars(*s.CostUSD)
}
