// Package drift notices that an attempt spends without getting anywhere: from
// what was counted, to what is wrong with it, to what is done about it. It never
// watches an agent itself, and it never reads a clock.
package drift

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"ralph/event"
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
	return Thresholds{Iterations: 20, Tokens: 2_000_000, ToolFailures: 10, Repeats: 6, Unchanged: 2, NoProgress: 20 * time.Minute}
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
	fire(limit.Iterations > 0 && s.Iterations >= limit.Iterations, Iterations, "the task has had %d attempts", s.Iterations)
	fire(limit.Tokens > 0 && s.Tokens >= limit.Tokens, Tokens, "the attempt has used %d tokens", s.Tokens)
	fire(limit.ToolFailures > 0 && s.Failures >= limit.ToolFailures, ToolFailures, "the last %d tool calls failed", s.Failures)
	call, again := s.repeated()
	fire(limit.Repeats > 0 && again >= limit.Repeats, Repeats, "%q was called %d times with the same result", call, again)
	fire(limit.Unchanged > 0 && s.Unchanged >= limit.Unchanged, Unchanged, "%d attempts in a row changed no file", s.Unchanged)
	quiet := s.quiet(now)
	fire(limit.NoProgress > 0 && quiet >= limit.NoProgress, NoProgress, "nothing new came of the last %s", quiet.Round(time.Second))
	return signals
}

// Ladder says what is done next after so many nudges in this session, and attempts at the
// task that ended by drift since it was last reset. A stronger model is nudged once, too.
func Ladder(nudged, ended int) event.DriftAction {
	switch {
	case nudged == 0:
		return event.DriftNudge
	case ended == 0:
		return event.DriftStronger
	default:
		return event.DriftGiveUp
	}
}

// Texts are the sentences of signals as one.
func Texts(signals []Signal) string {
	texts := make([]string, len(signals))
	for i, s := range signals {
		texts[i] = s.Text
	}
	return strings.Join(texts, "; ")
}

// Kinds are the names of signals, for storing.
func Kinds(signals []Signal) []string {
	kinds := make([]string, len(signals))
	for i, s := range signals {
		kinds[i] = string(s.Kind)
	}
	return kinds
}

// window is how many calls back repetition is looked for: an agent that goes in
// a circle of a few calls repeats each of them.
const window = 24

// Call is a tool call that has ended.
type Call struct {
	Name   string // as people see it
	Input  string // digests; two calls are the same if name, input and result are.
	Result string // Unknown for a call whose input was not reported.
	Failed bool
}

// Stats are what is counted about one attempt, and about those before it at the
// same task. The zero value is an attempt that has not started.
type Stats struct {
	Iterations int   // attempts at the task, this one too
	Tokens     int64 // used by this attempt
	Failures   int   // tool calls in a row that failed
	Unchanged  int   // attempts in a row that changed no file, this one too

	last    time.Time // something new came of it
	working int       // calls that have started and not ended
	recent  []Call    // since the last change, the newest last
}

// Begin starts the clock, at the first prompt and at every later one.
func (s *Stats) Begin(now time.Time) {
	s.last, s.working = now, 0
}

// Started notes a call that has started. While one runs, nothing new is expected.
func (s *Stats) Started() { s.working++ }

// Ended notes what came of a call. A result that was not there before is news.
func (s *Stats) Ended(c Call, now time.Time) {
	s.working = max(s.working-1, 0)
	s.Failures++
	if !c.Failed {
		s.Failures = 0
		if s.count(c) == 0 {
			s.last = now
		}
	}
	if c.Input == "" {
		return // who knows whether it is the same
	}
	s.recent = append(s.recent, c)
	if len(s.recent) > window {
		s.recent = slices.Clone(s.recent[len(s.recent)-window:])
	}
}

// Changed notes that a file was changed: the next build may print what the last
// one did, and that is no repetition.
func (s *Stats) Changed(now time.Time) {
	s.last, s.recent = now, nil
}

// Forgive starts over after a follow-up, so that it does not count what came
// before. What the attempt has used stays used: the tokens may grow by as much
// again.
func (s *Stats) Forgive(now time.Time) {
	s.Begin(now)
	s.Failures, s.Tokens, s.recent = 0, 0, nil
}

func (s Stats) count(c Call) int {
	n := 0
	for _, old := range s.recent {
		if old == c {
			n++
		}
	}
	return n
}

// repeated is the call that came most often.
func (s Stats) repeated() (name string, times int) {
	for _, c := range s.recent {
		if n := s.count(c); n > times {
			name, times = c.Name, n
		}
	}
	return name, times
}

func (s Stats) quiet(now time.Time) time.Duration {
	if s.last.IsZero() || s.working > 0 {
		return 0
	}
	return now.Sub(s.last)
}
