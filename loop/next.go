package loop

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ralph/dag"
)

// work is one worker: claim, attempt, again.
func (r *Runner) work(ctx context.Context) {
	for {
		claim, iteration, ok := r.next(ctx)
		if !ok {
			return
		}
		if err := r.attempt(ctx, claim, iteration); err != nil {
			err = fmt.Errorf("attempt at %s: %w", claim.Task.ID, err)
			r.end(OutcomeError, err.Error(), err)
			return
		}
	}
}

// next returns the next claim, waiting for one if waiting can help. False means
// that the run is over for this worker.
func (r *Runner) next(ctx context.Context) (dag.Claim, int, bool) {
	r.claiming.Lock()
	defer r.claiming.Unlock()
	told := time.Time{}
	for {
		r.mu.Lock()
		over, settled, running := r.ending != nil, r.settled, r.running
		r.mu.Unlock()
		if over {
			return dag.Claim{}, 0, false
		}
		if ctx.Err() != nil {
			r.end(OutcomeInterrupted, context.Cause(ctx).Error(), nil)
			return dag.Claim{}, 0, false
		}
		claim, ok, until, err := r.claim(ctx, running)
		switch {
		case err != nil && ctx.Err() != nil:
			continue
		case err != nil:
			r.end(OutcomeError, err.Error(), err)
			return dag.Claim{}, 0, false
		case ok:
			r.mu.Lock()
			r.iters++
			r.running++
			iteration := r.iters
			r.mu.Unlock()
			return claim, iteration, true
		case until.IsZero() && running == 0:
			continue // claim has ended the run
		}
		if !until.IsZero() && running == 0 && !until.Equal(told) {
			told = until
			r.emit(Event{Type: Waiting, Until: &until, Reason: "every task that could run waits for a time"})
		}
		r.pause(ctx, settled, until)
	}
}

// pause waits until an attempt is settled, a time has come, or ctx ends.
func (r *Runner) pause(ctx context.Context, settled <-chan struct{}, until time.Time) {
	var due <-chan time.Time
	if !until.IsZero() {
		timer := time.NewTimer(max(until.Sub(r.opts.Now()), 0))
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-ctx.Done():
	case <-settled:
	case <-due:
	}
}

// claim looks at the scope once. It claims a task, or says until when to wait,
// or ends the run. Completion is judged before limits.
func (r *Runner) claim(ctx context.Context, running int) (claim dag.Claim, ok bool, until time.Time, err error) {
	var tally dag.Tally
	var verdict ending
	err = r.opts.Store.Update(ctx, func(g *dag.Graph) error {
		if tally, err = g.Tally(r.opts.Scope); errors.Is(err, dag.ErrNotFound) {
			verdict = ending{kind: OutcomeNoPlan, reason: err.Error()}
			return nil
		} else if err != nil {
			return err
		}
		if verdict = r.judgeScope(tally, running); verdict.kind != "" {
			return nil
		}
		if verdict, err = r.judgeCost(g); err != nil || verdict.kind != "" {
			return err
		}
		if r.atLimit(running) {
			return nil
		}
		claim, ok, err = g.Claim(dag.ClaimOptions{
			Run: r.run, Scope: r.opts.Scope, KeepGoing: r.opts.KeepGoing, Lease: r.opts.Lease, Iteration: r.iteration() + 1,
		})
		return err
	})
	switch {
	case err != nil || ok:
		return claim, ok, time.Time{}, err
	case verdict.kind != "":
		r.end(verdict.kind, verdict.reason, nil)
		return claim, false, time.Time{}, nil
	case running > 0:
		return claim, false, r.nextWait(tally), nil // what is running may free something
	case r.atLimit(running):
		r.end(OutcomeLimit, fmt.Sprintf("%d iterations", r.opts.Limit), nil)
		return claim, false, time.Time{}, nil
	}
	if until = r.nextWait(tally); !until.IsZero() {
		return claim, false, until, nil
	}
	reason := fmt.Sprintf("%d of %d tasks remain, and none of them can run", countsOf(tally).Remaining, tally.Total())
	if others := tally.ByStatus[dag.InProgress]; others > 0 {
		reason += fmt.Sprintf("; another run works on %d", others)
	}
	r.end(OutcomeBlocked, reason, nil)
	return claim, false, time.Time{}, nil
}

// judgeScope says whether there is anything left to do.
func (r *Runner) judgeScope(t dag.Tally, running int) ending {
	c := countsOf(t)
	switch {
	case t.Total() == 0:
		return ending{kind: OutcomeNoPlan, reason: "there is no task in scope"}
	case c.Remaining == 0 && running == 0 && c.Failed > 0:
		return ending{kind: OutcomeComplete, reason: fmt.Sprintf("%d of %d tasks failed", c.Failed, c.Total)}
	case c.Remaining == 0 && running == 0:
		return ending{kind: OutcomeComplete}
	default:
		return ending{}
	}
}

// judgeCost says whether this run has spent what it may. What is running goes on.
func (r *Runner) judgeCost(g *dag.Graph) (ending, error) {
	if r.opts.MaxCostUSD <= 0 {
		return ending{}, nil
	}
	_, _, cost, err := g.RunUsage(r.run.ID)
	if err != nil || cost == nil || *cost < r.opts.MaxCostUSD {
		return ending{}, err
	}
	return ending{kind: OutcomeLimit, reason: fmt.Sprintf("$%.2f of $%.2f spent", *cost, r.opts.MaxCostUSD)}, nil
}

func (r *Runner) nextWait(t dag.Tally) time.Time {
	until := t.NextWait
	if r.opts.KeepGoing && !t.NextDoomedWait.IsZero() && (until.IsZero() || t.NextDoomedWait.Before(until)) {
		until = t.NextDoomedWait
	}
	return until
}

// atLimit says that no further iteration may begin: what runs now counts too.
func (r *Runner) atLimit(running int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.opts.Limit > 0 && r.counted+running >= r.opts.Limit
}

func (r *Runner) iteration() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.iters
}
