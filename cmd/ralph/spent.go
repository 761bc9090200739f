package main

import (
	"ralph/dag"
	"ralph/internal/human"
)

// spentJSON is what something cost. Null is unknown, or nothing: unknown says which.
type spentJSON struct {
	CostUSD   *float64 `json:"cost_usd"`
	Estimated bool     `json:"cost_estimated"`
	Unknown   bool     `json:"cost_unknown"`
}

func spentOn(at dag.Attempt) spentJSON { return spentJSON{at.CostUSD, at.Estimated, at.Unknown} }

func spentOf(u dag.Usage) spentJSON { return spentJSON{u.CostUSD, u.Estimated, u.Unpriced > 0} }

func (s spentJSON) plus(t spentJSON) spentJSON {
	s.Estimated, s.Unknown = s.Estimated || t.Estimated, s.Unknown || t.Unknown
	switch {
	case s.CostUSD == nil:
		s.CostUSD = t.CostUSD
	case t.CostUSD != nil:
		sum := human.Exact(*s.CostUSD + *t.CostUSD)
		s.CostUSD = &sum
	}
	return s
}

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
