package main

import (
	"context"
	"fmt"
	"time"

	"ralph/budget"
	"ralph/dag"
)

// purse is what planning is paid from: the budgets of the feature and of the day.
type purse struct {
	app     *app
	s       *session
	feature string          // empty for tasks of none
	told    map[string]bool // budgets that are nearly used up
}

func (a *app) purse(s *session, feature string) *purse {
	return &purse{app: a, s: s, feature: feature, told: map[string]bool{}}
}

// refuse says why planning may not go on, or nil. live is how long a turn has gone on
// that is not on record yet. Iterations and failures are those of tasks: planning may be
// what mends them.
func (p *purse) refuse(ctx context.Context, live time.Duration) error {
	accounts, err := p.accounts(ctx)
	if err != nil {
		return err
	}
	for i := range accounts {
		accounts[i].Used.Duration += live
	}
	over, near := budget.Check(p.app.now(), accounts...)
	for _, f := range over {
		if f.Stops() {
			return hint(fmt.Errorf("%w: a budget is used up: %s", dag.ErrRefused, f.Text), "what was done is kept; allow more with [budget.%s] in .ralph.toml", f.Scope)
		}
	}
	for _, f := range near {
		if f.Stops() && !p.told[f.Key()] {
			p.told[f.Key()] = true
			p.app.note("warning: %d %% of a budget is used up: %s", int(100*f.Share), f.Text)
		}
	}
	return nil
}

func (p *purse) accounts(ctx context.Context) ([]budget.Account, error) {
	b := p.s.config.Budget
	day := budget.Account{Scope: budget.Day, Limits: shared(b.Day)}
	feature := budget.Account{Scope: budget.Feature, Name: p.feature, Limits: shared(b.Feature)}
	if p.feature == "" {
		feature.Limits = budget.Limits{}
	}
	err := p.s.store.View(ctx, func(g *dag.Graph) error {
		if feature.Limits != (budget.Limits{}) {
			used, err := g.UsageOfFeature(p.feature, "")
			if err != nil {
				return err
			}
			feature.Used = budget.Settled(used)
		}
		used, err := g.UsageSince(budget.Midnight(p.app.now()), "")
		day.Used = budget.Settled(used)
		return err
	})
	return []budget.Account{feature, day}, err
}
