package main

import (
	"fmt"
	"math"
	"strings"

	"ralph/budget"
	"ralph/internal/drift"
	"ralph/internal/human"
	"ralph/internal/project"
	"ralph/loop"
)

// spending turns flags and configuration into what may be spent, for how long is
// waited, and what counts as getting nowhere.
func (a *app) spending(o runOptions, config project.Loaded, opts *loop.Options) error {
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
	if run.Until, err = project.ParseUntil(or(o.until, b.Until), a.now()); err != nil {
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

// noLimits is what the header says if nothing ends the run but its tasks.
const noLimits = "none"

// describeLimits is what the header tells about them.
func describeLimits(opts loop.Options) string {
	var parts []string
	add := func(limited bool, format string, args ...any) {
		if limited {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	run, of := opts.Limits.Budgets.Run, opts.Limits.Budgets
	add(opts.Limits.Iterations > 0, "%s", human.Count(opts.Limits.Iterations, "iteration"))
	add(run.CostUSD > 0, "$%.2f", run.CostUSD)
	add(run.Tokens > 0, "%s", human.Tokens(run.Tokens))
	add(run.Duration > 0, "%s", project.Duration(run.Duration))
	add(!run.Until.IsZero(), "until %s", run.Until.Format("Mon 15:04")) // the day, because it may be tomorrow's
	add(run.Failures > 0, "%s in a row", human.Count(run.Failures, "failure"))
	for _, l := range []struct {
		name   string
		limits budget.Limits
	}{{"a task", of.Task}, {"a feature", of.Feature}, {"a day", of.Day}} {
		add(l.limits.CostUSD > 0, "$%.2f %s", l.limits.CostUSD, l.name)
		add(l.limits.Tokens > 0, "%s %s", human.Tokens(l.limits.Tokens), l.name)
		add(l.limits.Iterations > 0, "%s %s", human.Count(l.limits.Iterations, "iteration"), l.name)
		add(l.limits.Duration > 0, "%s %s", project.Duration(l.limits.Duration), l.name)
		add(l.limits.Failures > 0, "%s in a row %s", human.Count(l.limits.Failures, "failure"), l.name)
	}
	if len(parts) == 0 {
		return noLimits
	}
	return strings.Join(parts, ", ")
}
