package main

import (
	"context"
	"errors"
	"fmt"

	"ralph/dag"
	"ralph/internal/agents"
	"ralph/internal/forecast"
	"ralph/internal/human"
	"ralph/internal/report"
	"ralph/internal/term"
	"ralph/loop"
	"ralph/strategy"
)

var forecastCommand = command{
	name: "forecast", args: "[TARGET]", short: "forecast when open tasks will be done and what they will cost",
	long: `TARGET is a feature or a task, as for ralph run. The graph is simulated many times; each time every task
takes as long, costs as much, and fails or succeeds as some past task of this project did, with all of its attempts.
Half of the simulated runs end before p50, and nine of ten before p90. The tasks are listed in the order in which they
are likely to be done. What it does not know: rate limits, people, tasks that are added, and limits other than --until.`,
	flags: []flagSpec{
		{name: "feature", usage: "only tasks of `FEATURE`"},
		{name: "task", usage: "only `TASK` and the tasks below it"},
		{name: "tag", usage: "only tasks tagged `TAG` and those below them"},
		{name: "jobs", usage: "with `N` agents at once", value: 1, shown: "parallel.jobs"},
		{name: "until", usage: "say what will be done by the next `HH:MM`", shown: "budget.until"},
		{name: "agent", usage: "with the agent called `NAME`"},
		{name: "model", usage: "with `MODEL`"},
		jsonFlag,
	},
	example: "ralph forecast --feature login --jobs 4\nralph forecast --until 07:00 --json | jq .done",
	exits:   "1 too many tasks, 3 not found, 5 no such agent", run: inProject(runForecast),
}

type forecastOptions struct {
	runTarget
	Jobs         *int
	Until        *string
	Agent, Model string
	JSON         bool
}

// eachShown is how many tasks text lists.
const eachShown = 30

func runForecast(ctx context.Context, a *app, s *session, o forecastOptions) error {
	opts, err := simulatedRun(ctx, a, s, o)
	if err != nil {
		return err
	}
	f, err := foresee(ctx, opts)
	switch {
	case errors.Is(err, dag.ErrRefused):
		return hint(err, "choose fewer: ralph forecast --feature NAME, --tag TAG or --task ID")
	case err != nil:
		return err
	case o.JSON:
		return a.printJSON(f)
	case !f.Known():
		return written(fmt.Fprintln(a.stdout, f.Unknown()))
	}
	fmt.Fprint(a.stdout, a.fieldLines(f.Fields()...)+"\n")
	header := []string{"TASK", "P50", "P90", "DONE", "TITLE"}
	if !f.Until.IsZero() {
		header[3] = "BY " + human.Moment(f.Until, f.At)
	}
	shown := f.Each[:min(len(f.Each), eachShown)]
	err = printTable(a, header, shown, func(e forecast.Estimate) []term.Cell {
		p50, p90 := "-", "-"
		if e.Ever > 0 {
			p50, p90 = f.Moment(e.End.P50), f.Moment(e.End.P90)
		}
		return []term.Cell{
			{Text: e.ID, Paint: a.palette().Cyan}, {Text: p50}, {Text: p90}, {Text: fmt.Sprintf("%.0f %%", 100*e.Done)}, {Text: term.Cut(term.Line(e.Title), 60)},
		}
	})
	if more := len(f.Each) - len(shown); err == nil && more > 0 {
		a.note("and %s; --json lists all", human.Count(more, "more task"))
	}
	return err
}

// simulatedRun is as much of the options of a run as a forecast needs. Its agent need not be installed.
func simulatedRun(ctx context.Context, a *app, s *session, o forecastOptions) (opts loop.Options, err error) {
	given := runOptions{Jobs: o.Jobs, Until: o.Until, openerOptions: openerOptions{Model: o.Model}}
	opts.Graph.Store, opts.Graph.KeepGoing = s.store, given.keepsGoing(s.config)
	opts.Workers = loop.Workers{Jobs: or(o.Jobs, s.config.Parallel.Jobs), Locks: s.config.Locks}
	if opts.Graph.Scope, err = findScope(ctx, a, s, o.runTarget); err != nil {
		return opts, err
	}
	if err := overrideLimits(given, &opts); err != nil {
		return opts, err
	}
	if err := setLimits(given, s.config, a.now(), &opts); err != nil {
		return opts, err
	}
	if opts.Models.Strategy, opts.Models.Model, err = chooseStrategy(given, s.config); err != nil {
		return opts, err
	}
	finder := a.finder(s.config)
	chosen, err := finder.Choose(o.Agent)
	if err != nil && (!errors.Is(err, agents.ErrUnavailable) || errors.As(err, new(*agents.UnknownError))) {
		return opts, err
	}
	opts.Host.Setup.Agent, opts.Agents.Modelless, opts.Agents.Gates = chosen.Name, finder.Modelless, agentGates(finder, s.config)
	return opts, nil
}

// foresee makes the forecast of a run.
func foresee(ctx context.Context, opts loop.Options) (f report.Forecast, err error) {
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
				x.app.note("warning: no forecast was kept for the report: %v", r)
			}
		}()
		f := simulate()
		if !f.Known() {
			return
		}
		err := x.opts.Graph.Store.Update(context.WithoutCancel(ctx), func(g *dag.Graph) error { return g.History.KeepForecast(run, f.Kept()) })
		if err != nil {
			x.app.note("warning: no forecast was kept for the report: %v", err)
		}
	}()
	return func() { <-done }
}
