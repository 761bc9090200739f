package loop

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"time"

	"ralph/dag"
	"ralph/internal/inbox"
	"ralph/loop/attempt"
)

// keeper renews claims while attempts run.
type keeper struct{ shared }

// keep looks often whether a claim is still ours, and renews its lease every third of its
// life, and whenever the attempt has used more. It ends the attempt when the claim is
// lost, because a person reset, finished or deleted the task, and when a person stops it. The channel is closed when it has
// stopped, at the end of ctx.
func (k keeper) keep(ctx context.Context, claim dag.Claim, agent string, lose context.CancelCauseFunc) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(k.opts.Workers.Poll)
		defer ticker.Stop()
		now := k.opts.Host.Now
		last, tried := now(), now()
		stored := k.live.note(claim.Attempt)
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			var reopened []dag.Task
			err := k.opts.Graph.Store.View(ctx, func(g *dag.Graph) (err error) { reopened, err = k.look(g, claim); return err })
			k.notifyReopened(ctx, claim, reopened)
			if note := k.live.note(claim.Attempt); err == nil && (due(now().Sub(tried), k.opts.Workers.Lease) || !reflect.DeepEqual(note, stored)) {
				tried, stored = now(), note
				err = k.opts.Graph.Store.Update(ctx, func(g *dag.Graph) error {
					if err := g.Queue.Heartbeat(claim, k.opts.Workers.Lease); err != nil {
						return err
					}
					if note.Usage.Tokens() > 0 { // the others of this agent may follow, if it was rate-limited
						if err := g.Queue.Answered(agent); err != nil {
							return err
						}
					}
					return g.History.NoteAttempt(claim.Attempt, note)
				})
			}
			switch {
			case err == nil:
				last = now()
			case errors.Is(err, dag.ErrLost):
				lose(attempt.ErrLost)
				return
			case errors.Is(err, attempt.ErrStopped):
				lose(attempt.ErrStopped)
				return
			case now().Sub(last) > k.opts.Workers.Lease && ctx.Err() == nil:
				lose(attempt.ErrUnrenewed)
				return
			case ctx.Err() == nil:
				k.bus.warnOnce("heartbeat", "the claim could not be renewed: "+err.Error())
			}
		}
	}()
	return done
}

// look says why an attempt has to end: its claim is lost, or a person stops it. Reopened are the tasks that its own task
// waits for, though it has begun.
func (k keeper) look(g *dag.Graph, claim dag.Claim) (reopened []dag.Task, err error) {
	if err := g.Queue.Holds(claim); err != nil {
		return nil, err
	}
	stop, err := inbox.Interrupted(g, claim)
	if err == nil && stop.ID != "" {
		return nil, attempt.ErrStopped
	}
	if t, terr := g.Tasks.Get(claim.Task.ID); err == nil && terr == nil && t.OpenDeps > 0 && t.StandsOn == "" {
		reopened, err = g.Tasks.Blockers(t)
	}
	return slices.DeleteFunc(reopened, func(t dag.Task) bool { return t.Status == dag.Done }), err
}

// due says that it is time for the next heartbeat. A clock that was set, or a
// machine that slept, makes it due at once.
func due(passed, lease time.Duration) bool { return passed < 0 || passed >= lease/3 }
