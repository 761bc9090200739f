package risk

import (
	"fmt"
	"slices"

	"ralph/internal/human"
)

// Spent is what an attempt took. The zero value of each is unknown.
type Spent struct {
	CostUSD float64 `json:"cost_usd,omitempty"`
	Steps   int     `json:"steps,omitempty"` // calls of tools
}

// Usual is what attempts of a project take: medians, so that they say the same with every model. 0 is unknown.
type Usual struct {
	CostUSD float64 `json:"cost_usd,omitempty"`
	StepUSD float64 `json:"step_usd,omitempty"` // the cost of one step
}

// known is how many attempts have to be known before others are compared with them.
const known = 5

// UsualOf is what the attempts of a project usually took.
func UsualOf(past []Spent) (u Usual) {
	var costs, steps []float64
	for _, p := range past {
		if p.CostUSD > 0 {
			costs = append(costs, p.CostUSD)
		}
		if step := p.step(); step > 0 {
			steps = append(steps, step)
		}
	}
	return Usual{CostUSD: median(costs), StepUSD: median(steps)}
}

func median(list []float64) float64 {
	if len(list) < known {
		return 0
	}
	slices.Sort(list)
	return (list[(len(list)-1)/2] + list[len(list)/2]) / 2
}

func (s Spent) step() float64 {
	if s.CostUSD <= 0 || s.Steps <= 0 {
		return 0
	}
	return s.CostUSD / float64(s.Steps)
}

// against compares with what is usual: the cost of a step times the cost, each in medians, squared. Long thoughts between few steps
// are what wrong work has in common; the square keeps what is usual from being a reason, and what is cheap from being one at all.
func (s Spent) against(u Usual) (amount float64, what string) {
	if s.CostUSD <= 0 || u.CostUSD <= 0 {
		return 0, ""
	}
	dear := s.CostUSD / u.CostUSD
	what = fmt.Sprintf("cost %s, %.1f times what is usual here", human.Dollars(s.CostUSD), dear)
	pace := 1.0
	if step := s.step(); step > 0 && u.StepUSD > 0 {
		pace = step / u.StepUSD
		what = fmt.Sprintf("cost %s in %s: %.1f times the usual, %.1f times for each step", human.Dollars(s.CostUSD), human.Count(s.Steps, "step"), dear, pace)
	}
	amount = dear * pace
	return min(amount*amount, most), what
}

// most keeps the amount finite.
const most = 1e9
