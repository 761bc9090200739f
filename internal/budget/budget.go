// Package budget compares what was spent with what may be spent, and estimates prices. It never measures
// anything, never reads a clock and never stops anybody.
package budget

import (
	"fmt"
	"math"
	"strings"
	"time"

	"ralph/dag"
	"ralph/internal/human"
)

// Scope is what a budget is for.
type Scope string

// The scopes there are.
const (
	Run     Scope = "run"
	Day     Scope = "day" // the calendar day, over all runs of the project
	Feature Scope = "feature"
	Task    Scope = "task"
)

// What is limited.
type What string

// The things that are limited.
const (
	Cost       What = "cost"
	Tokens     What = "tokens"
	Duration   What = "duration"
	Until      What = "until"
	Iterations What = "iterations"
	Failures   What = "failures"
)

// Limits are what may be spent. Zero means without limit.
type Limits struct {
	CostUSD    float64
	Tokens     int64
	Iterations int
	Failures   int // in a row
	Duration   time.Duration
	Until      time.Time
}

// Used is what was spent. What is unknown is 0 here: no limit can hold it.
type Used struct {
	CostUSD    float64
	Estimated  bool // some of the cost is only an estimate
	Unknown    bool // nobody knows all of the cost
	Tokens     int64
	Iterations int
	Failures   int
	Duration   time.Duration // without waiting for providers
	Since      time.Time     // when it began, for how near Until is
}

// Account is one budget.
type Account struct {
	Scope  Scope
	Name   string // of the feature or the task
	Limits Limits
	Used   Used
}

// Finding is a limit that was reached, or is near.
type Finding struct {
	Scope Scope
	Name  string
	What  What
	Share float64 // of the limit; 1 is all of it
	Text  string  // a sentence, without a full stop
}

// Key is the same for the same limit, so that a warning is given once.
func (f Finding) Key() string {
	return string(f.Scope) + "\x00" + f.Name + "\x00" + string(f.What)
}

// Stops says whether an agent at work is stopped for it. Iterations and failures
// are counted when an attempt ends, and only keep the next from beginning.
func (f Finding) Stops() bool {
	return f.What != Iterations && f.What != Failures
}

// near is the share of a limit from which on there is a warning.
const near = 0.8

// Check compares every account with its limits: over are those that are reached,
// warnings those that nearly are. Both are in the order of the accounts.
func Check(now time.Time, accounts ...Account) (over, warnings []Finding) {
	for _, a := range accounts {
		for _, f := range a.findings(now) {
			switch {
			case f.Share >= 1:
				over = append(over, f)
			case f.Share >= near:
				warnings = append(warnings, f)
			}
		}
	}
	return over, warnings
}

// Share is how much of the tightest budget of money and tokens is gone.
func Share(now time.Time, accounts ...Account) float64 {
	most := 0.0
	for _, a := range accounts {
		for _, f := range a.findings(now) {
			if f.What == Cost || f.What == Tokens {
				most = max(most, f.Share)
			}
		}
	}
	return most
}

func (a Account) findings(now time.Time) []Finding {
	var list []Finding
	l, u := a.Limits, a.Used
	add := func(limited bool, what What, share float64, text string) {
		if limited && !math.IsNaN(share) {
			list = append(list, Finding{Scope: a.Scope, Name: a.Name, What: what, Share: share, Text: text})
		}
	}
	where, end := a.where(), "it is to end at "+l.Until.Format("15:04")
	if !now.Before(l.Until) {
		end = "it is " + l.Until.Format("15:04")
	}
	add(l.CostUSD > 0, Cost, u.CostUSD/l.CostUSD,
		human.Roughly(u.Unknown, u.Estimated)+human.Dollars(u.CostUSD)+" of "+human.Dollars(l.CostUSD)+" spent"+where)
	add(l.Tokens > 0, Tokens, float64(u.Tokens)/float64(l.Tokens), human.Thousands(u.Tokens)+" of "+human.Tokens(l.Tokens)+" used"+where)
	add(l.Duration > 0, Duration, float64(u.Duration)/float64(l.Duration), human.Span(u.Duration)+" of "+human.Span(l.Duration)+" worked"+where)
	add(!l.Until.IsZero(), Until, a.elapsed(now), end)
	add(l.Iterations > 0, Iterations, float64(u.Iterations)/float64(l.Iterations), fmt.Sprintf("%d of %d iterations%s", u.Iterations, l.Iterations, where))
	add(l.Failures > 0, Failures, float64(u.Failures)/float64(l.Failures), fmt.Sprintf("%d of %d tasks failed in a row%s", u.Failures, l.Failures, where))
	return list
}

// elapsed is how much of the time until a moment has passed.
func (a Account) elapsed(now time.Time) float64 {
	if !now.Before(a.Limits.Until) {
		return 1
	}
	whole := a.Limits.Until.Sub(a.Used.Since)
	if a.Used.Since.IsZero() || whole <= 0 {
		return 0
	}
	return min(float64(now.Sub(a.Used.Since))/float64(whole), math.Nextafter(1, 0))
}

// Settled is what attempts used that have ended, as the graph adds it up.
func Settled(settled dag.Usage) Used {
	return Used{
		CostUSD: settled.Cost(),
		Tokens:  settled.Tokens(), Estimated: settled.Estimated, Unknown: settled.Unknown,
		Iterations: settled.Attempts, Failures: settled.Failures, Duration: settled.Worked,
	}
}

// Midnight is when the day began, which where clocks are put forward at night may be
// one o'clock.
func Midnight(now time.Time) time.Time {
	y, m, d := now.Date()
	t := time.Date(y, m, d, 0, 0, 0, 0, now.Location())
	for t.Day() != d {
		t = t.Add(time.Hour) // time.Date may answer with the evening before
	}
	return t
}

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
