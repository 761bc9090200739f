package main

import (
	"cmp"
	"fmt"
	"strings"

	"ralph/dag"
	"ralph/internal/event"
	"ralph/internal/human"
	"ralph/internal/render"
	"ralph/internal/report"
	"ralph/internal/seq"
	"ralph/internal/term"
)

var costCommand = command{
	name: "cost", short: "add up what was spent, by model, task, feature, day or agent",
	long: `Every attempt of every run counts once, even if its task was deleted since, and so does every
session in which an agent planned. By agent and by model, what a verifier used has a row of its own. What
an agent did not report is unknown, never 0: a sum without it is "at least" so much; estimates are marked.
Tokens read from a provider's cache are listed apart, with their share of the input; those written to it are input.`,
	flags: []flagSpec{
		{name: "by", usage: "`KEY`: model, task, feature, day or agent", value: report.ByModel},
		runFlag, jsonFlag,
	},
	example: "ralph cost --by feature\nralph cost --by day --json | jq .total.usage.cost_usd", exits: "3 no such run",
	run: onGraph(runCost),
}

// runFlag restricts a command to one run.
var runFlag = flagSpec{name: "run", usage: "only run `ID`", shown: "all runs"}

type costOptions struct {
	By, Run string
	JSON    bool
}

func (o *costOptions) parse(commandLine) error {
	return checkChoice("by", o.By, report.ByModel, report.ByTask, report.ByFeature, report.ByDay, report.ByAgent)
}

func runCost(a *app, _ *session, g *dag.Graph, o costOptions) error {
	run, err := runID(g, o.Run)
	if err != nil {
		return err
	}
	costs, err := report.LoadCosts(g, o.By, run)
	switch {
	case err != nil:
		return err
	case o.JSON:
		return a.printJSON(costs)
	case len(costs.Rows) == 0:
		a.note("nothing was spent yet: there was no attempt, and nothing was planned; start with: ralph run")
		return nil
	}
	return printCosts(a, costs)
}

// runID resolves what --run names; empty means all runs.
func runID(g *dag.Graph, typed string) (string, error) {
	if typed == "" {
		return "", nil
	}
	run, err := g.History.RunOrLast(typed)
	return run.ID, err
}

func printCosts(a *app, costs report.Costs) error {
	p := a.palette()
	header := []string{strings.ToUpper(costs.By), "ATTEMPTS", "DONE", "VERIFIED", "COST", "PER VERIFIED", "TOKENS"}
	printed := 0
	return printTable(a, header, append(costs.Rows, costs.Total), func(s report.Spending) []term.Cell {
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

var statsCommand = command{
	name: "stats", short: "show how long attempts take, which models and agents succeed, and which gates fail",
	long: `Half of the attempts took no longer than p50, 95 of 100 no longer than p95. Interrupted and
rate-limited attempts say nothing about a model and are left out of both.`,
	flags:   []flagSpec{runFlag, jsonFlag},
	example: "ralph stats\nralph stats --json | jq '.models[] | {key, success}'", exits: "3 no such run",
	run: onGraph(runStats),
}

func runStats(a *app, _ *session, g *dag.Graph, o plainOptions) error {
	run, err := runID(g, o.Run)
	if err != nil {
		return err
	}
	receipts, err := report.Receipts(g, run)
	s := report.StatsOf(receipts)
	switch {
	case err != nil:
		return err
	case o.JSON:
		return a.printJSON(s)
	case len(s.Outcomes) == 0:
		a.note("no attempt has ended yet; start with: ralph run")
		return nil
	}
	return written(fmt.Fprint(a.stdout, statsText(a, s)))
}

func statsText(a *app, s report.Stats) string {
	p := a.palette()
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
		t := &term.Table{Width: a.width}
		t.Add(cells(p.Dim, header...)...)
		for _, row := range rows {
			t.Add(cells(nil, row...)...)
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
