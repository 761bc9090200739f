package main

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"ralph/acp"
	"ralph/budget"
	"ralph/dag"
	"ralph/features"
	"ralph/loop"
)

// affordPlanning refuses a session if the feature or the day has used up what it may.
// Iterations and failures are those of tasks: planning may be what mends them.
func (a *app) affordPlanning(ctx context.Context, c *cli.Context, s *session, feature string) error {
	b, now := s.config.Budget, a.now()
	accounts := []budget.Account{
		{Scope: budget.Feature, Name: feature, Limits: shared(b.Feature)},
		{Scope: budget.Day, Limits: shared(b.Day)},
	}
	err := s.store.View(ctx, func(g *dag.Graph) error {
		if feature != "" {
			used, err := g.UsageOfFeature(feature, "")
			if err != nil {
				return err
			}
			accounts[0].Used = loop.Used(used)
		}
		used, err := g.UsageSince(loop.Midnight(now), "")
		accounts[1].Used = loop.Used(used)
		return err
	})
	if err != nil {
		return err
	}
	over, near := budget.Judge(now, accounts...)
	for _, f := range over {
		if f.Stops() {
			return hint(fmt.Errorf("%w: a budget is used up: %s", dag.ErrRefused, f.Text), "what was done is kept; allow more with [budget.%s] in .ralph.toml", f.Scope)
		}
	}
	for _, f := range near {
		if f.Stops() {
			a.note(c, "warning: %d %% of a budget is used up: %s", int(100*f.Share), f.Text)
		}
	}
	return nil
}

// billedSession keeps what a session of planning costs on record.
type billedSession struct {
	loop.Session
	app  *app
	c    *cli.Context
	s    *session
	is   dag.Planning
	said bool // something was said to it: from then on it costs
}

// billed puts a session on record. One that cannot be put there is closed: nobody
// would know what it costs.
func (a *app) billed(ctx context.Context, c *cli.Context, s *session, opened loop.Session, p dag.Planning) (features.Session, error) {
	b := &billedSession{Session: opened, app: a, c: c, s: s, is: p}
	b.is.ModelEffective = opened.Model().Effective
	err := s.store.Update(context.WithoutCancel(ctx), func(g *dag.Graph) error { return g.BeginPlanning(&b.is) })
	if err != nil {
		_ = opened.Close()
		return nil, fmt.Errorf("record a session of planning: %w", err)
	}
	return b, nil
}

func (b *billedSession) Prompt(ctx context.Context, text string) (acp.Turn, error) {
	b.said = true
	began := b.app.now()
	turn, err := b.Session.Prompt(ctx, text)
	b.is.Worked += max(b.app.now().Sub(began), 0).Round(time.Millisecond)
	b.note(ctx, false)
	return turn, err
}

func (b *billedSession) Close() error {
	err := b.Session.Close()
	b.note(context.Background(), true)
	return err
}

// note stores what was used, also after Ctrl-C.
func (b *billedSession) note(ctx context.Context, over bool) {
	model := b.Model()
	b.is.ModelEffective = model.Effective
	used := loop.Bill(prices(b.s.config), b.Usage(), cmp.Or(model.Effective, model.Requested, b.is.Model))
	b.is.CostUSD, b.is.Estimated, b.is.Unknown = used.CostUSD, used.Estimated, used.Unknown && b.said
	if used.TokensIn+used.TokensOut > 0 {
		b.is.TokensIn, b.is.TokensCached, b.is.TokensOut = toldOnly(used.TokensIn), toldOnly(used.TokensCached), toldOnly(used.TokensOut)
	}
	err := b.s.store.Update(context.WithoutCancel(ctx), func(g *dag.Graph) error { return g.NotePlanning(b.is, over) })
	if err != nil {
		b.app.note(b.c, "warning: what planning costs could not be recorded: %v", err)
	}
}

// toldOnly is nil for a count that no agent told.
func toldOnly(n int64) *int64 {
	if n == 0 {
		return nil
	}
	return &n
}

// planningReceipts are the sessions of planning, as the bill lists them.
func planningReceipts(g *dag.Graph) ([]dag.Receipt, error) {
	list, err := g.Plannings()
	var receipts []dag.Receipt
	for _, p := range list {
		receipts = append(receipts, dag.Receipt{
			ID: p.ID, Title: p.Step, Feature: p.Feature, Agent: p.Agent, Model: p.Model, ModelEffective: p.ModelEffective,
			StartedAt: p.StartedAt, EndedAt: p.EndedAt, TokensIn: p.TokensIn, TokensCached: p.TokensCached, TokensOut: p.TokensOut,
			CostUSD: p.CostUSD, CostEstimated: p.Estimated, CostUnknown: p.Unknown,
		})
	}
	return receipts, err
}
