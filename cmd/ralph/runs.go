package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"ralph/dag"
	"ralph/event"
	"ralph/internal/human"
	"ralph/internal/term"
	"ralph/report"
)

func (a *app) runsCommand() command {
	return command{
		name: "runs", short: "look at past runs, and at the one that goes on",
		example: "ralph runs list", exits: "3 not found",
		sub: []command{
			{
				name: "list", bare: true, short: "list runs, the newest first",
				flags:   []cli.Flag{&cli.IntFlag{Name: "limit", Usage: "the newest `N`; 0 means all", Value: 20}, jsonFlag()},
				example: "ralph runs list\nralph runs list --limit 0 --json",
				run:     a.runRunsList,
			},
			{
				name: "show", args: "RUN", short: "show a run with every attempt, what failed and what waits",
				flags:   []cli.Flag{jsonFlag()},
				example: "ralph runs show r-31aa8faf", exits: "3 not found",
				run: a.runRunsShow,
			},
		},
	}
}

type runLineJSON struct {
	ID         string           `json:"id"`
	Outcome    event.RunOutcome `json:"outcome"`
	Reason     *string          `json:"reason"`
	Feature    *string          `json:"feature"`
	Task       *string          `json:"task"`
	StartedAt  string           `json:"started_at"`
	EndedAt    *string          `json:"ended_at"`
	DurationMS int64            `json:"duration_ms"`
	Iterations int              `json:"iterations"`
	Continues  *string          `json:"continues"`
	Done       int              `json:"done"`
	Failed     int              `json:"failed"`
	Usage      report.UsageJSON `json:"usage"`
}

func (a *app) runRunsList(c *cli.Context) error {
	if err := noArgs(c); err != nil {
		return err
	}
	if c.Int("limit") < 0 {
		return usagef("--limit cannot be negative")
	}
	return a.view(c.Context, func(_ *session, g *dag.Graph) error {
		runs, err := g.Runs(c.Int("limit"))
		if err != nil {
			return err
		}
		lines := make([]report.Line, len(runs))
		for i, run := range runs {
			receipts, err := g.Receipts(dag.ReceiptFilter{Run: run.ID})
			if err != nil {
				return err
			}
			lines[i] = report.LineOf(run, receipts, life, a.now())
			if lines[i].Iterations, err = g.OwnIterations(run.ID); err != nil {
				return err
			}
		}
		if c.Bool("json") {
			list := []runLineJSON{}
			for _, l := range lines {
				list = append(list, runLineAsJSON(l))
			}
			return a.printJSON(list)
		}
		if len(lines) == 0 {
			a.note("no run yet; start one with: ralph run")
			return nil
		}
		return a.printRuns(lines)
	})
}

func runLineAsJSON(l report.Line) runLineJSON {
	return runLineJSON{
		ID: l.Run.ID, Outcome: l.Outcome, Reason: orNil(l.Run.Reason), Feature: orNil(l.Run.Scope.Feature), Task: orNil(l.Run.Scope.Task),
		StartedAt: l.Run.StartedAt.Format(time.RFC3339), EndedAt: timeOrNil(l.Run.EndedAt), DurationMS: l.Duration.Milliseconds(),
		Iterations: l.Iterations, Continues: orNil(l.Run.Continues), Done: l.Done, Failed: l.Failed, Usage: l.Usage.JSON(),
	}
}

func (a *app) printRuns(lines []report.Line) error {
	p := a.palette()
	t := &term.Table{Width: a.width}
	t.Add(cells(p.Dim, "RUN", "BEGAN", "TOOK", "ENDED AS", "DONE", "FAILED", "COST", "SCOPE")...)
	for _, l := range lines {
		paint := p.Yellow
		switch {
		case l.Outcome == event.OutcomeComplete && l.Failed == 0:
			paint = p.Green
		case l.Outcome == event.OutcomeComplete, l.Outcome == event.OutcomeFailure, l.Outcome == event.OutcomeUnavailable, l.Outcome == event.OutcomeError, l.Outcome == event.OutcomeDied:
			paint = p.Red
		}
		t.Add(term.Cell{Text: l.Run.ID, Paint: p.Cyan}, term.Cell{Text: l.Run.StartedAt.Local().Format(time.DateTime), Paint: p.Dim},
			term.Cell{Text: human.Span(l.Duration)}, term.Cell{Text: strings.ReplaceAll(string(l.Outcome), "_", " "), Paint: paint},
			term.Cell{Text: fmt.Sprint(l.Done)}, term.Cell{Text: fmt.Sprint(l.Failed)}, term.Cell{Text: l.Usage.CostWords()}, term.Cell{Text: l.Run.Scope.String()})
	}
	_, err := t.WriteTo(a.stdout)
	return err
}

func cells(paint func(string) string, texts ...string) []term.Cell {
	list := make([]term.Cell, len(texts))
	for i, text := range texts {
		list[i] = term.Cell{Text: text, Paint: paint}
	}
	return list
}

func (a *app) runRunsShow(c *cli.Context) error {
	typed, err := oneArg(c, "RUN")
	if err != nil {
		return err
	}
	s, err := a.open(c.Context)
	if err != nil {
		return err
	}
	defer s.Close()
	r, err := loadRun(c.Context, a, s, typed)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return report.JSON(a.stdout, r)
	}
	return report.Text(a.stdout, r, report.TextOptions{Palette: a.palette(), Width: a.width})
}
