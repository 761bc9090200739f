package loop

import "sync"

// signal wakes everybody who waits for a change.
type signal struct {
	mu sync.Mutex
	ch chan struct{}
}

// changed is closed at the next wake. Whoever means to wait takes it before looking at
// what may change: a wake in between would be lost otherwise.
func (s *signal) changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ch == nil {
		s.ch = make(chan struct{})
	}
	return s.ch
}

func (s *signal) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ch != nil {
		close(s.ch)
		s.ch = nil
	}
}
