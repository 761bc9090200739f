package main

import (
	"context"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"ralph/dag"
	"ralph/internal/human"
	"ralph/internal/render"
	"ralph/internal/term"
	"ralph/report"
)

func runsCommand(a *app) command {
	return command{
		name: "runs", short: "list and show runs",
		example: "ralph runs list", exits: "3 not found",
		sub: []command{
			{
				name: "list", bare: true, short: "list runs, the newest first",
				flags:   []cli.Flag{&cli.IntFlag{Name: "limit", Usage: "the newest `N`; 0 means all", Value: 20}, jsonFlag()},
				example: "ralph runs list\nralph runs list --limit 0 --json",
				run:     action(a, parseRunsList, runRunsList),
			},
			{
				name: "show", args: "RUN", short: "show a run with every attempt, what failed and what waits",
				flags:   []cli.Flag{jsonFlag()},
				example: "ralph runs show r-31aa8faf", exits: "3 not found",
				run: action(a, parsePlain, runRunsShow),
			},
		},
	}
}

type runsListOptions struct {
	limit int
	json  bool
}

func parseRunsList(c *cli.Context) (runsListOptions, error) {
	o := runsListOptions{c.Int("limit"), c.Bool("json")}
	if o.limit < 0 {
		return o, usagef("--limit cannot be negative")
	}
	return o, nil
}

func runRunsList(ctx context.Context, a *app, o runsListOptions) error {
	return a.view(ctx, func(_ *session, g *dag.Graph) error {
		lines, err := report.Lines(g, o.limit, life, a.now())
		switch {
		case err != nil:
			return err
		case o.json:
			return a.printJSON(lines)
		case len(lines) == 0:
			a.note("no run yet; start one with: ralph run")
			return nil
		}
		return printRuns(a, lines)
	})
}

func printRuns(a *app, lines []report.Line) error {
	p := a.palette()
	t := &term.Table{Width: a.width}
	t.Add(cells(p.Dim, "RUN", "BEGAN", "TOOK", "ENDED AS", "DONE", "FAILED", "COST", "SCOPE")...)
	for _, l := range lines {
		_, tone := render.Outcome(l.Outcome, l.Failed)
		paint := func(s string) string { return tone.Paint(p, s) }
		t.Add(term.Cell{Text: l.ID, Paint: p.Cyan}, term.Cell{Text: l.StartedAt.Local().Format(time.DateTime), Paint: p.Dim},
			term.Cell{Text: human.Span(l.Duration())}, term.Cell{Text: render.OutcomeWord(l.Outcome), Paint: paint},
			term.Cell{Text: fmt.Sprint(l.Done)}, term.Cell{Text: fmt.Sprint(l.Failed)}, term.Cell{Text: l.Usage.CostWords()}, term.Cell{Text: l.Scope.String()})
	}
	return written(t.WriteTo(a.stdout))
}

func runRunsShow(ctx context.Context, a *app, o plainOptions) error {
	s, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	r, err := loadRun(ctx, a, s, o.args[0])
	if err != nil {
		return err
	}
	if o.json {
		return report.JSON(a.stdout, r)
	}
	return report.Text(a.stdout, r, report.TextOptions{Palette: a.palette(), Width: a.width})
}
