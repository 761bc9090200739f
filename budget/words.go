package budget

import (
	"fmt"

	"ralph/internal/human"
)

// where says what a budget is for, after what was spent.
func (a Account) where() string {
	switch a.Scope {
	case Day:
		return " today"
	case Feature:
		return " on feature " + a.Name
	case Task:
		return " on " + a.Name
	default:
		return ""
	}
}

func (a Account) cost() string {
	return human.Roughly(a.Used.Unknown, a.Used.Estimated) + human.Dollars(a.Used.CostUSD) + " of " + human.Dollars(a.Limits.CostUSD) + " spent" + a.where()
}

func (a Account) tokens() string {
	return human.Thousands(a.Used.Tokens) + " of " + human.Tokens(a.Limits.Tokens) + " used" + a.where()
}

func (a Account) duration() string {
	return human.Span(a.Used.Duration) + " of " + human.Span(a.Limits.Duration) + " worked" + a.where()
}

func (a Account) iterations() string {
	return fmt.Sprintf("%d of %d iterations", a.Used.Iterations, a.Limits.Iterations) + a.where()
}

func (a Account) failures() string {
	return fmt.Sprintf("%d of %d tasks failed in a row", a.Used.Failures, a.Limits.Failures) + a.where()
}
