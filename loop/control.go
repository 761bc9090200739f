package loop

import (
	"context"
	"errors"
	"slices"
	"time"

	"ralph/dag"
	"ralph/internal/event"
)

// errStopped ends a run that was asked to end at once.
var errStopped = errors.New("stopped by: ralph stop --now")

// watchControl looks every second at what people asked of this run from another shell. It
// wakes waiting workers when that changed, and ends the run when it is to end at
// once. The channel is closed when it has stopped.
func (r *Runner) watchControl(ctx context.Context, stop context.CancelCauseFunc) <-chan struct{} {
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
				now, _ = g.Queue.Control(r.run.ID)
				limits, err = g.Queue.AgentLimits()
				return err
			})
			switch {
			case err != nil: // a claim meets the same trouble, and reports it
			case now.Stop == dag.StopNow:
				stop(errStopped)
				return
			default:
				r.claimer.update(now, limits)
			}
			if err := r.lander.Watch(ctx); err != nil {
				r.end(event.OutcomeBlocked, err.Error(), nil)
			}
			if due(r.opts.Host.Now().Sub(beat), r.opts.Workers.Lease) {
				beat = r.opts.Host.Now()
				_ = r.opts.Graph.Store.Update(ctx, func(g *dag.Graph) error { return g.Queue.Alive(r.run.Owner) }) // the next one may
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

// update wakes waiting workers if they looked at the graph when something else was asked
// of the run, or when other agents were rate-limited.
func (c *claimer) update(now dag.Control, limits []dag.AgentLimit) {
	c.mu.Lock()
	news := c.control != now || !slices.Equal(c.limits, limits)
	c.control, c.limits = now, limits
	c.mu.Unlock()
	if news {
		c.signal.Wake()
	}
}
