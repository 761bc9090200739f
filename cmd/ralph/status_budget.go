package main

import (
	"fmt"

	"ralph/budget"
	"ralph/dag"
)

// usedUp says which budgets of the day, and of features that have tasks left, are used
// up: what is ready there is begun by no run.
func (a *app) usedUp(s *session, g *dag.Graph, features []dag.Feature) ([]string, error) {
	day, feature, now := shared(s.config.Budget.Day), shared(s.config.Budget.Feature), a.now()
	var accounts []budget.Account
	if day != (budget.Limits{}) {
		used, err := g.UsageSince(budget.Midnight(now), "")
		if err != nil {
			return nil, err
		}
		accounts = append(accounts, budget.Account{Scope: budget.Day, Limits: day, Used: budget.Settled(used)})
	}
	for _, f := range features {
		if feature == (budget.Limits{}) || f.Tasks[dag.Done]+f.Tasks[dag.Failed] == f.Total() {
			continue
		}
		used, err := g.UsageOfFeature(f.Name, "")
		if err != nil {
			return nil, err
		}
		accounts = append(accounts, budget.Account{Scope: budget.Feature, Name: f.Name, Limits: feature, Used: budget.Settled(used)})
	}
	over, _ := budget.Check(now, accounts...)
	list := []string{}
	for _, f := range over {
		list = append(list, fmt.Sprintf("%s; allow more with [budget.%s] in .ralph.toml", f.Text, f.Scope))
	}
	return list, nil
}
