// Package wake lets goroutines wait: for a change that another reports, or for a time.
package wake

import (
	"cmp"
	"context"
	"sync"
	"time"
)

// Signal wakes everybody who waits for a change.
type Signal struct {
	mu sync.Mutex
	ch chan struct{}
}

// Changed is closed at the next wake. Whoever means to wait takes it before looking at
// what may change: a wake in between would be lost otherwise.
func (s *Signal) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ch == nil {
		s.ch = make(chan struct{})
	}
	return s.ch
}

// Wake has them look again.
func (s *Signal) Wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ch != nil {
		close(s.ch)
		s.ch = nil
	}
}

// Pause waits until a channel is closed, a time has come, or ctx ends. A zero time is
// never. It looks at the clock now and then instead of setting an alarm, because alarms
// stop while a machine sleeps.
func Pause(ctx context.Context, changed <-chan struct{}, until time.Time, now func() time.Time, poll time.Duration) {
	tick := time.NewTimer(0)
	defer tick.Stop()
	for {
		left := until.Sub(now())
		switch {
		case until.IsZero():
			tick.Stop()
		case left <= 0:
			return
		default:
			tick.Reset(min(left, cmp.Or(poll, time.Second)))
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
			return
		case <-tick.C:
		}
	}
}
