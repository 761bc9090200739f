package reportcmd

import (
	"cmp"
	"fmt"
	"strings"

	"ralph/dag"
	"ralph/internal/cli"
	"ralph/internal/event"
	"ralph/internal/human"
	"ralph/internal/render"
	"ralph/internal/report"
	"ralph/internal/seq"
	"ralph/internal/term"
)

// Cost is the command "ralph cost".
var Cost = cli.Command{
	Name: "cost", Short: "add up what was spent, by model, task, feature, day or agent",
	Long: `Every attempt of every run counts once, even if its task was deleted since, and so does every
session in which an agent planned. By agent and by model, what a verifier used has a row of its own. What
an agent did not report is unknown, never 0: a sum without it is "at least" so much; estimates are marked.
Tokens read from a provider's cache are listed apart, with their share of the input; those written to it are input.`,
	Flags: []cli.Flag{
		{Name: "by", Usage: "`KEY`: model, task, feature, day or agent", Value: report.ByModel},
		cli.RunFlag, cli.JSONFlag,
	},
	Example: "ralph cost --by feature\nralph cost --by day --json | jq .total.usage.cost_usd", Exits: "3 no such run",
	Run: cli.OnGraph(runCost),
}

type costOptions struct {
	By, Run string
	JSON    bool
}

func (o *costOptions) Parse(cli.CommandLine) error {
	return cli.CheckChoice("by", o.By, report.ByModel, report.ByTask, report.ByFeature, report.ByDay, report.ByAgent)
}

func runCost(a *cli.App, _ *cli.Session, g *dag.Graph, o costOptions) error {
	run, err := cli.RunID(g, o.Run)
	if err != nil {
		return err
	}
	costs, err := report.LoadCosts(g, o.By, run)
	switch {
	case err != nil:
		return err
	case o.JSON:
		return a.PrintJSON(costs)
	case len(costs.Rows) == 0:
		a.Note("nothing was spent yet: there was no attempt, and nothing was planned; start with: ralph run")
		return nil
	}
	return printCosts(a, costs)
}

func printCosts(a *cli.App, costs report.Costs) error {
	p := a.Palette()
	header := []string{strings.ToUpper(costs.By), "ATTEMPTS", "DONE", "VERIFIED", "COST", "PER VERIFIED", "TOKENS"}
	printed := 0
	return cli.PrintTable(a, header, append(costs.Rows, costs.Total), func(s report.Spending) []term.Cell {
		var paint func(string) string
		if printed++; printed > len(costs.Rows) { // by its place: anything may be called "total"
			paint = p.Bold
		}
		name := s.Key
		if s.Title != "" {
			name += "  " + term.Cut(term.Line(s.Title), 40)
		}
		each := "-"
		if v := s.PerVerified(); v != nil {
			each = human.Dollars(*v)
		}
		return []term.Cell{
			{Text: name, Paint: paint},
			{Text: fmt.Sprint(s.Usage.Attempts)},
			{Text: fmt.Sprint(s.Done)},
			{Text: fmt.Sprint(s.Verified)},
			{Text: s.Usage.CostWords(), Paint: paint},
			{Text: each},
			{Text: cmp.Or(s.TokenWords(), "-"), Paint: p.Dim},
		}
	})
}

// Stats is the command "ralph stats".
var Stats = cli.Command{
	Name: "stats", Short: "show how long attempts take, which models and agents succeed, and which gates fail",
	Long: `Half of the attempts took no longer than p50, 95 of 100 no longer than p95. Interrupted and
rate-limited attempts say nothing about a model and are left out of both.`,
	Flags:   []cli.Flag{cli.RunFlag, cli.JSONFlag},
	Example: "ralph stats\nralph stats --json | jq '.models[] | {key, success}'", Exits: "3 no such run",
	Run: cli.OnGraph(runStats),
}

func runStats(a *cli.App, _ *cli.Session, g *dag.Graph, o cli.PlainOptions) error {
	run, err := cli.RunID(g, o.Run)
	if err != nil {
		return err
	}
	receipts, err := report.Receipts(g, run)
	s := report.StatsOf(receipts)
	switch {
	case err != nil:
		return err
	case o.JSON:
		return a.PrintJSON(s)
	case len(s.Outcomes) == 0:
		a.Note("no attempt has ended yet; start with: ralph run")
		return nil
	}
	return cli.Written(fmt.Fprint(a.Stdout, statsText(a, s)))
}

func statsText(a *cli.App, s report.Stats) string {
	p := a.Palette()
	var b strings.Builder
	var outcomes []string
	for _, o := range event.AttemptOutcomes() {
		if n := s.Outcomes[o]; n > 0 {
			outcomes = append(outcomes, fmt.Sprintf("%d %s", n, render.OutcomeWord(o)))
		}
	}
	fmt.Fprintf(&b, "%s\n", strings.Join(outcomes, ", "))
	section := func(title string, header []string, rows [][]string) {
		if len(rows) == 0 {
			return
		}
		fmt.Fprintf(&b, "\n%s\n", p.Bold(title))
		t := &term.Table{Width: a.Width}
		t.Add(cli.Cells(p.Dim, header...)...)
		for _, row := range rows {
			t.Add(cli.Cells(nil, row...)...)
		}
		b.WriteString(t.String())
	}
	pace := func(title string, list ...report.Pace) {
		section(title, []string{"", "ATTEMPTS", "DONE", "SUCCESS", "P50", "P95"}, seq.Map(list, func(l report.Pace) []string {
			return []string{
				l.Key, fmt.Sprint(l.Attempts), fmt.Sprint(l.Done), fmt.Sprintf("%.0f %%", 100*l.Share()), human.Span(l.P50), human.Span(l.P95),
			}
		}))
	}
	if s.All.Attempts > 0 {
		pace("Attempts", s.All)
	}
	pace("By model", s.Models...)
	pace("By agent", s.Agents...)
	gates := seq.Map(s.Gates, func(g report.GateCount) []string {
		return []string{fmt.Sprint(g.Failed), fmt.Sprint(g.Flaky), fmt.Sprint(g.Runs), g.Command}
	})
	section("Gates", []string{"FAILED", "FLAKY", "OF", "GATE"}, gates)
	return b.String()
}
