package project

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"ralph/internal/drift"
)

// BudgetConfig is what may be spent; 0 means without limit.
type BudgetConfig struct {
	MaxCostUSD  float64  `toml:"max_cost_usd"` // of a run, as those below
	MaxTokens   int64    `toml:"max_tokens"`
	MaxDuration Duration `toml:"max_duration"`
	Until       string   `toml:"until"` // a time of day, like 07:00
	MaxFailures int      `toml:"max_failures"`

	Task    TaskBudget   `toml:"task"`
	Feature SharedBudget `toml:"feature"`
	Day     SharedBudget `toml:"day"`
}

// TaskBudget is what one task may use, all attempts at it together.
type TaskBudget struct {
	MaxCostUSD    float64  `toml:"max_cost_usd"`
	MaxTokens     int64    `toml:"max_tokens"`
	MaxIterations int      `toml:"max_iterations"`
	MaxDuration   Duration `toml:"max_duration"`
}

// SharedBudget is what a feature, or a day, may use, in all runs together.
type SharedBudget struct {
	MaxCostUSD    float64  `toml:"max_cost_usd"`
	MaxTokens     int64    `toml:"max_tokens"`
	MaxIterations int      `toml:"max_iterations"`
	MaxDuration   Duration `toml:"max_duration"`
	MaxFailures   int      `toml:"max_failures"`
}

// DriftConfig says from when on an attempt gets nowhere; 0 turns a detector off.
type DriftConfig struct {
	Iterations   int      `toml:"iterations"`
	Tokens       int64    `toml:"tokens"`
	ToolFailures int      `toml:"tool_failures"`
	Repeats      int      `toml:"repeats"`
	Unchanged    int      `toml:"unchanged"`
	NoProgress   Duration `toml:"no_progress"`
}

// PriceConfig is what a model costs, in US dollars per million tokens.
type PriceConfig struct {
	Input  float64  `toml:"input"`
	Cached *float64 `toml:"cached"` // nil: as much as input
	Output float64  `toml:"output"`
}

func defaultDrift() DriftConfig {
	d := drift.Default()
	return DriftConfig{
		Iterations: d.Iterations, Tokens: d.Tokens, ToolFailures: d.ToolFailures, Repeats: d.Repeats,
		Unchanged: d.Unchanged, NoProgress: Duration(d.NoProgress),
	}
}

// Waiting is for how long a provider's limit is waited for.
type Waiting struct {
	Never bool
	Most  time.Duration // 0 means as long as it takes
}

// ParseWait reads auto, never, or a duration.
func ParseWait(text string) (Waiting, error) {
	switch text {
	case "auto":
		return Waiting{}, nil
	case "never":
		return Waiting{Never: true}, nil
	}
	var d Duration
	if err := d.UnmarshalText([]byte(text)); err != nil {
		return Waiting{}, fmt.Errorf("%q is neither auto nor never nor a duration like 2h", text)
	}
	return Waiting{Never: d == 0, Most: d.Std()}, nil
}

// invalidSpending is invalid for what is in this file.
func (c Config) invalidSpending() (key, why string) {
	amounts := c.amounts()
	for _, key := range slices.Sorted(maps.Keys(amounts)) {
		if amount := amounts[key]; !(amount >= 0) || math.IsInf(amount, 0) {
			return key, "it is an amount, and not negative"
		}
	}
	for _, count := range []struct {
		key   string
		value int64
	}{
		{"budget.max_tokens", c.Budget.MaxTokens},
		{"budget.max_failures", int64(c.Budget.MaxFailures)},
		{"budget.task.max_tokens", c.Budget.Task.MaxTokens},
		{"budget.task.max_iterations", int64(c.Budget.Task.MaxIterations)},
		{"budget.feature.max_tokens", c.Budget.Feature.MaxTokens},
		{"budget.feature.max_iterations", int64(c.Budget.Feature.MaxIterations)},
		{"budget.feature.max_failures", int64(c.Budget.Feature.MaxFailures)},
		{"budget.day.max_tokens", c.Budget.Day.MaxTokens},
		{"budget.day.max_iterations", int64(c.Budget.Day.MaxIterations)},
		{"budget.day.max_failures", int64(c.Budget.Day.MaxFailures)},
		{"drift.iterations", int64(c.Drift.Iterations)},
		{"drift.tokens", c.Drift.Tokens},
		{"drift.tool_failures", int64(c.Drift.ToolFailures)},
		{"drift.repeats", int64(c.Drift.Repeats)},
		{"drift.unchanged", int64(c.Drift.Unchanged)},
	} {
		if count.value < 0 {
			return count.key, fmt.Sprintf("%d is too small; the least is 0", count.value)
		}
	}
	if _, err := ParseUntil(c.Budget.Until, time.Time{}); err != nil {
		return "budget.until", err.Error()
	}
	if _, err := ParseWait(c.Run.Wait); err != nil {
		return "run.wait", err.Error()
	}
	return "", ""
}

// amounts are all sums of money, by their keys.
func (c Config) amounts() map[string]float64 {
	all := map[string]float64{
		"budget.max_cost_usd":         c.Budget.MaxCostUSD,
		"budget.task.max_cost_usd":    c.Budget.Task.MaxCostUSD,
		"budget.feature.max_cost_usd": c.Budget.Feature.MaxCostUSD,
		"budget.day.max_cost_usd":     c.Budget.Day.MaxCostUSD,
	}
	for pattern, p := range c.Prices {
		all["prices."+pattern+".input"], all["prices."+pattern+".output"] = p.Input, p.Output
		if p.Cached != nil {
			all["prices."+pattern+".cached"] = *p.Cached
		}
	}
	return all
}

// spendingScalars are those of this file.
func (c *Config) spendingScalars() []scalar {
	amount := func(key string, into *float64) scalar {
		return scalar{key, func(s string) (err error) {
			if *into, err = strconv.ParseFloat(s, 64); err != nil {
				err = fmt.Errorf("%q is no amount", s)
			}
			return err
		}}
	}
	count := func(key string, into *int64) scalar {
		return scalar{key, func(s string) (err error) {
			if *into, err = strconv.ParseInt(s, 10, 64); err != nil {
				err = fmt.Errorf("%q is no whole number", s)
			}
			return err
		}}
	}
	small := func(key string, into *int) scalar {
		return scalar{key, func(s string) (err error) {
			if *into, err = strconv.Atoi(s); err != nil {
				err = fmt.Errorf("%q is no whole number", s)
			}
			return err
		}}
	}
	text := func(key string, into *string) scalar {
		return scalar{key, func(s string) error { *into = s; return nil }}
	}
	span := func(key string, into *Duration) scalar {
		return scalar{key, func(s string) error { return into.UnmarshalText([]byte(s)) }}
	}
	b, d := &c.Budget, &c.Drift
	return []scalar{
		text("run.wait", &c.Run.Wait),
		amount("budget.max_cost_usd", &b.MaxCostUSD),
		count("budget.max_tokens", &b.MaxTokens),
		span("budget.max_duration", &b.MaxDuration),
		text("budget.until", &b.Until),
		small("budget.max_failures", &b.MaxFailures),
		amount("budget.task.max_cost_usd", &b.Task.MaxCostUSD),
		count("budget.task.max_tokens", &b.Task.MaxTokens),
		small("budget.task.max_iterations", &b.Task.MaxIterations),
		span("budget.task.max_duration", &b.Task.MaxDuration),
		amount("budget.feature.max_cost_usd", &b.Feature.MaxCostUSD),
		count("budget.feature.max_tokens", &b.Feature.MaxTokens),
		small("budget.feature.max_iterations", &b.Feature.MaxIterations),
		span("budget.feature.max_duration", &b.Feature.MaxDuration),
		small("budget.feature.max_failures", &b.Feature.MaxFailures),
		amount("budget.day.max_cost_usd", &b.Day.MaxCostUSD),
		count("budget.day.max_tokens", &b.Day.MaxTokens),
		small("budget.day.max_iterations", &b.Day.MaxIterations),
		span("budget.day.max_duration", &b.Day.MaxDuration),
		small("budget.day.max_failures", &b.Day.MaxFailures),
		small("drift.iterations", &d.Iterations),
		count("drift.tokens", &d.Tokens),
		small("drift.tool_failures", &d.ToolFailures),
		small("drift.repeats", &d.Repeats),
		small("drift.unchanged", &d.Unchanged),
		span("drift.no_progress", &d.NoProgress),
	}
}

// spendingSettings are those of this file.
func (c Config) spendingSettings() []Setting {
	b, d := c.Budget, c.Drift
	list := []Setting{
		{Key: "run.wait", Value: c.Run.Wait},
		{Key: "agent.fallback", Value: append([]string{}, c.Agent.Fallback...)},
		{Key: "budget.max_cost_usd", Value: b.MaxCostUSD},
		{Key: "budget.max_tokens", Value: b.MaxTokens},
		{Key: "budget.max_duration", Value: b.MaxDuration.String()},
		{Key: "budget.until", Value: b.Until},
		{Key: "budget.max_failures", Value: b.MaxFailures},
		{Key: "budget.task.max_cost_usd", Value: b.Task.MaxCostUSD},
		{Key: "budget.task.max_tokens", Value: b.Task.MaxTokens},
		{Key: "budget.task.max_iterations", Value: b.Task.MaxIterations},
		{Key: "budget.task.max_duration", Value: b.Task.MaxDuration.String()},
		{Key: "budget.feature.max_cost_usd", Value: b.Feature.MaxCostUSD},
		{Key: "budget.feature.max_tokens", Value: b.Feature.MaxTokens},
		{Key: "budget.feature.max_iterations", Value: b.Feature.MaxIterations},
		{Key: "budget.feature.max_duration", Value: b.Feature.MaxDuration.String()},
		{Key: "budget.feature.max_failures", Value: b.Feature.MaxFailures},
		{Key: "budget.day.max_cost_usd", Value: b.Day.MaxCostUSD},
		{Key: "budget.day.max_tokens", Value: b.Day.MaxTokens},
		{Key: "budget.day.max_iterations", Value: b.Day.MaxIterations},
		{Key: "budget.day.max_duration", Value: b.Day.MaxDuration.String()},
		{Key: "budget.day.max_failures", Value: b.Day.MaxFailures},
		{Key: "drift.iterations", Value: d.Iterations},
		{Key: "drift.tokens", Value: d.Tokens},
		{Key: "drift.tool_failures", Value: d.ToolFailures},
		{Key: "drift.repeats", Value: d.Repeats},
		{Key: "drift.unchanged", Value: d.Unchanged},
		{Key: "drift.no_progress", Value: d.NoProgress.String()},
	}
	for _, pattern := range slices.Sorted(maps.Keys(c.Prices)) {
		p := c.Prices[pattern]
		value := map[string]float64{"input": p.Input, "output": p.Output}
		if p.Cached != nil {
			value["cached"] = *p.Cached
		}
		list = append(list, Setting{Key: "prices." + pattern, Value: value})
	}
	return list
}
