package loop

import (
	"context"
	"errors"
	"time"

	"ralph/dag"
)

// heartbeat renews the lease every third of its life, and ends the attempt when
// the claim is lost: a person reset, finished or deleted the task. The channel is
// closed when it has stopped.
func (a *attempt) heartbeat(ctx context.Context, lose context.CancelCauseFunc) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(a.opts.Lease / 3)
		defer ticker.Stop()
		last := a.opts.Now()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			err := a.opts.Store.Update(ctx, func(g *dag.Graph) error { return g.Heartbeat(a.claim, a.opts.Lease) })
			switch {
			case err == nil:
				last = a.opts.Now()
			case errors.Is(err, dag.ErrLost), a.opts.Now().Sub(last) > a.opts.Lease && ctx.Err() == nil:
				lose(errLost) // where nobody can see that we live, another run may have taken it
				return
			case ctx.Err() == nil:
				a.warnFirst("heartbeat", "the claim could not be renewed: "+err.Error())
			}
		}
	}()
	return done
}
