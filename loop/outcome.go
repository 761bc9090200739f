package loop

import (
	"context"
	"errors"

	"ralph/dag"
	"ralph/event"
	"ralph/internal/redact"
)

func (r *Runner) outcome(ctx context.Context, end ending) (event.Result, error) {
	out := event.Result{Outcome: end.kind, Reason: end.reason, Run: r.run.ID, Duration: r.opts.Host.Now().Sub(r.spending.began)}
	err := r.opts.Graph.Store.View(ctx, func(g *dag.Graph) error {
		t, err := g.Tally(r.opts.Graph.Scope)
		if errors.Is(err, dag.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		out.Counts = countsOf(t)
		used, err := g.UsageOfRun(r.run.ID)
		if err != nil {
			return err
		}
		out.Usage = used.Usage
		from := r.opts.Graph.Continues
		if from == nil {
			return nil
		}
		// What this run and those that it continues came to.
		used, err = g.UsageOfChain(r.run.ID)
		counted, _, _ := r.ledger.totals()
		out.Together = &event.Together{Continues: from.ID, Iterations: counted, Usage: used.Usage, Duration: r.spending.elapsed().Milliseconds()}
		return err
	})
	out.Iterations, out.Tasks = r.ledger.resolved()
	if from := r.opts.Graph.Continues; from != nil {
		out.Iterations -= from.Iterations
	}
	return redact.Deep(r.opts.Host.Redact, out), err
}
