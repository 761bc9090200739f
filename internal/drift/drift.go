// Package drift notices that an attempt spends without getting anywhere: from
// what was counted, to what is wrong with it, to what is done about it. It never
// watches an agent itself, and it never reads a clock.
package drift

import (
	"fmt"
	"time"
)

// Kind is a way to get nowhere.
type Kind string

// The kinds there are.
const (
	Iterations   Kind = "iterations"    // too many attempts at one task
	Tokens       Kind = "tokens"        // too many in one attempt
	ToolFailures Kind = "tool_failures" // in a row
	Repeats      Kind = "repeats"       // the same call with the same result
	Unchanged    Kind = "unchanged"     // attempts in a row that changed no file
	NoProgress   Kind = "no_progress"   // nothing new for a time
)

// Thresholds say from when on it is drift. Zero turns a detector off.
type Thresholds struct {
	Iterations   int
	Tokens       int64
	ToolFailures int
	Repeats      int
	Unchanged    int
	NoProgress   time.Duration
}

// Default is what one would not expect of an agent that gets on.
func Default() Thresholds {
	return Thresholds{
		Iterations: 20, Tokens: 2_000_000, ToolFailures: 10, Repeats: 6, Unchanged: 2, NoProgress: 20 * time.Minute,
	}
}

// Signal is one detector that fired.
type Signal struct {
	Kind Kind
	Text string // a sentence, without a full stop
}

// Check returns what is wrong now, in a fixed order; nothing if all is well.
func Check(s Stats, limit Thresholds, now time.Time) []Signal {
	var signals []Signal
	fire := func(over bool, kind Kind, format string, args ...any) {
		if over {
			signals = append(signals, Signal{Kind: kind, Text: fmt.Sprintf(format, args...)})
		}
	}
	fire(limit.Iterations > 0 && s.Iterations >= limit.Iterations, Iterations,
		"the task has had %d attempts", s.Iterations)
	fire(limit.Tokens > 0 && s.Tokens >= limit.Tokens, Tokens,
		"the attempt has used %d tokens", s.Tokens)
	fire(limit.ToolFailures > 0 && s.Failures >= limit.ToolFailures, ToolFailures,
		"the last %d tool calls failed", s.Failures)
	call, again := s.repeated()
	fire(limit.Repeats > 0 && again >= limit.Repeats, Repeats,
		"%q was called %d times with the same result", call, again)
	fire(limit.Unchanged > 0 && s.Unchanged >= limit.Unchanged, Unchanged,
		"%d attempts in a row changed no file", s.Unchanged)
	quiet := s.quiet(now)
	fire(limit.NoProgress > 0 && quiet >= limit.NoProgress, NoProgress,
		"nothing new came of the last %s", quiet.Round(time.Second))
	return signals
}
