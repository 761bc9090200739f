package loop

import (
	"context"
	"errors"

	"ralph/dag"
)

const nothingLeft = "no task is left; add one with: ralph task add, or end the run with: ralph stop"

// await waits for what other processes do to the plan, because there is nothing to do. While it waits it only looks at the
// database, so that it would not notice that the file is another one by now.
func (c *claimer) await(ctx context.Context, reason string) (look, error) {
	if check := c.opts.Host.Check; check != nil {
		if err := check(); err != nil {
			return look{}, err
		}
	}
	if c.opts.Graph.Follow {
		c.takePlans(ctx, true)
	}
	return look{until: c.soon(), waits: waiting(reason, nil)}, nil
}

// takePlans lets a run that waits for tasks see those that git brings: no command may come by for days.
func (c *claimer) takePlans(ctx context.Context, idle bool) {
	if c.opts.Host.Plans == nil {
		return
	}
	for _, text := range c.opts.Host.Plans(ctx, idle) {
		c.bus.warnOnce(text, text)
	}
}

// follows says whether another task may be claimed after the one that is worked on, as
// far as that is known by now.
func (c *claimer) follows(ctx context.Context) (more bool) {
	err := c.opts.Graph.Store.View(ctx, func(g *dag.Graph) error {
		control, err := g.Queue.Control(c.run.ID)
		over, _, berr := c.spending.checkBudgets(g)
		tally, terr := g.Tasks.Tally(c.opts.Graph.Scope)
		more = tally.ByStatus[dag.Pending] > 0 && over.kind == "" && control.Runs()
		return errors.Join(err, berr, terr)
	})
	if _, draining := c.over(); err != nil || draining != "" {
		return false
	}
	return more && !c.atLimit(c.ledger.inFlight())
}
