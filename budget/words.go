package budget

import (
	"fmt"
	"strings"

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

// Unlimited describes a run that only its tasks end.
const Unlimited = "none"

// Describe lists the limits of a run, and of each task, feature and day.
func Describe(iterations int, run, task, feature, day Limits) string {
	run.Iterations = iterations
	var parts []string
	for _, l := range []struct {
		of string
		Limits
	}{{"", run}, {" a task", task}, {" a feature", feature}, {" a day", day}} {
		add := func(limited bool, text string) {
			if limited {
				parts = append(parts, text+l.of)
			}
		}
		add(l.Iterations > 0, human.Count(l.Iterations, "iteration"))
		add(l.CostUSD > 0, fmt.Sprintf("$%.2f", l.CostUSD))
		add(l.Tokens > 0, human.Tokens(l.Tokens))
		add(l.Duration > 0, human.Duration(l.Duration))
		add(!l.Until.IsZero(), "until "+l.Until.Format("Mon 15:04")) // the day, because it may be tomorrow's
		add(l.Failures > 0, human.Count(l.Failures, "failure")+" in a row")
	}
	if len(parts) == 0 {
		return Unlimited
	}
	return strings.Join(parts, ", ")
}
