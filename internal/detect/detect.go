// Package detect notices, from what an attempt does, that it spends without getting anywhere (drift), and that its agent does
// what one that makes progress does not do (anomalies): it writes or deletes far too much, leaves the files of its task, or runs commands
// that look destructive. It confines nothing, never watches an agent itself, and never reads a clock.
package detect

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"ralph/internal/glob"
	"ralph/internal/human"
	"ralph/internal/toolcall"
)

// Kind is what a signal is about.
type Kind string

// The ways to get nowhere, and the sorts of anomalies.
const (
	Iterations   Kind = "iterations"    // too many attempts at one task
	Tokens       Kind = "tokens"        // too many in one attempt
	ToolFailures Kind = "tool_failures" // in a row
	Repeats      Kind = "repeats"       // the same call with the same result
	Unchanged    Kind = "unchanged"     // attempts in a row that changed no file
	NoProgress   Kind = "no_progress"   // nothing new for a time

	Writes      Kind = "writes"      // too many a minute
	Deletions   Kind = "deletions"   // too many a minute
	Outside     Kind = "outside"     // of what the task says it touches
	Destructive Kind = "destructive" // a command
)

// Limits set from when on there is a signal. Zero turns a detector off.
type Limits struct {
	Iterations   int
	Tokens       int64
	ToolFailures int
	Repeats      int
	Unchanged    int
	NoProgress   time.Duration
	Anomaly      Anomaly
}

// Anomaly sets what is an anomaly, and what happens then besides reporting it.
type Anomaly struct {
	WritesPerMinute    int
	DeletionsPerMinute int
	Destructive        bool
	Outside            bool

	Stop bool // the turn is cut, and the agent gets a warning
	Ask  bool // the same, and a person decides
}

// Default is what one would not expect of an agent that gets on.
func Default() Limits {
	return Limits{
		Iterations: 20, Tokens: 2_000_000, ToolFailures: 10, Repeats: 6, Unchanged: 2, NoProgress: 20 * time.Minute,
		Anomaly: Anomaly{WritesPerMinute: 120, DeletionsPerMinute: 30, Destructive: true, Outside: true},
	}
}

// Signal is one detector that fired.
type Signal struct {
	Kind Kind
	Text string // a sentence, without a full stop
}

// Anomaly reports whether the signal is about an anomaly.
func (s Signal) Anomaly() bool {
	return slices.Contains([]Kind{Writes, Deletions, Outside, Destructive}, s.Kind)
}

// Texts are the sentences of signals as one.
func Texts(signals []Signal) string {
	texts := make([]string, len(signals))
	for i, s := range signals {
		texts[i] = s.Text
	}
	return strings.Join(texts, "; ")
}

// Call is a tool call that has ended.
type Call struct {
	Name   string // as people see it
	Input  string // digests; two calls are the same if name, input and result are.
	Result string // Unknown for a call whose input was not reported.
	Failed bool
}

// Detector follows one attempt, and knows what is counted about those before it at the same task.
type Detector struct {
	Limits   Limits
	Paths    []string // what the task says it touches; none means anything
	Slot     bool     // the folder is a copy of its own, in which nothing of a person's can be lost
	Approved []string // what people said is what the task needs

	Iterations int   // attempts at the task, this one too
	Tokens     int64 // used by this attempt
	Failures   int   // tool calls in a row that failed
	Unchanged  int   // attempts in a row that changed no file, this one too

	last    time.Time // something new came of it
	working int       // calls that have started and not ended
	recent  []Call    // since the last change, the newest last

	writes, deletions []time.Time // of the last minute
	outside           bool        // was reported
	found             []Signal    // anomalies that cut this turn
}

// Begin starts the clock, at the first prompt and at every later one.
func (d *Detector) Begin(now time.Time) { d.last, d.working, d.found = now, 0, nil }

// Started notes a call that has started. While one runs, nothing new is expected.
func (d *Detector) Started() { d.working++ }

// window is how many calls back repetition is looked for: an agent that goes in
// a circle of a few calls repeats each of them.
const window = 24

// Ended notes what came of a call. A result that was not there before is news.
func (d *Detector) Ended(c Call, now time.Time) {
	d.working = max(d.working-1, 0)
	d.Failures++
	if !c.Failed {
		d.Failures = 0
		if d.count(c) == 0 {
			d.last = now
		}
	}
	if c.Input == "" {
		return // who knows whether it is the same
	}
	d.recent = append(d.recent, c)
	if len(d.recent) > window {
		d.recent = slices.Clone(d.recent[len(d.recent)-window:])
	}
}

// Changed notes that a file was changed: the next build may print what the last
// one did, and that does not repeat it.
func (d *Detector) Changed(now time.Time) { d.last, d.recent = now, nil }

// Forgive starts over after a follow-up, so that it does not count what came
// before. What the attempt has used stays used: the tokens may grow by as much
// again.
func (d *Detector) Forgive(now time.Time) {
	d.Begin(now)
	d.Failures, d.Tokens, d.recent = 0, 0, nil
}

// See takes in a call that has begun, or a file that was written, and returns the anomalies in it.
// A detector that has fired starts over; that of files outside the task's fires once, because a
// task's files are a forecast and not a fence.
func (d *Detector) See(c toolcall.Call, now time.Time) (found []Signal) {
	fire := func(over bool, kind Kind, format string, args ...any) {
		s := Signal{kind, fmt.Sprintf(format, args...)}
		if over && !slices.ContainsFunc(d.Approved, func(text string) bool { return strings.Contains(text, s.Text) }) {
			found = append(found, s)
		}
	}
	limit, changes, count := d.Limits.Anomaly, toolcall.Changes(c.Kind), max(len(c.Paths), 1)
	written := changes && c.Kind != toolcall.Delete && crowded(&d.writes, count, limit.WritesPerMinute, now)
	fire(written, Writes, "more than %d writes in a minute", limit.WritesPerMinute)
	deleted := c.Kind == toolcall.Delete && crowded(&d.deletions, count, limit.DeletionsPerMinute, now)
	fire(deleted, Deletions, "more than %d deletions in a minute", limit.DeletionsPerMinute)
	if out := glob.Outside(c.Paths, d.Paths); changes && len(out) > 0 && limit.Outside && !d.outside {
		d.outside = true
		fire(true, Outside, "changes outside the paths of the task (%s): %s", strings.Join(d.Paths, ", "), human.Few(out))
	}
	fire(limit.Destructive && c.Command != "" && LooksDestructive(c, d.Slot), Destructive, "a command that looks destructive: %.200s", c.Command)
	if limit.Stop || limit.Ask {
		d.found = append(d.found, found...)
	}
	return found
}

// crowded adds things to those of the last minute, and reports whether there are too many.
func crowded(times *[]time.Time, count, limit int, now time.Time) bool {
	if limit == 0 {
		return false
	}
	since := now.Add(-time.Minute)
	*times = slices.DeleteFunc(*times, func(at time.Time) bool { return !at.After(since) })
	for range min(count, limit+1) {
		*times = append(*times, now)
	}
	if len(*times) <= limit {
		return false
	}
	*times = nil
	return true
}

// Check returns what is wrong now, in a fixed order; nothing if all is well.
func (d Detector) Check(now time.Time) []Signal {
	signals := slices.Clone(d.found)
	fire := func(over bool, kind Kind, format string, args ...any) {
		if over {
			signals = append(signals, Signal{kind, fmt.Sprintf(format, args...)})
		}
	}
	limit := d.Limits
	fire(limit.Iterations > 0 && d.Iterations >= limit.Iterations, Iterations, "the task has had %d attempts", d.Iterations)
	fire(limit.Tokens > 0 && d.Tokens >= limit.Tokens, Tokens, "the attempt has used %d tokens", d.Tokens)
	fire(limit.ToolFailures > 0 && d.Failures >= limit.ToolFailures, ToolFailures, "the last %d tool calls failed", d.Failures)
	call, again := d.repeated()
	fire(limit.Repeats > 0 && again >= limit.Repeats, Repeats, "%q was called %d times with the same result", call, again)
	fire(limit.Unchanged > 0 && d.Unchanged >= limit.Unchanged, Unchanged, "%d attempts in a row changed no file", d.Unchanged)
	quiet := d.quiet(now)
	fire(limit.NoProgress > 0 && quiet >= limit.NoProgress, NoProgress, "nothing new came of the last %s", quiet.Round(time.Second))
	return signals
}

func (d Detector) count(c Call) int {
	n := 0
	for _, old := range d.recent {
		if old == c {
			n++
		}
	}
	return n
}

// repeated is the call that came most often.
func (d Detector) repeated() (name string, times int) {
	for _, c := range d.recent {
		if n := d.count(c); n > times {
			name, times = c.Name, n
		}
	}
	return name, times
}

func (d Detector) quiet(now time.Time) time.Duration {
	if d.last.IsZero() || d.working > 0 {
		return 0
	}
	return now.Sub(d.last)
}
