package loop

import (
	"slices"
	"sync"

	"ralph/internal/event"
)

// tried are the locks that agents have beside those of their tasks, by attempt.
type tried struct {
	mu    sync.Mutex
	locks map[string][]string
}

// change takes in what an agent locked or gave back, and names what it gave back if it did not.
func (t *tried) change(e event.Event) event.Event {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.locks == nil {
		t.locks = map[string][]string{}
	}
	has := t.locks[e.Attempt]
	if e.Outcome == event.LocksReleased && len(e.Locks) == 0 {
		e.Locks = has
	}
	has = slices.DeleteFunc(slices.Clone(has), func(name string) bool { return slices.Contains(e.Locks, name) })
	if e.Outcome == event.LocksTaken {
		has = append(has, e.Locks...)
	}
	t.locks[e.Attempt] = has
	return e
}

// end forgets an attempt, and names what it still had.
func (t *tried) end(attempt string) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	defer delete(t.locks, attempt)
	return t.locks[attempt]
}

// tellTool reports what an agent changed by a tool.
func (r *Runner) tellTool(e event.Event) {
	if e.Type == event.LocksChanged {
		if e = r.tried.change(e); len(e.Locks) == 0 {
			return
		}
	}
	r.bus.emit(e)
}
