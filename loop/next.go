package loop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"ralph/budget"
	"ralph/dag"
	"ralph/event"
	"ralph/internal/human"
	"ralph/internal/testing/failpoint"
	"ralph/loop/attempt"
)

// look is what a look at the scope came to: a claim, or until when to wait for one.
type look struct {
	claim  dag.Claim
	ok     bool
	until  time.Time // zero if no time is waited for
	paused time.Time // since when the project is paused; zero if it is not
	again  bool      // something changed: look again
	soon   bool      // what is waited for happens in a moment

	iteration int // of the claim

	worker string          // who takes the claim if the task brings no agent
	limit  *dag.AgentLimit // that is waited for; nil if it is something else
}

// next returns the next claim, waiting for one if waiting can help. False means
// that the run is over for this worker.
func (r *Runner) next(ctx context.Context) (claim dag.Claim, worker string, iteration int, ok bool) {
	r.claiming.Lock()
	defer r.claiming.Unlock()
	var told look
	for {
		changed := r.signal.changed() // before anything is looked at: a wake-up in between would be lost
		running := r.ledger.inFlight()
		if r.ended() {
			return dag.Claim{}, "", 0, false
		}
		if ctx.Err() != nil {
			r.endInterrupted(ctx)
			return dag.Claim{}, "", 0, false
		}
		l, err := r.claim(ctx, running)
		switch {
		case err != nil && ctx.Err() != nil, err == nil && l.again:
			continue
		case err != nil:
			r.end(event.OutcomeError, err.Error(), err)
			return dag.Claim{}, "", 0, false
		case l.ok:
			r.ledger.begin(l.iteration)
			return l.claim, l.worker, l.iteration, true
		case l.until.IsZero() && l.paused.IsZero() && running == 0:
			continue // claim has ended the run
		}
		began := r.opts.Host.Now()
		if running == 0 && !l.soon {
			r.tellWaiting(l, told)
			told = l
		}
		attempt.Pause(ctx, changed, r.atMost(l.until), r.opts.Host.Now, r.opts.Workers.Poll)
		if l.limit != nil && running == 0 {
			r.rested(ctx, began)
		}
	}
}

// atMost is a moment to wait for, or the one at which the run is to end if that
// comes first.
func (r *Runner) atMost(until time.Time) time.Time {
	if end := r.opts.Limits.Budgets.Run.Until; !end.IsZero() && (until.IsZero() || end.Before(until)) {
		return end
	}
	return until
}

// rested notes that the run did nothing since then but wait for a provider: that is
// no time of its own.
func (r *Runner) rested(ctx context.Context, began time.Time) {
	waited := max(r.opts.Host.Now().Sub(began), 0)
	r.ledger.rest(waited)
	err := r.opts.Graph.Store.Update(context.WithoutCancel(ctx), func(g *dag.Graph) error { return g.Waited(r.run.ID, waited) })
	if err != nil {
		r.bus.warnOnce("waited", "recording the wait: "+err.Error())
	}
}

const pausedText = "the project is paused; go on with: ralph resume"

// tellWaiting says what is waited for, once.
func (r *Runner) tellWaiting(l, told look) {
	switch {
	case l.paused.Equal(told.paused) && l.until.Equal(told.until):
	case !l.paused.IsZero():
		r.bus.emit(event.Event{Type: event.Waiting, Reason: pausedText})
	case l.limit != nil:
		r.bus.emit(event.Event{Type: event.Waiting, Until: &l.until, Agent: l.limit.Agent, Reason: r.lacks(*l.limit) + ": " + l.limit.Reason})
	default:
		r.bus.emit(event.Event{Type: event.Waiting, Until: &l.until, Reason: "every task that could run waits for a time"})
	}
}

// endInterrupted ends a run whose context is over: by a signal, or by ralph stop.
func (r *Runner) endInterrupted(ctx context.Context) {
	cause := context.Cause(ctx)
	if errors.Is(cause, errStopped) {
		r.end(event.OutcomeStopped, cause.Error(), nil)
		return
	}
	r.end(event.OutcomeInterrupted, cause.Error(), nil)
}

// claim looks at the scope once. It claims a task, or says until when to wait,
// or ends the run. Completion is judged before limits, and those before wishes.
func (r *Runner) claim(ctx context.Context, running int) (l look, err error) {
	var tally dag.Tally
	var verdict ending
	var room room
	var near []budget.Finding
	held := false // tasks are ready, but nobody has room for them, or money
	err = r.opts.Graph.Store.Update(ctx, func(g *dag.Graph) error {
		if tally, err = g.Tally(r.opts.Graph.Scope); errors.Is(err, dag.ErrNotFound) {
			verdict = ending{kind: event.OutcomeNoPlan, reason: err.Error()}
			return nil
		} else if err != nil {
			return err
		}
		if verdict = r.judgeScope(tally, running); verdict.kind != "" {
			return nil
		}
		if reason := r.drainingFor(); reason != "" {
			verdict = ending{kind: event.OutcomeInterrupted, reason: reason}
			return nil
		}
		if verdict, near, err = r.afford(g); err != nil || verdict.kind != "" {
			return err
		}
		if r.atLimit(running) {
			return nil
		}
		control, err := g.Control(r.run.ID)
		if err != nil {
			return err
		}
		r.mu.Lock()
		r.control = control
		r.mu.Unlock()
		if control.Stop != "" {
			verdict = ending{kind: event.OutcomeStopped, reason: "stopped by: ralph stop"}
			return nil
		}
		if l.paused = control.PausedAt; !l.paused.IsZero() {
			return nil
		}
		if room, err = r.findRoom(g); err != nil {
			return err
		}
		failpoint.Hit("K1")
		l.iteration = r.ledger.nextNumber()
		opts := dag.ClaimOptions{
			Run: r.run, Scope: r.opts.Graph.Scope, KeepGoing: r.opts.Graph.KeepGoing, Lease: r.opts.Workers.Lease, Iteration: l.iteration, Skip: room.skip,
		}
		if l.claim, l.ok, err = g.Claim(opts); err == nil && !l.ok {
			held, err = g.Skipped(opts)
		}
		if err != nil || !l.ok {
			return err
		}
		l.worker = room.worker
		failpoint.Hit("K2")
		return g.Alive(r.run.Owner)
	})
	r.warnNear(near)
	switch {
	case err != nil || l.ok:
		r.tellSubstitute(room)
		return l, err
	case verdict.kind != "":
		r.end(verdict.kind, verdict.reason, nil)
		return l, nil
	case running > 0:
		l.until = r.nextWait(tally) // and what is running may free something
		if limit := room.limitFor(held, l.until, tally.Limits); limit != nil {
			l.until = limit.Until
		}
		return l, nil
	case r.atLimit(running):
		r.end(event.OutcomeLimit, human.Count(r.opts.Limits.Iterations, "iteration"), nil)
		return l, nil
	case !l.paused.IsZero():
		return l, nil
	}
	l.until = r.nextWait(tally)
	if l.limit = room.limitFor(held, l.until, tally.Limits); l.limit != nil {
		l.until = l.limit.Until
		if end, wait := r.patience(*l.limit); !wait {
			r.end(end.kind, end.reason, nil)
			return look{}, nil
		}
		return l, nil
	}
	if !l.until.IsZero() {
		return l, nil
	}
	if held && len(room.spent) > 0 { // only money can keep them back now
		r.end(event.OutcomeLimit, room.spent[0].Text, nil)
		return l, nil
	}
	return r.blocked(ctx, tally)
}

// blocked ends a run that can do nothing more, unless it only waits for a run that
// has died meanwhile.
func (r *Runner) blocked(ctx context.Context, tally dag.Tally) (look, error) {
	reason := fmt.Sprintf("%d of %d tasks remain, and none of them can run", countsOf(tally).Remaining, tally.Total())
	if countsOf(tally).Remaining == 0 {
		reason = fmt.Sprintf("every task has ended, but %d of the groups is kept back", tally.OpenGroups())
		if n := tally.OpenGroups(); n > 1 {
			reason = fmt.Sprintf("every task has ended, but %d of the groups are kept back", n)
		}
	}
	if skipped := r.ledger.skips(); len(skipped) > 0 {
		reason += "; finished but not verified, because project files kept changing: " + strings.Join(skipped, ", ")
	}
	if others := tally.ByStatus[dag.InProgress]; others > 0 {
		rec, err := r.recover(ctx)
		if err != nil {
			return look{}, err
		}
		if len(rec.Tasks) > 0 {
			r.emitRecovery(rec)
			return look{again: true}, nil
		}
		holders, err := r.holders(ctx)
		if err != nil {
			return look{}, err
		}
		reason += fmt.Sprintf(" here: %d %s held by another run that is at work, %s", others, isAre(others), strings.Join(holders, ", "))
	}
	var leaving map[string]string
	err := r.opts.Graph.Store.View(ctx, func(g *dag.Graph) (err error) { leaving, err = g.Leaving(); return err })
	if err != nil {
		return look{}, err
	}
	if len(leaving) > 0 {
		if _, err := r.recover(ctx); err != nil { // whoever is to stop an agent may have died
			return look{}, err
		}
		return look{soon: true, until: r.opts.Host.Now().Add(r.opts.Workers.Poll)}, nil
	}
	r.end(event.OutcomeBlocked, reason, nil)
	return look{}, nil
}

// holders are the runs that have claimed tasks in scope.
func (r *Runner) holders(ctx context.Context) (runs []string, err error) {
	err = r.opts.Graph.Store.View(ctx, func(g *dag.Graph) error {
		tasks, err := g.List(dag.Filter{Statuses: []dag.Status{dag.InProgress}, Feature: r.opts.Graph.Scope.Feature})
		if r.opts.Graph.Scope.Task != "" {
			tasks, err = g.In(r.opts.Graph.Scope)
		}
		for _, t := range tasks {
			if t.Owner == "" {
				continue
			}
			run, oerr := g.Owner(t.Owner)
			if err = errors.Join(err, oerr); !slices.Contains(runs, run.ID) {
				runs = append(runs, run.ID)
			}
		}
		return err
	})
	return runs, err
}

func isAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// judgeScope says whether there is anything left to do.
func (r *Runner) judgeScope(t dag.Tally, running int) ending {
	c := countsOf(t)
	switch {
	case t.Total() == 0:
		return ending{kind: event.OutcomeNoPlan, reason: "there is no task in scope"}
	case c.Remaining == 0 && running == 0 && t.OpenGroups() > 0: // blocked says so
		return ending{}
	case c.Remaining == 0 && running == 0 && c.Failed > 0:
		return ending{kind: event.OutcomeComplete, reason: fmt.Sprintf("%d of %d tasks failed", c.Failed, c.Total)}
	case c.Remaining == 0 && running == 0:
		return ending{kind: event.OutcomeComplete}
	default:
		return ending{}
	}
}

func (r *Runner) nextWait(t dag.Tally) time.Time {
	until := t.NextWait
	if r.opts.Graph.KeepGoing && !t.NextDoomedWait.IsZero() && (until.IsZero() || t.NextDoomedWait.Before(until)) {
		until = t.NextDoomedWait
	}
	return until
}

// atLimit says that no further iteration may begin: what runs now counts too.
func (r *Runner) atLimit(running int) bool {
	counted, _, _ := r.ledger.totals()
	return r.opts.Limits.Iterations > 0 && counted+running >= r.opts.Limits.Iterations
}

// drainingFor says why no further task begins while the rest may finish, and is empty
// while tasks begin.
func (r *Runner) drainingFor() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.draining == nil {
		return ""
	}
	return r.draining.Error()
}

// ended says that the run is about to end.
func (r *Runner) ended() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ending != nil
}
