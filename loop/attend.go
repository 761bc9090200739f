package loop

import (
	"context"
	"errors"
	"slices"
	"time"

	"ralph/dag"
)

// errStopped ends a run that was asked to end at once.
var errStopped = errors.New("stopped by: ralph stop --now")

// attend looks every second at what people asked of this run from another shell. It
// wakes waiting workers when that changed, and ends the run when it is to end at
// once. The channel is closed when it has stopped.
func (r *Runner) attend(ctx context.Context, stop context.CancelCauseFunc) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(r.opts.Workers.Poll)
		defer ticker.Stop()
		beat := r.opts.Host.Now()
		for {
			var now dag.Control
			var limits []dag.AgentLimit
			err := r.opts.Graph.Store.View(ctx, func(g *dag.Graph) (err error) {
				if now, err = g.Control(r.run.ID); err != nil {
					return err
				}
				limits, err = g.AgentLimits()
				return err
			})
			switch {
			case err != nil: // a claim meets the same trouble, and tells
			case now.Stop == dag.StopNow:
				stop(errStopped)
				return
			default:
				r.heed(now, limits)
			}
			if due(r.opts.Host.Now().Sub(beat), r.opts.Workers.Lease) {
				beat = r.opts.Host.Now()
				_ = r.opts.Graph.Store.Update(ctx, func(g *dag.Graph) error { return g.Alive(r.run.Owner) }) // the next one may
			}
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
		}
	}()
	return done
}

// heed wakes waiting workers if they looked at the graph when something else was
// asked of the run, or when other agents had no room.
func (r *Runner) heed(now dag.Control, limits []dag.AgentLimit) {
	r.mu.Lock()
	news := r.control != now || !slices.Equal(r.limits, limits)
	r.control, r.limits = now, limits
	r.mu.Unlock()
	if news {
		r.signal.wake()
	}
}
