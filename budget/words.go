package budget

import (
	"fmt"
	"time"
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
	about := ""
	if a.Used.Unknown {
		about = "at least "
	}
	if a.Used.Estimated {
		about += "about "
	}
	return about + money(a.Used.CostUSD) + " of " + money(a.Limits.CostUSD) + " spent" + a.where()
}

func (a Account) tokens() string {
	return fmt.Sprintf("%d of %d tokens used", a.Used.Tokens, a.Limits.Tokens) + a.where()
}

func (a Account) duration() string {
	return span(a.Used.Duration) + " of " + span(a.Limits.Duration) + " worked" + a.where()
}

func (a Account) iterations() string {
	return fmt.Sprintf("%d of %d iterations", a.Used.Iterations, a.Limits.Iterations) + a.where()
}

func (a Account) failures() string {
	return fmt.Sprintf("%d of %d tasks failed in a row", a.Used.Failures, a.Limits.Failures) + a.where()
}

// money shows cents, and fractions of them only where there is nothing else.
func money(usd float64) string {
	if usd > 0 && usd < 0.1 {
		return fmt.Sprintf("$%.4f", usd)
	}
	return fmt.Sprintf("$%.2f", usd)
}

// span leaves out what nobody needs to know: milliseconds of hours.
func span(d time.Duration) string {
	if d >= time.Minute {
		d = d.Round(time.Second)
	}
	return d.Round(time.Millisecond).String()
}
