package budget

import (
	"time"

	"ralph/dag"
)

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
