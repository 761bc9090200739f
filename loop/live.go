package loop

import (
	"maps"
	"slices"
	"sync"
	"time"

	"ralph/dag"
	"ralph/internal/budget"
	"ralph/internal/event"
)

// live knows what the attempts that are running have used so far. Its lock is a leaf.
type live struct {
	mu       sync.Mutex
	attempts map[string]*liveAttempt
}

type liveAttempt struct {
	task  dag.Task
	began time.Time
	note  dag.Note // what it has used, as it is stored
}

func (l *live) add(attempt string, t dag.Task, began time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.attempts[attempt] = &liveAttempt{task: t, began: began, note: dag.Note{Usage: &event.Usage{}}}
}

// own says whether an attempt is one of this run.
func (l *live) own(attempt string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.attempts[attempt] != nil
}

// all lists the attempts of this run.
func (l *live) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Keys(l.attempts))
}

// used stores what an attempt has used in all.
func (l *live) used(attempt string, used event.Usage, sessionUSD *float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if a := l.attempts[attempt]; a != nil {
		a.note = dag.Note{Usage: &used, SessionUSD: sessionUSD}
	}
}

// note is what an attempt has used, as it is stored.
func (l *live) note(attempt string) dag.Note {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.attempts[attempt].note
}

// remove ends the count of an attempt. It is called in the transaction that settles it:
// before, another worker could count it not at all, and afterwards twice.
func (l *live) remove(attempt string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.attempts, attempt)
}

// sum adds what running attempts at matching tasks have used.
func (l *live) sum(settled budget.Used, now time.Time, match func(dag.Task) bool) budget.Used {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range l.attempts {
		if match(a.task) {
			used := a.note.Usage
			settled.Duration += now.Sub(a.began)
			settled.Tokens += used.Tokens()
			settled.CostUSD += used.Cost()
			settled.Estimated, settled.Unknown = settled.Estimated || used.Estimated, settled.Unknown || used.Unknown
		}
	}
	return settled
}
