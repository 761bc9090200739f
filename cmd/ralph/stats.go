package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"ralph/dag"
	"ralph/event"
	"ralph/internal/human"
	"ralph/internal/term"
	"ralph/report"
)

func statsCommand(a *app) command {
	return command{
		name: "stats", short: "show how long attempts take, which models and agents succeed, and which gates fail",
		long: `Half of the attempts took no longer than p50, 95 of 100 no longer than p95. Interrupted and
rate-limited attempts say nothing about a model and are left out of both.`,
		flags:   []cli.Flag{runFlag(), jsonFlag()},
		example: "ralph stats\nralph stats --json | jq '.models[] | {key, success}'", exits: "3 no such run",
		run: action(a, parseStats, runStats),
	}
}

type statsOptions struct {
	run  string
	json bool
}

func parseStats(c *cli.Context) (statsOptions, error) {
	return statsOptions{c.String("run"), c.Bool("json")}, nil
}

func runStats(ctx context.Context, a *app, o statsOptions) error {
	return a.view(ctx, func(_ *session, g *dag.Graph) error {
		run, err := runID(g, o.run)
		if err != nil {
			return err
		}
		receipts, err := report.Receipts(g, run)
		if err != nil {
			return err
		}
		s := report.StatsOf(receipts)
		switch {
		case o.json:
			return a.printJSON(s)
		case len(s.Outcomes) == 0:
			a.note("no attempt has ended yet; start with: ralph run")
			return nil
		}
		_, err = fmt.Fprint(a.stdout, statsText(a, s))
		return err
	})
}

func statsText(a *app, s report.Stats) string {
	p := a.palette()
	var b strings.Builder
	var outcomes []string
	for _, o := range event.AttemptOutcomes() {
		if n := s.Outcomes[o]; n > 0 {
			outcomes = append(outcomes, fmt.Sprintf("%d %s", n, o))
		}
	}
	fmt.Fprintf(&b, "%s\n", strings.Join(outcomes, ", "))
	section := func(title string, header []string, rows [][]string) {
		if len(rows) == 0 {
			return
		}
		fmt.Fprintf(&b, "\n%s\n", p.Bold(title))
		t := &term.Table{Width: a.width}
		t.Add(cells(p.Dim, header...)...)
		for _, row := range rows {
			t.Add(cells(nil, row...)...)
		}
		_, _ = t.WriteTo(&b) // a builder takes everything
	}
	pace := func(title string, list ...report.Pace) {
		var rows [][]string
		for _, l := range list {
			rows = append(rows, []string{
				l.Key, fmt.Sprint(l.Attempts), fmt.Sprint(l.Done), fmt.Sprintf("%.0f %%", 100*l.Share()), human.Span(l.P50), human.Span(l.P95),
			})
		}
		section(title, []string{"", "ATTEMPTS", "DONE", "SUCCESS", "P50", "P95"}, rows)
	}
	if s.All.Attempts > 0 {
		pace("Attempts", s.All)
	}
	pace("By model", s.Models...)
	pace("By agent", s.Agents...)
	var gates [][]string
	for _, g := range s.Gates {
		gates = append(gates, []string{fmt.Sprint(g.Failed), fmt.Sprint(g.Flaky), fmt.Sprint(g.Runs), g.Command})
	}
	section("Gates", []string{"FAILED", "FLAKY", "OF", "GATE"}, gates)
	return b.String()
}
