package main

import (
	"math"
	"time"

	"ralph/budget"
	"ralph/internal/drift"
	"ralph/internal/project"
	"ralph/loop"
)

// setLimits turns flags and configuration into what may be spent, for how long is
// waited, and what counts as getting nowhere.
func setLimits(o runOptions, config project.Loaded, now time.Time, opts *loop.Options) error {
	b, d := config.Budget, config.Drift
	run := budget.Limits{
		CostUSD: or(o.maxCost, b.MaxCostUSD), Tokens: or(o.maxTokens, b.MaxTokens), Failures: or(o.maxFailures, b.MaxFailures), Duration: b.MaxDuration.Std(),
	}
	if o.maxDuration != nil {
		var most project.Duration
		if err := most.UnmarshalText([]byte(*o.maxDuration)); err != nil {
			return usagef("--max-duration: %v", err)
		}
		run.Duration = most.Std()
	}
	switch {
	case math.IsNaN(run.CostUSD) || math.IsInf(run.CostUSD, 0):
		return usagef("--max-cost is an amount")
	case run.CostUSD < 0, run.Tokens < 0, run.Failures < 0:
		return usagef("--max-cost, --max-tokens and --max-failures cannot be negative")
	}
	var err error
	if run.Until, err = project.ParseUntil(or(o.until, b.Until), now); err != nil {
		return usagef("--until: %v", err)
	}
	patience, err := project.ParseWait(or(o.wait, config.Run.Wait))
	if err != nil {
		return usagef("--wait: %v", err)
	}
	opts.Limits.Wait = loop.WaitRule(patience)
	opts.Limits.Budgets = loop.Budgets{
		Run: run,
		Task: budget.Limits{
			CostUSD: b.Task.MaxCostUSD, Tokens: b.Task.MaxTokens, Iterations: b.Task.MaxIterations, Duration: b.Task.MaxDuration.Std(),
		},
		Feature: shared(b.Feature),
		Day:     shared(b.Day),
	}
	opts.Agents.Drift = drift.Thresholds{
		Iterations: d.Iterations, Tokens: d.Tokens, ToolFailures: d.ToolFailures, Repeats: d.Repeats,
		Unchanged: d.Unchanged, NoProgress: d.NoProgress.Std(),
	}
	opts.Agents.Prices = prices(config)
	return nil
}

func prices(config project.Loaded) budget.Prices {
	table := budget.Prices{}
	for pattern, p := range config.Prices {
		table[pattern] = budget.Price(p)
	}
	return table
}

// shared is a budget of a feature, or of a day.
func shared(b project.SharedBudget) budget.Limits {
	return budget.Limits{
		CostUSD: b.MaxCostUSD, Tokens: b.MaxTokens, Iterations: b.MaxIterations, Duration: b.MaxDuration.Std(), Failures: b.MaxFailures,
	}
}
