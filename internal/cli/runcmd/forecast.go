package runcmd

import (
	"context"
	"errors"
	"fmt"

	"ralph/dag"
	"ralph/internal/agents"
	"ralph/internal/cli"
	"ralph/internal/cli/launch"
	"ralph/internal/cli/wiring"
	"ralph/internal/forecast"
	"ralph/internal/human"
	"ralph/internal/term"
	"ralph/loop"
)

// Forecast is the command "ralph forecast".
var Forecast = cli.Command{
	Name: "forecast", Args: "[TARGET]", Short: "forecast when open tasks will be done and what they will cost",
	Long: `TARGET is a feature or a task, as for ralph run. The graph is simulated many times; each time every task
takes as long, costs as much, and fails or succeeds as some past task of this project did, with all of its attempts.
Half of the simulated runs end before p50, and nine of ten before p90. The tasks are listed in the order in which they
are likely to be done. What it does not know: rate limits, people, tasks that are added, and limits other than --until.`,
	Flags: []cli.Flag{
		{Name: "feature", Usage: "only tasks of `FEATURE`"},
		{Name: "task", Usage: "only `TASK` and the tasks below it"},
		{Name: "tag", Usage: "only tasks tagged `TAG` and those below them"},
		{Name: "jobs", Usage: "with `N` agents at once", Value: 1, Shown: "parallel.jobs"},
		{Name: "until", Usage: "say what will be done by the next `HH:MM`", Shown: "budget.until"},
		{Name: "agent", Usage: "with the agent called `NAME`"},
		{Name: "model", Usage: "with `MODEL`"},
		cli.JSONFlag,
	},
	Example: "ralph forecast --feature login --jobs 4\nralph forecast --until 07:00 --json | jq .done",
	Exits:   "1 too many tasks, 3 not found, 5 no such agent", Run: cli.InProject(runForecast),
}

type forecastOptions struct {
	launch.TargetOptions
	Jobs         *int
	Until        *string
	Agent, Model string
	JSON         bool
}

// eachShown is how many tasks text lists.
const eachShown = 30

func runForecast(ctx context.Context, a *cli.App, s *cli.Session, o forecastOptions) error {
	opts, err := simulatedRun(ctx, a, s, o)
	if err != nil {
		return err
	}
	f, err := launch.Foresee(ctx, opts)
	switch {
	case errors.Is(err, dag.ErrRefused):
		return cli.Hint(err, "choose fewer: ralph forecast --feature NAME, --tag TAG or --task ID")
	case err != nil:
		return err
	case o.JSON:
		return a.PrintJSON(f)
	case !f.Known():
		return cli.Written(fmt.Fprintln(a.Stdout, f.Unknown()))
	}
	fmt.Fprint(a.Stdout, a.FieldLines(f.Fields()...)+"\n")
	header := []string{"TASK", "P50", "P90", "DONE", "TITLE"}
	if !f.Until.IsZero() {
		header[3] = "BY " + human.Moment(f.Until, f.At)
	}
	shown := f.Each[:min(len(f.Each), eachShown)]
	err = cli.PrintTable(a, header, shown, func(e forecast.Estimate) []term.Cell {
		p50, p90 := "-", "-"
		if e.Ever > 0 {
			p50, p90 = f.Moment(e.End.P50), f.Moment(e.End.P90)
		}
		return []term.Cell{
			{Text: e.ID, Paint: a.Palette().Cyan}, {Text: p50}, {Text: p90}, {Text: fmt.Sprintf("%.0f %%", 100*e.Done)}, {Text: term.Cut(term.Line(e.Title), 60)},
		}
	})
	if more := len(f.Each) - len(shown); err == nil && more > 0 {
		a.Note("and %s; --json lists all", human.Count(more, "more task"))
	}
	return err
}

// simulatedRun is as much of the options of a run as a forecast needs. Its agent need not be installed.
func simulatedRun(ctx context.Context, a *cli.App, s *cli.Session, o forecastOptions) (opts loop.Options, err error) {
	given := launch.Options{Jobs: o.Jobs, Until: o.Until, OpenerOptions: wiring.OpenerOptions{Model: o.Model}}
	opts.Graph.Store, opts.Graph.KeepGoing = s.Store, given.KeepsGoing(s.Config)
	opts.Workers = loop.Workers{Jobs: cli.Or(o.Jobs, s.Config.Parallel.Jobs), Locks: s.Config.Locks}
	if opts.Graph.Scope, err = launch.FindScope(ctx, a, s, o.TargetOptions); err != nil {
		return opts, err
	}
	if err := launch.OverrideLimits(given, &opts); err != nil {
		return opts, err
	}
	if err := launch.SetLimits(given, s.Config, a.Now(), &opts); err != nil {
		return opts, err
	}
	if opts.Models.Strategy, opts.Models.Model, err = launch.ChooseStrategy(given, s.Config); err != nil {
		return opts, err
	}
	finder := a.Finder(s.Config)
	chosen, err := finder.Choose(o.Agent)
	if err != nil && (!errors.Is(err, agents.ErrUnavailable) || errors.As(err, new(*agents.UnknownError))) {
		return opts, err
	}
	opts.Host.Setup.Agent, opts.Agents.Modelless, opts.Agents.Gates = chosen.Name, finder.Modelless, wiring.AgentGates(finder, s.Config)
	return opts, nil
}
