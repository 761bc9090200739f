package loop

import (
	"context"
	"errors"
	"time"

	"ralph/dag"
	"ralph/event"
)

// heartbeat looks every second whether the claim is still ours, and renews the
// lease every third of its life, and whenever the attempt has used more. It ends the
// attempt when the claim is lost: a person reset, finished or deleted the task. The
// channel is closed when it has stopped.
func (a *attempt) heartbeat(ctx context.Context, lose context.CancelCauseFunc) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(a.opts.Poll)
		defer ticker.Stop()
		last, tried := a.opts.Now(), a.opts.Now()
		var stored event.Usage
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			var err error
			if used := a.usage(); a.due(tried) || !used.Equal(stored) {
				tried, stored = a.opts.Now(), used
				err = a.opts.Store.Update(ctx, func(g *dag.Graph) error { return a.beat(g, used) })
			} else {
				err = a.opts.Store.View(ctx, func(g *dag.Graph) error { return g.Holds(a.claim) })
			}
			switch {
			case err == nil:
				last = a.opts.Now()
			case errors.Is(err, dag.ErrLost):
				lose(errLost)
				return
			case a.opts.Now().Sub(last) > a.opts.Lease && ctx.Err() == nil:
				lose(errUnrenewed)
				return
			case ctx.Err() == nil:
				a.bus.warnOnce("heartbeat", "the claim could not be renewed: "+err.Error())
			}
		}
	}()
	return done
}

// beat is the checkpoint of an attempt: all that would be lost if ralph died now.
func (a *attempt) beat(g *dag.Graph, used event.Usage) error {
	if err := g.Heartbeat(a.claim, a.opts.Lease); err != nil {
		return err
	}
	note := dag.Note{Usage: &used}
	a.mu.Lock()
	if session := a.active[a.claim.Attempt]; session != nil {
		note.SessionUSD = session.SessionUSD()
	}
	a.mu.Unlock()
	return g.NoteAttempt(a.claim.Attempt, note)
}
