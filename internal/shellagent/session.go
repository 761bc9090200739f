package shellagent

import (
	"context"
	"sync"

	acp "github.com/coder/acp-go-sdk"
)

// session is a folder to run in, the turn that is running and what the last
// one answered.
type session struct {
	cwd string

	mu     sync.Mutex
	stop   context.CancelFunc // nil when no turn is running
	closed bool
	ended  sync.WaitGroup

	// Of the turn that is running, and of the one before.
	last string
	job  job
}

// begin starts a turn. It refuses a second one: two scripts in one folder would
// be two agents at one task.
func (s *session) begin(ctx context.Context) (context.Context, func(), error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.stop != nil {
		return nil, nil, acp.NewInvalidRequest(map[string]any{"error": "the session is closed or already has a turn"})
	}
	ctx, cancel := context.WithCancel(ctx)
	s.stop = cancel
	s.ended.Add(1)
	return ctx, func() {
		s.mu.Lock()
		s.stop = nil
		s.mu.Unlock()
		cancel()
		s.ended.Done()
	}, nil
}

// close cancels the turn, if there is one, allows no other and waits.
func (s *session) close() {
	s.mu.Lock()
	s.closed = true
	if s.stop != nil {
		s.stop()
	}
	s.mu.Unlock()
	s.ended.Wait()
}
