package loop

import (
	"context"
	"errors"
	"time"

	"ralph/dag"
	"ralph/internal/event"
	"ralph/internal/human"
	"ralph/internal/provenance"
)

// look reads the scope once. Completion comes before limits, and those before what
// people asked for; but where a task could be claimed, the scope is not complete, and it
// need not be counted.
func (c *claimer) look(ctx context.Context, running int) (look, error) {
	var l look
	err := c.opts.Graph.Store.Update(ctx, func(g *dag.Graph) error { return c.search(g, running, &l) })
	if err != nil {
		return c.searchFailed(ctx, l, err)
	}
	for _, r := range l.forged {
		c.bus.warn(r.Task, badSignature(r))
	}
	for _, d := range l.decided {
		if d.Doubt {
			c.bus.warn(d.Task.ID, "nobody can say whether it is to run: "+d.Reason)
		} else {
			c.bus.emit(event.Event{Type: event.TaskSkipped, Task: d.Task.ID, Title: d.Task.Title, Reason: d.Reason})
		}
	}
	for _, r := range l.expired {
		c.bus.emit(questionEvent(event.Answered, r, c.opts.Inbox.answer(r)))
	}
	c.spending.warnNear(l.near)
	switch {
	case l.ok:
		c.warnSubstitute(l.who)
		return l, nil
	case l.again || l.end.kind != "":
		return l, nil
	case running > 0:
		return c.waitForOwn(ctx, l), nil
	}
	return c.waitOrEnd(ctx, l)
}

// search claims a task, or finds out in the same transaction why it cannot.
func (c *claimer) search(g *dag.Graph, running int, l *look) (err error) {
	if err := c.claim(g, running, l); err != nil || l.ok || c.opts.Graph.Finished {
		return err
	}
	if running == 0 { // nothing else can be done now
		if l.again, err = c.addDueLooks(g); err != nil || l.again {
			return err
		}
	}
	l.tally, err = g.Tasks.Tally(c.opts.Graph.Scope)
	if errors.Is(err, dag.ErrNotFound) { // the claim found nothing to do in a revert that was reset, and removed it
		l.end = ending{kind: event.OutcomeNoPlan, reason: err.Error()}
		return nil
	}
	if end := resolved(l.tally, running); err == nil && end.kind != "" && !c.opts.Graph.Follow {
		l.end, l.near = end, nil
	}
	return err
}

// searchFailed is what comes of an error: it may be over at the next look, or mean that the scope is gone.
func (c *claimer) searchFailed(ctx context.Context, l look, err error) (look, error) {
	var bad forgedError
	switch {
	case errors.Is(err, dag.ErrNotFound): // of whatever it was, nothing is kept; without its scope the run has no plan
		scope := c.opts.Graph.Store.View(ctx, func(g *dag.Graph) error { _, err := g.Tasks.Tally(c.opts.Graph.Scope); return err })
		if errors.Is(scope, dag.ErrNotFound) {
			return look{end: ending{kind: event.OutcomeNoPlan, reason: scope.Error()}}, nil
		}
	case errors.Is(err, provenance.ErrStore) && !c.unsealed:
		c.unsealed = true
		c.bus.warn("", "no question expires in this run: "+err.Error())
		return look{again: true}, nil
	case errors.As(err, &bad):
		return look{again: true}, c.rejectForged(ctx, bad)
	}
	c.spending.warnNear(l.near)
	c.warnSubstitute(l.who)
	return l, err
}

// nextChance is when a task may be ready that is not now, and the limit of an agent that has to be over by then.
func (c *claimer) nextChance(l look) (until time.Time, limit *dag.AgentLimit) {
	until = l.tally.NextWait
	if c.opts.Graph.KeepGoing {
		until = earlier(until, l.tally.NextDoomedWait)
	}
	if limit = l.who.limitFor(l.refused.Skipped, until, l.tally.Limits); limit != nil {
		until = limit.Until
	}
	return until, limit
}

// waitForOwn waits while attempts of the run are running: what they free wakes us. Nothing does when people accept work,
// add tasks or answer.
func (c *claimer) waitForOwn(ctx context.Context, l look) look {
	until, _ := c.nextChance(l)
	l.until, l.waits = earlier(earlier(until, l.refused.Until), c.soon()), event.Event{}
	if c.opts.Graph.Follow {
		c.takePlans(ctx, false)
	}
	return l
}

// waitOrEnd decides what a run without attempts waits for, or why it ends.
func (c *claimer) waitOrEnd(ctx context.Context, l look) (look, error) {
	until, limit := c.nextChance(l)
	refused := l.refused
	switch {
	case c.atLimit(0):
		l.end = ending{kind: event.OutcomeLimit, reason: human.Count(c.opts.Limits.Iterations, "iteration")}
	case l.waits.Reason != "": // the project is paused
	case refused.Busy || !refused.Until.IsZero():
		return c.waitForOthers(ctx, l)
	case c.opts.Graph.Finished && !refused.Limited:
		l.end = c.merged(l.elsewhere)
	case limit != nil:
		l.until, l.waits, l.end = until, waiting(l.who.limited(*limit)+": "+limit.Reason, &limit.Until), c.waitForLimit(l.who, *limit)
		l.waits.Agent, l.limited = limit.Agent, true
	case !until.IsZero():
		l.until, l.waits = until, waiting("every task that could run waits for a time", &until)
	case refused.Skipped && len(l.who.spent) > 0: // only money can keep them back now
		l.end = ending{kind: event.OutcomeLimit, reason: l.who.spent[0].Text}
	default:
		return c.nothingReady(ctx, l)
	}
	return l, nil
}

// waitForOthers waits for what another run has, as nothing runs here.
func (c *claimer) waitForOthers(ctx context.Context, l look) (look, error) {
	if l.until = l.refused.Until; l.until.IsZero() {
		l.until = c.soon()
	}
	if l.refused.Task != "" { // otherwise only an agent's next start is waited for
		l.waits = waiting(l.refused.Task+" waits for "+l.refused.Lock.String(), nil)
	}
	if n, err := c.reclaim(ctx); err != nil || n > 0 { // the run that has it may have died
		return look{again: true}, err
	}
	return l, nil
}

// nothingReady ends the run, unless it waits for further tasks.
func (c *claimer) nothingReady(ctx context.Context, l look) (look, error) {
	if c.opts.Graph.Follow && resolved(l.tally, 0).kind != "" {
		return c.await(ctx, nothingLeft)
	}
	l, err := c.blocked(ctx, l.tally, l.elsewhere)
	if c.opts.Graph.Follow && err == nil && l.end.kind != "" {
		return c.await(ctx, l.end.reason)
	}
	return l, err
}

// soon is when a look that nothing wakes is due again.
func (c *claimer) soon() time.Time { return c.opts.Host.Now().Add(c.opts.Workers.Poll) }
