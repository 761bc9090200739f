// Package anomaly notices that an agent does what one at work does not do: it writes or deletes
// far too much, leaves the files of its task, or runs commands that look destructive. It confines
// nothing and never reads a clock.
package anomaly

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"ralph/internal/glob"
	"ralph/internal/human"
	"ralph/internal/toolcall"
)

// Kind is a sort of anomaly.
type Kind string

// The kinds there are.
const (
	Writes      Kind = "writes"      // too many a minute
	Deletions   Kind = "deletions"   // too many a minute
	Outside     Kind = "outside"     // of what the task says it touches
	Destructive Kind = "destructive" // a command
)

// Is says whether a name is that of a kind.
func Is(name string) bool {
	return slices.Contains([]Kind{Writes, Deletions, Outside, Destructive}, Kind(name))
}

// Limits say from when on it is an anomaly.
type Limits struct {
	WritesPerMinute    int // 0 means any number
	DeletionsPerMinute int // 0 means any number
	Destructive        bool
	Outside            bool
}

// Default is more than an agent does that gets on.
func Default() Limits {
	return Limits{WritesPerMinute: 120, DeletionsPerMinute: 30, Destructive: true, Outside: true}
}

// Finding is one anomaly.
type Finding struct {
	Kind Kind
	Text string // a sentence, without a full stop
}

// Detector looks at the calls of one attempt.
type Detector struct {
	Limits Limits
	Paths  []string // what the task says it touches; none means anything
	Slot   bool     // the folder is a copy of its own, in which nothing of a person's can be lost

	writes, deletions []time.Time // of the last minute
	outside           bool        // was said
}

// maxPaths is how many files of one call are named.
const maxPaths = 5

// See takes in a call that has begun, or a file that was written, and says what is odd about it.
// A detector that has fired starts over; that of files outside the task's fires once, because a
// task's files are a forecast and not a fence.
func (d *Detector) See(c toolcall.Call, now time.Time) (found []Finding) {
	changes := toolcall.Changes(c.Kind)
	count := max(len(c.Paths), 1)
	if changes && c.Kind != toolcall.Delete && crowded(&d.writes, count, d.Limits.WritesPerMinute, now) {
		found = append(found, Finding{Writes, fmt.Sprintf("more than %d writes in a minute", d.Limits.WritesPerMinute)})
	}
	if c.Kind == toolcall.Delete && crowded(&d.deletions, count, d.Limits.DeletionsPerMinute, now) {
		found = append(found, Finding{Deletions, fmt.Sprintf("more than %d deletions in a minute", d.Limits.DeletionsPerMinute)})
	}
	if out := glob.Outside(c.Paths, d.Paths); changes && len(out) > 0 && d.Limits.Outside && !d.outside {
		d.outside = true
		found = append(found, Finding{Outside, fmt.Sprintf("changes outside the paths of the task (%s): %s", strings.Join(d.Paths, ", "), human.List(out, maxPaths))})
	}
	if d.Limits.Destructive && c.Command != "" && LooksDestructive(c, d.Slot) {
		found = append(found, Finding{Destructive, fmt.Sprintf("a command that looks destructive: %.200s", c.Command)})
	}
	return found
}

// crowded adds things to those of the last minute, and says that there are too many.
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
