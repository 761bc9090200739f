package strategy

import (
	"fmt"

	"ralph/event"
)

const (
	// recent is how many attempts back the trouble of other tasks counts.
	// Without an end to it one failure in the evening would buy the dearest
	// tier for the rest of the night.
	recent = 10
	// steady is how many clean completions allow the cheapest tier.
	steady = 3
)

// costOptimized answers any distress with the best tier, a steady run of
// completions with the cheapest, and everything else with the middle one.
// Distress is looked for first, so no number of completions outweighs it.
func costOptimized(in Input) (Tier, string) {
	if in.Retries > 0 {
		return Opus, fmt.Sprintf("retry %d of this task", in.Retries)
	}
	clean, fresh := 0, true
	for i, a := range in.History {
		mine := a.Task == in.Task && in.Task != ""
		near := i >= len(in.History)-recent
		if !mine && !near {
			continue
		}
		if d, why := assess(a); d > calm {
			return Opus, why
		}
		if a.Outcome == event.AttemptDone && near {
			clean++
		}
		if mine && a.Outcome == event.AttemptReleased {
			fresh = false
		}
	}
	switch {
	case clean < steady:
		return Sonnet, "neither trouble nor a steady run yet"
	case !fresh:
		return Sonnet, "this task has ended without a verdict before"
	}
	return Haiku, fmt.Sprintf("%d clean completions", clean)
}
