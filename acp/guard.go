package acp

import (
	"context"
	"errors"
	"time"
)

// Guard ends a turn of a session for a reason that Inspect finds while the agent works.
type Guard struct {
	Every   time.Duration               // how often Inspect is called; 0 means every second
	News    <-chan struct{}             // calls it in between
	Inspect func(context.Context) error // why the turn must end, or nil
}

// errCut carries the reason of a guard, and distinguishes it from other ends of a context.
type errCut struct{ why error }

func (e errCut) Error() string { return e.why.Error() }

func (e errCut) Unwrap() error { return e.why }

// Prompter is a session, or what wraps one.
type Prompter interface {
	Prompt(ctx context.Context, text string) (Turn, error)
}

// Turn sends a prompt and guards the turn. If it was cut short, cut is why. A turn that
// completed meanwhile counts as it is, and has no error.
func (g Guard) Turn(ctx context.Context, s Prompter, text string) (turn Turn, cut, err error) {
	ctx, end := context.WithCancelCause(ctx)
	guarding := g.Watch(ctx, end)
	turn, err = s.Prompt(ctx, text)
	cause := context.Cause(ctx)
	end(nil)
	<-guarding
	var by errCut
	if !errors.As(cause, &by) {
		return turn, nil, err
	}
	if turn.Completed() {
		err = nil
	}
	return turn, by.why, err
}

// Completed reports whether a turn came to its end, even if it was being cut short.
func (t Turn) Completed() bool { return t.Stop != "" && t.Stop != StopCancelled }

// Watch ends a context for the reason that Inspect gives. The channel is closed when
// it has stopped.
func (g Guard) Watch(ctx context.Context, end context.CancelCauseFunc) <-chan struct{} {
	done := make(chan struct{})
	every := g.Every
	if every == 0 {
		every = time.Second
	}
	go func() {
		defer close(done)
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			case <-g.News:
			}
			if why := g.Inspect(ctx); why != nil {
				end(errCut{why})
				return
			}
		}
	}()
	return done
}
