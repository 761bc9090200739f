package loop

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"ralph/loop/attempt"
)

// sessions opens sessions and can kill all that are open.
type sessions struct {
	opener func(context.Context, attempt.Opening) (attempt.Session, error)

	mu   sync.Mutex
	open map[*listed]bool
}

// Open opens a session that is on the list until it is closed.
func (s *sessions) Open(ctx context.Context, op attempt.Opening) (attempt.Session, error) {
	session, err := s.opener(ctx, op)
	if err != nil {
		return nil, err
	}
	l := &listed{session, s}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[l] = true
	return l, nil
}

// Kill ends every open session at once.
func (s *sessions) Kill() error {
	s.mu.Lock()
	list := slices.Collect(maps.Keys(s.open))
	s.mu.Unlock()
	var errs []error
	for _, session := range list {
		errs = append(errs, session.Kill())
	}
	return errors.Join(errs...)
}

// listed takes itself off the list when it is closed.
type listed struct {
	attempt.Session
	list *sessions
}

func (l *listed) Close() error {
	err := l.Session.Close()
	l.list.mu.Lock()
	defer l.list.mu.Unlock()
	delete(l.list.open, l)
	return err
}
