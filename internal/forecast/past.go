package forecast

import (
	"time"

	"ralph/internal/event"
)

// Traits are what is known of a task before anybody works on it.
type Traits struct {
	Kind  string // empty of a task that was deleted since
	Size  Size
	Agent string
	Model string // that is asked for; empty leaves it to the agent
}

// Size is how much there is to do. Nobody says so: the length of a task's text stands for it.
type Size string

// The sizes of tasks.
const (
	Short  Size = "short"
	Medium Size = "medium"
	Long   Size = "long"
)

// SizeOf is the size of a task whose title and description have so many bytes.
func SizeOf(text int) Size {
	switch {
	case text <= 300:
		return Short
	case text <= 1500:
		return Medium
	default:
		return Long
	}
}

// Unknown is how long an attempt took of which nobody knows when it ended.
const Unknown time.Duration = -1

// Attempt is one past try at a task.
type Attempt struct {
	Task string
	Traits
	Outcome event.AttemptOutcome // empty if it has not ended, or its run was killed and nobody noticed yet
	Took    time.Duration        // negative if nobody knows

	CostUSD       *float64 // nil is nothing, unless it is unknown
	CostUnknown   bool
	CostEstimated bool
}

// Past is a past task with all attempts until it was done or had failed. A task that was reset later is another one.
type Past struct {
	Traits
	Failed   bool
	Attempts int
	Took     time.Duration

	CostUSD       float64
	CostUnknown   bool
	CostEstimated bool

	lost bool // nobody knows how long one of the attempts took
}

// PastTasks makes tasks of attempts, which are in the order in which they began. What has no result is left out, and so is a task
// of which a part of the time is unknown: a killed run must not look like a quick one. Waiting for a rate limit is no work, but what
// was paid until then was paid.
func PastTasks(attempts []Attempt) []Past {
	var list []Past
	open := map[string]*Past{}
	for _, a := range attempts {
		p := open[a.Task]
		if p == nil {
			p = &Past{}
			open[a.Task] = p
		}
		p.add(a)
		if !a.Outcome.Done() && a.Outcome != event.AttemptFailed {
			continue
		}
		if p.Failed = !a.Outcome.Done(); !p.lost {
			list = append(list, *p)
		}
		delete(open, a.Task)
	}
	return list
}

func (p *Past) add(a Attempt) {
	p.Attempts++
	if p.Agent == "" { // of the first attempt that had one: later ones may have a stronger model because of it
		p.Traits = a.Traits
	}
	if a.Outcome != event.AttemptLimited {
		p.Took, p.lost = p.Took+a.Took, p.lost || a.Took < 0
	}
	if a.CostUSD != nil {
		p.CostUSD += *a.CostUSD
	}
	p.CostUnknown, p.CostEstimated = p.CostUnknown || a.CostUnknown, p.CostEstimated || a.CostEstimated
}
