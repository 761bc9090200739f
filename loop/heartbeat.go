package loop

import (
	"context"
	"errors"
	"strings"
	"time"

	"ralph/acp"
	"ralph/dag"
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
		var stored acp.Usage
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			var err error
			if used := a.used(); a.due(tried) || !same(used, stored) {
				tried, stored = a.opts.Now(), used
				err = a.opts.Store.Update(ctx, func(g *dag.Graph) error { return a.beat(g, used) })
			} else {
				err = a.opts.Store.View(ctx, func(g *dag.Graph) error { return g.Holds(a.claim) })
			}
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

// beat is the checkpoint of an attempt: all that would be lost if ralph died now.
func (a *attempt) beat(g *dag.Graph, used acp.Usage) error {
	if err := g.Heartbeat(a.claim, a.opts.Lease); err != nil {
		return err
	}
	if err := g.CountRun(a.run.ID, a.countedSoFar()); err != nil {
		return err
	}
	note := a.usageNote(used, a.effective())
	a.mu.Lock()
	if session := a.active[a.claim.Attempt]; session != nil {
		note.SessionUSD = session.SessionUSD()
	}
	a.mu.Unlock()
	return g.NoteAttempt(a.claim.Attempt, note)
}

// effective is the model that the agent says it uses, while it works.
func (a *attempt) effective() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if session := a.active[a.claim.Attempt]; session != nil {
		return session.Model().Effective
	}
	return ""
}

// used is what the sessions that are open have used: the agent's, and a judge's.
func (a *attempt) used() acp.Usage {
	var sum acp.Usage
	a.mu.Lock()
	defer a.mu.Unlock()
	for key, session := range a.active {
		if strings.HasPrefix(key, a.claim.Attempt) {
			sum = sum.Plus(session.Usage())
		}
	}
	return sum
}

func same(a, b acp.Usage) bool {
	x, y := a.CostUSD, b.CostUSD
	a.CostUSD, b.CostUSD = nil, nil
	return a == b && (x == nil) == (y == nil) && (x == nil || *x == *y)
}

// usageNote is what an agent said that it used; what nobody told is unknown, not 0.
func (r *Runner) usageNote(u acp.Usage, model string) dag.Note {
	var n dag.Note
	n.CostUSD, n.Estimated = r.cost(u, model)
	if u.Input+u.Output > 0 {
		n.TokensIn, n.TokensCached, n.TokensOut = toldOnly(u.Input), toldOnly(u.CacheRead), toldOnly(u.Output)
	}
	return n
}
