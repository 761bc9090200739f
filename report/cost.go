package report

import (
	"cmp"
	"time"

	"ralph/dag"
	"ralph/internal/jsonval"
	"ralph/journal"
)

// Costs is what was spent, by one heading.
type Costs struct {
	By    string     `json:"by"`
	Rows  []Spending `json:"rows"`
	Total Spending   `json:"total"`
}

// headings give each receipt the one heading that it is counted under.
var headings = map[string]func(dag.Receipt) (key, title string){
	ByModel: func(r dag.Receipt) (string, string) { return cmp.Or(ModelOf(r), NoModel), "" },
	ByTask: func(r dag.Receipt) (string, string) {
		if r.Task == "" {
			return "(planning)", ""
		}
		return r.Task, r.Title
	},
	ByFeature: func(r dag.Receipt) (string, string) { return cmp.Or(r.Feature, "(none)"), "" },
	ByDay:     func(r dag.Receipt) (string, string) { return r.StartedAt.Local().Format(time.DateOnly), "" },
	ByAgent:   func(r dag.Receipt) (string, string) { return cmp.Or(r.Agent, "(none started)"), "" },
}

// LoadCosts adds up what one run spent, or all runs and planning. By agent and by model, what
// a verifier used is counted under its own name.
func LoadCosts(g *dag.Graph, by, run string) (Costs, error) {
	receipts, err := Receipts(g, run)
	if err != nil {
		return Costs{}, err
	}
	if run == "" {
		plannings, err := g.Plannings()
		if err != nil {
			return Costs{}, err
		}
		for _, p := range plannings {
			receipts = append(receipts, dag.Receipt{
				ID: p.ID, Title: p.Step, Feature: p.Feature, Agent: p.Agent, Model: p.Model, ModelEffective: p.ModelEffective,
				StartedAt: p.StartedAt, EndedAt: p.EndedAt, Usage: p.Usage,
			})
		}
	}
	c := Costs{By: by, Total: Total(Spend(receipts, headings[by]))}
	if by == ByModel || by == ByAgent {
		receipts = Split(receipts)
	}
	c.Rows = jsonval.List(Spend(receipts, headings[by]))
	return c, nil
}

// Receipts are those of one run or of all. The journal remembers the title and the feature of
// a task that was deleted.
func Receipts(g *dag.Graph, run string) ([]dag.Receipt, error) {
	receipts, err := g.Receipts(dag.ReceiptFilter{Run: run})
	if err != nil {
		return nil, err
	}
	var entries map[string]journal.Entry
	for i, r := range receipts {
		if r.Title != "" {
			continue
		}
		if entries == nil {
			list, err := journal.List(g.Tx(), journal.Filter{Run: run})
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
