package risk_test

import (
	"testing"

	"ralph/internal/risk"
	"ralph/internal/testing/check"
)

// TestCostIsComparedWithWhatIsUsual in the project, once enough is known of it.
func TestCostIsComparedWithWhatIsUsual(t *testing.T) {
	t.Parallel()
	past := []risk.Spent{{0.1, 10}, {0.2, 10}, {0.3, 10}, {0.4, 10}, {}, {0.5, 10}}
	check.Equal(t, "what four attempts took", risk.Usual{}, risk.UsualOf(past[:4]))
	usual := risk.UsualOf(past)
	check.Equal(t, "what five attempts took", risk.Usual{CostUSD: 0.3, StepUSD: 0.03}, usual)
	check.Equal(t, "without steps", risk.Usual{CostUSD: 0.3}, risk.UsualOf([]risk.Spent{{0.1, 0}, {0.2, 0}, {0.3, 0}, {0.4, 0}, {0.5, 0}}))

	of := func(s risk.Spent, u risk.Usual) risk.Score {
		return risk.Of(risk.Facts{Files: []string{"a.go"}, Lines: 9, Spent: s, Usual: u})
	}
	plain := of(risk.Spent{}, usual)
	check.Equal(t, "without a past", plain, of(risk.Spent{CostUSD: 9, Steps: 3}, risk.Usual{}))
	check.Equal(t, "what is usual", "nothing stands out, 9 lines in 1 file", of(risk.Spent{CostUSD: 0.3, Steps: 10}, usual).String())
	check.Equal(t, "what is dear", "cost $0.90 in 10 steps: 3.0 times the usual, 3.0 times for each step", of(risk.Spent{CostUSD: 0.9, Steps: 10}, usual).String())
	check.Equal(t, "without steps", "cost $0.90, 3.0 times what is usual here", of(risk.Spent{CostUSD: 0.9}, usual).String())
	few, many := of(risk.Spent{CostUSD: 0.6, Steps: 5}, usual).Risk, of(risk.Spent{CostUSD: 0.6, Steps: 50}, usual).Risk
	check.That(t, few > many, "the same cost in few steps is not riskier: %v and %v", few, many)
	check.That(t, many > plain.Risk, "what costs more than is usual is not riskier: %v and %v", many, plain.Risk)
}
