package loop

import (
	"context"
	"errors"
	"time"

	"ralph/acp"
)

// Guard looks whether a session may go on while it is at work.
type Guard struct {
	Every   time.Duration               // it is asked so often; 0 means every second
	News    <-chan struct{}             // and whenever something happened that may be too much
	Inspect func(context.Context) error // why it may not go on, or nil
}

// errCut carries the reason of a guard, and tells it from other ends of a context.
type errCut struct{ why error }

func (e errCut) Error() string { return e.why.Error() }

func (e errCut) Unwrap() error { return e.why }

// Turn sends a prompt and guards the turn. If it was cut short, cut is why. A turn that
// ended by itself meanwhile counts as it is, and has no error.
func (g Guard) Turn(ctx context.Context, s Session, text string) (turn acp.Turn, cut, err error) {
	ctx, end := context.WithCancelCause(ctx)
	guarding := g.watch(ctx, end)
	turn, err = s.Prompt(ctx, text)
	cause := context.Cause(ctx)
	end(nil)
	<-guarding
	var by errCut
	if !errors.As(cause, &by) {
		return turn, nil, err
	}
	if byItself(turn) {
		err = nil
	}
	return turn, by.why, err
}

// byItself says that a turn came to its end, also if it was to be cut meanwhile.
func byItself(turn acp.Turn) bool { return turn.Stop != "" && turn.Stop != acp.StopCancelled }

// watch ends a session for the reason that Inspect gives. The channel is closed when
// it has stopped.
func (g Guard) watch(ctx context.Context, end context.CancelCauseFunc) <-chan struct{} {
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
