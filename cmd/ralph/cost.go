package main

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"ralph/dag"
	"ralph/internal/human"
	"ralph/internal/term"
	"ralph/journal"
	"ralph/report"
)

func (a *app) costCommand() command {
	return command{
		name: "cost", short: "add up what was spent, by model, task, feature, day or agent",
		long: `Every attempt of every run is counted once, also that of a task that was deleted since, and so is every
session in which an agent planned. By agent and by model, what a judge used stands under its own name. What
an agent did not tell is unknown, never 0: a sum without it is "at least" so much; what ralph estimated is
marked.`,
		flags: []cli.Flag{
			&cli.StringFlag{Name: "by", Usage: "`KEY`: model, task, feature, day or agent", Value: report.ByModel},
			&cli.StringFlag{Name: "run", Usage: "only what run `ID` spent", DefaultText: "all runs"},
			jsonFlag(),
		},
		example: "ralph cost --by feature\nralph cost --by day --json | jq .total.usage.cost_usd", exits: "3 no such run",
		run: a.runCost,
	}
}

type costJSON struct {
	By    string             `json:"by"`
	Rows  []report.SpendJSON `json:"rows"`
	Total report.SpendJSON   `json:"total"`
}

func (a *app) runCost(c *cli.Context) error {
	if err := noArgs(c); err != nil {
		return err
	}
	by := c.String("by")
	switch by {
	case report.ByModel, report.ByTask, report.ByFeature, report.ByDay, report.ByAgent:
	default:
		return usagef("--by is model, task, feature, day or agent, not %q", by)
	}
	return a.view(c.Context, func(_ *session, g *dag.Graph) error {
		receipts, err := a.receipts(c, g)
		if err != nil {
			return err
		}
		if c.String("run") == "" {
			planned, err := planningReceipts(g)
			if err != nil {
				return err
			}
			receipts = append(receipts, planned...)
		}
		total := report.Total(report.Spend(receipts, headings[by]))
		if by == report.ByModel || by == report.ByAgent {
			receipts = report.Split(receipts)
		}
		list := report.Spend(receipts, headings[by])
		if c.Bool("json") {
			j := costJSON{By: by, Rows: []report.SpendJSON{}, Total: total.JSON()}
			for _, s := range list {
				j.Rows = append(j.Rows, s.JSON())
			}
			return a.printJSON(j)
		}
		if len(list) == 0 {
			a.note("nothing was spent yet: there was no attempt, and nothing was planned; start with: ralph run")
			return nil
		}
		return a.printCost(by, list, total)
	})
}

// headings give each receipt the one heading that it is counted under.
var headings = map[string]func(dag.Receipt) (string, string){
	report.ByModel: func(r dag.Receipt) (string, string) { return cmp.Or(report.ModelOf(r), report.NoModel), "" },
	report.ByTask: func(r dag.Receipt) (string, string) {
		if r.Task == "" {
			return "(planning)", ""
		}
		return r.Task, r.Title
	},
	report.ByFeature: func(r dag.Receipt) (string, string) { return cmp.Or(r.Feature, "(none)"), "" },
	report.ByDay:     func(r dag.Receipt) (string, string) { return r.StartedAt.Local().Format(time.DateOnly), "" },
	report.ByAgent:   func(r dag.Receipt) (string, string) { return cmp.Or(r.Agent, "(none started)"), "" },
}

// receipts are those of one run or of all. What the title and feature of a deleted
// task were is remembered by the journal, as long as it is kept.
func (a *app) receipts(c *cli.Context, g *dag.Graph) ([]dag.Receipt, error) {
	var f dag.ReceiptFilter
	if typed := c.String("run"); typed != "" {
		run, err := findRun(g, typed)
		if err != nil {
			return nil, err
		}
		f.Run = run.ID
	}
	receipts, err := g.Receipts(f)
	if err != nil {
		return nil, err
	}
	var entries map[string]journal.Entry
	for i, r := range receipts {
		if r.Title != "" {
			continue
		}
		if entries == nil {
			list, err := journal.List(g.Tx(), journal.Filter{Run: f.Run})
			if err != nil {
				return nil, err
			}
			entries = map[string]journal.Entry{}
			for _, e := range list {
				entries[e.Attempt] = e
			}
		}
		receipts[i].Title, receipts[i].Feature = entries[r.ID].Title, entries[r.ID].Feature
	}
	return receipts, nil
}

func (a *app) printCost(by string, list []report.Spending, total report.Spending) error {
	p := a.palette()
	t := &term.Table{Width: a.width}
	t.Add(cells(p.Dim, strings.ToUpper(by), "ATTEMPTS", "DONE", "VERIFIED", "COST", "PER VERIFIED", "TOKENS")...)
	add := func(s report.Spending, paint func(string) string) {
		name := s.Key
		if s.Title != "" {
			name += "  " + term.Cut(term.Line(s.Title), 40)
		}
		each := "-"
		if v := s.PerVerified(); v != nil {
			each = human.Dollars(*v)
		}
		t.Add(term.Cell{Text: name, Paint: paint}, term.Cell{Text: fmt.Sprint(s.Usage.Attempts)}, term.Cell{Text: fmt.Sprint(s.Done)},
			term.Cell{Text: fmt.Sprint(s.Verified)}, term.Cell{Text: s.Usage.CostWords(), Paint: paint}, term.Cell{Text: each},
			term.Cell{Text: cmp.Or(s.Usage.TokenWords(), "-"), Paint: p.Dim})
	}
	for _, s := range list {
		add(s, nil)
	}
	add(total, p.Bold)
	_, err := t.WriteTo(a.stdout)
	return err
}

// planningReceipts are the sessions of planning, as the bill lists them.
func planningReceipts(g *dag.Graph) ([]dag.Receipt, error) {
	list, err := g.Plannings()
	var receipts []dag.Receipt
	for _, p := range list {
		receipts = append(receipts, dag.Receipt{
			ID: p.ID, Title: p.Step, Feature: p.Feature, Agent: p.Agent, Model: p.Model, ModelEffective: p.ModelEffective,
			StartedAt: p.StartedAt, EndedAt: p.EndedAt, Usage: p.Usage,
		})
	}
	return receipts, err
}
