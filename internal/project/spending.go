package project

import (
	"fmt"
	"time"

	"ralph/internal/detect"
)

// BudgetConfig is what may be spent; 0 means without limit.
type BudgetConfig struct {
	MaxCostUSD  float64 // of a run, as those below
	MaxTokens   int64
	MaxDuration Duration
	Until       string // a time of day, like 07:00
	MaxFailures int

	Task    TaskBudget
	Feature SharedBudget
	Day     SharedBudget
}

// TaskBudget is what one task may use, all attempts at it together.
type TaskBudget struct {
	MaxCostUSD    float64
	MaxTokens     int64
	MaxIterations int
	MaxDuration   Duration
}

// SharedBudget is what a feature, or a day, may use, in all runs together.
type SharedBudget struct {
	MaxCostUSD    float64
	MaxTokens     int64
	MaxIterations int
	MaxDuration   Duration
	MaxFailures   int
}

// DriftConfig says from when on an attempt gets nowhere; 0 turns a detector off.
type DriftConfig struct {
	Iterations   int
	Tokens       int64
	ToolFailures int
	Repeats      int
	Unchanged    int
	NoProgress   Duration
}

// AnomalyConfig says what an agent does that one at work does not do.
type AnomalyConfig struct {
	WritesPerMinute    int  // 0 means any number
	DeletionsPerMinute int  // 0 means any number
	Destructive        bool // commands that look like it
	Stop               bool // the agent's turn, and warn it; otherwise it is only reported
	Ask                bool // the same, and ask a person
}

func defaultAnomaly() AnomalyConfig {
	d := detect.Default().Anomaly
	return AnomalyConfig{WritesPerMinute: d.WritesPerMinute, DeletionsPerMinute: d.DeletionsPerMinute, Destructive: d.Destructive}
}

// PriceConfig is what a model costs, in US dollars per million tokens.
type PriceConfig struct {
	Input  float64  `toml:"input"`
	Cached *float64 `toml:"cached"` // nil: as much as input
	Output float64  `toml:"output"`
}

func (p PriceConfig) amounts() map[string]float64 {
	all := map[string]float64{"input": p.Input, "output": p.Output}
	if p.Cached != nil {
		all["cached"] = *p.Cached
	}
	return all
}

func defaultDrift() DriftConfig {
	d := detect.Default()
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

// ParseUntil reads a time of day and returns the next after now; empty is none. On a
// day that has it twice both count, and on one that leaves it out it comes as much
// later as the clock is put forward.
func ParseUntil(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse("15:04", text)
	if err != nil {
		return time.Time{}, fmt.Errorf("%q is not a time of day; write it like 07:00", text)
	}
	y, m, d := now.Date()
	for plus := 0; ; plus++ {
		for _, t := range moments(time.Date(y, m, d+plus, at.Hour(), at.Minute(), 0, 0, time.UTC), now.Location()) {
			if t.After(now) {
				return t, nil
			}
		}
	}
}

// moments are those at which clocks in a zone show what wall shows in UTC, the
// earliest first. time.Date knows only one, and takes either side of a gap.
func moments(wall time.Time, zone *time.Location) []time.Time {
	var all, shown []time.Time
	for _, side := range []time.Duration{-24 * time.Hour, 24 * time.Hour} {
		_, offset := wall.Add(side).In(zone).Zone()
		t := wall.Add(-time.Duration(offset) * time.Second).In(zone)
		all = append(all, t)
		if t.Hour() == wall.Hour() && t.Minute() == wall.Minute() {
			shown = append(shown, t)
		}
	}
	if shown == nil { // the clock skips it
		return all[:1]
	}
	return shown
}
