package launch

import (
	"context"

	"ralph/dag"
	"ralph/internal/report"
	"ralph/loop"
	"ralph/strategy"
)

// Foresee makes the forecast of a run.
func Foresee(ctx context.Context, opts loop.Options) (f report.Forecast, err error) {
	simulate, err := readForecast(ctx, opts)
	if err != nil {
		return f, err
	}
	return simulate(), nil
}

func readForecast(ctx context.Context, opts loop.Options) (simulate func() report.Forecast, err error) {
	o := report.ForecastOptions{
		Claim: dag.ClaimOptions{
			Scope: opts.Graph.Scope, KeepGoing: opts.Graph.KeepGoing, Locks: opts.Workers.Locks, Agents: opts.Agents.Gates, Skip: dag.Skip{Agent: opts.Host.Setup.Agent},
		},
		Workers: opts.Workers.Jobs, FailFast: opts.Workers.FailFast, Until: opts.Limits.Budgets.Run.Until, Modelless: opts.Agents.Modelless,
		Model: func(nth int, pinned string) string {
			return strategy.Next(strategy.Input{Kind: opts.Models.Strategy, Model: opts.Models.Model, Pinned: pinned, Iteration: nth}).Model
		},
	}
	err = opts.Graph.Store.View(ctx, func(g *dag.Graph) (err error) { simulate, err = report.ReadForecast(g, o); return err })
	return simulate, err
}

// keepForecast makes the forecast of a run that is about to begin, while it works, and keeps it for the report. The function that
// it returns waits until that is done. A run never fails because of it.
func (x *execution) keepForecast(ctx context.Context, run string) (wait func()) {
	if x.opts.Graph.Finished || x.opts.Graph.Follow { // nobody works, or nobody knows on what
		return func() {}
	}
	simulate, err := readForecast(ctx, x.opts)
	if err != nil { // there are too many tasks; of a database that fails the run tells itself
		return func() {}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if r := recover(); r != nil {
				x.app.Note("warning: no forecast was kept for the report: %v", r)
			}
		}()
		f := simulate()
		if !f.Known() {
			return
		}
		err := x.opts.Graph.Store.Update(context.WithoutCancel(ctx), func(g *dag.Graph) error { return g.History.KeepForecast(run, f.Kept()) })
		if err != nil {
			x.app.Note("warning: no forecast was kept for the report: %v", err)
		}
	}()
	return func() { <-done }
}
