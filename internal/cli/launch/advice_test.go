package launch

import (
	"testing"
	"time"

	"ralph/internal/agents"
	"ralph/internal/budget"
	"ralph/internal/testing/check"
	"ralph/loop"
)

func TestMoneyAloneLimitsNoAgentWhoseCostIsNotKnown(t *testing.T) {
	t.Parallel()
	gemini := budget.Prices{"gemini-*": {Input: 1, Output: 1}}
	for name, tc := range map[string]struct {
		agent, model string
		limits       loop.Limits
		prices       budget.Prices
		refused      bool
	}{
		"it reports dollars":                       {agent: "claude"},
		"it uses no model":                         {agent: "shell"},
		"it reports nothing":                       {agent: "qwen", refused: true},
		"it reports nothing, whatever tokens cost": {agent: "qwen", prices: budget.Prices{"*": {Input: 1}}, refused: true},
		"it reports tokens without a price":        {agent: "gemini", refused: true},
		"its tokens have a price":                  {agent: "gemini", prices: gemini},
		"its model has none":                       {agent: "gemini", model: "other", prices: gemini, refused: true},
		"its models are listed":                    {agent: "anthropic"},
		"another model of it is not":               {agent: "anthropic", model: "claude-unheard-of", refused: true},
		"one of a tier is":                         {agent: "anthropic", model: "opus"},
		"nothing is known of it":                   {agent: "mine", refused: true},
		"iterations are limited":                   {agent: "mine", limits: loop.Limits{Iterations: 3}},
		"time is limited":                          {agent: "mine", limits: loop.Limits{Budgets: loop.Budgets{Run: budget.Limits{Duration: time.Hour}}}},
		"tokens are limited that it reports":       {agent: "gemini", limits: loop.Limits{Budgets: loop.Budgets{Run: budget.Limits{Tokens: 9}}}},
		"tokens are limited that it does not":      {agent: "qwen", limits: loop.Limits{Budgets: loop.Budgets{Run: budget.Limits{Tokens: 9}}}, refused: true},
	} {
		opts := loop.Options{Limits: tc.limits}
		opts.Limits.Budgets.Run.CostUSD, opts.Agents.Prices, opts.Models.Model = 5, tc.prices, tc.model
		preset, known := agents.Lookup(tc.agent)
		if !known {
			preset = agents.Preset{Name: tc.agent}
		}
		check.Equal(t, name, tc.refused, refuseUnpriced(opts, preset) != nil)
		opts.Limits.Budgets.Run.CostUSD = 0
		check.OK(t, refuseUnpriced(opts, preset))
	}
}
