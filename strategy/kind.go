package strategy

import (
	"fmt"
	"strings"
)

// Kind names a strategy, spelled as on the command line.
type Kind string

// The strategies.
const (
	// Fixed always answers Input.Model.
	Fixed Kind = "fixed"
	// CostOptimized buys the middle tier, the best one after trouble, and the
	// cheapest while all goes well. It is the default.
	CostOptimized Kind = "cost-optimized"
	// Escalate starts at the cheapest tier and only goes up; the one way down
	// is a hint.
	Escalate Kind = "escalate"
	// PlanThenExecute buys the best tier for the first iteration and the
	// middle one for all others.
	PlanThenExecute Kind = "plan-then-execute"
)

// Kinds returns all strategies, in the order in which help lists them.
func Kinds() []Kind { return []Kind{Fixed, CostOptimized, Escalate, PlanThenExecute} }

// ParseKind reads the name of a strategy. It refuses any other text with an
// error that lists the names.
func ParseKind(s string) (Kind, error) {
	names := make([]string, 0, len(Kinds()))
	for _, k := range Kinds() {
		if s == string(k) {
			return k, nil
		}
		names = append(names, string(k))
	}
	return "", fmt.Errorf("unknown model strategy %q, want one of %s", s, strings.Join(names, ", "))
}

// or fills in the strategy that a user means who named none: whoever names a
// model wants that model.
func (k Kind) or(model string) Kind {
	if _, err := ParseKind(string(k)); err == nil {
		return k
	}
	if model != "" {
		return Fixed
	}
	return CostOptimized
}

// choose returns what the strategy alone would buy and why.
func (k Kind) choose(in Input) (model, reason string) {
	var tier Tier
	switch k {
	case Fixed:
		if in.Model == "" {
			return "", "the agent's own default"
		}
		return in.Model, "the model that was asked for"
	case Escalate:
		tier, reason = escalate(in)
	case PlanThenExecute:
		tier, reason = planThenExecute(in)
	default:
		tier, reason = costOptimized(in)
	}
	return string(tier), reason
}

func planThenExecute(in Input) (Tier, string) {
	if in.Iteration <= 1 {
		return Opus, "the first iteration plans"
	}
	return Sonnet, "later iterations execute"
}
