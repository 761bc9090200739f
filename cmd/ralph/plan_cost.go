package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"ralph/acp"
	"ralph/dag"
	"ralph/features"
	"ralph/loop"
)

// billedSession keeps what a session of planning costs on record, and ends it when that
// is more than may be spent.
type billedSession struct {
	loop.Session
	*purse
	is    dag.Planning
	began time.Time     // of the turn
	said  bool          // something was said to it: from then on it costs
	news  chan struct{} // it told what it has used
}

// watchUsage passes on what an agent tells, and gives notice of what it has used.
func watchUsage(news chan<- struct{}, show func(acp.Event)) func(acp.Event) {
	return func(e acp.Event) {
		if _, ok := e.(acp.UsageSeen); ok {
			select {
			case news <- struct{}{}:
			default: // there is notice already
			}
		}
		if show != nil {
			show(e)
		}
	}
}

// billed puts a session on record. One that cannot be put there is closed: nobody
// would know what it costs.
func (p *purse) billed(ctx context.Context, opened loop.Session, is dag.Planning, news chan struct{}) (features.Session, error) {
	b := &billedSession{Session: opened, purse: p, is: is, news: news}
	b.is.ModelEffective = opened.Model().Effective
	err := p.s.store.Update(context.WithoutCancel(ctx), func(g *dag.Graph) error { return g.BeginPlanning(&b.is) })
	if err != nil {
		_ = opened.Close()
		return nil, fmt.Errorf("record a session of planning: %w", err)
	}
	return b, nil
}

// Prompt begins no turn beyond a budget, and cuts one short that goes beyond it.
func (b *billedSession) Prompt(ctx context.Context, text string) (acp.Turn, error) {
	if err := b.refuse(ctx, 0); err != nil {
		return acp.Turn{}, err
	}
	b.said, b.began = true, b.app.now()
	turn, cut, err := acp.Guard{News: b.news, Inspect: b.inspect}.Turn(ctx, b.Session, text)
	b.is.Worked += b.live()
	b.note(ctx, false)
	if cut != nil && err != nil {
		err = cut
	}
	return turn, err
}

// live is how long the turn has gone on.
func (b *billedSession) live() time.Duration {
	return max(b.app.now().Sub(b.began), 0).Round(time.Millisecond)
}

// inspect puts what was used so far on record, for other processes too, and says why
// the turn may not go on, or nil. What cannot be added up stops nobody.
func (b *billedSession) inspect(ctx context.Context) error {
	before := b.is
	if b.count(); !reflect.DeepEqual(b.is, before) {
		b.store(ctx, false)
	}
	err := b.refuse(ctx, b.live())
	if err != nil && !errors.Is(err, dag.ErrRefused) {
		return nil
	}
	return err
}

func (b *billedSession) Close() error {
	err := b.Session.Close()
	b.note(context.Background(), true)
	return err
}

// note puts on record what was used.
func (b *billedSession) note(ctx context.Context, over bool) {
	b.count()
	b.store(ctx, over)
}

// count adds up what was used so far.
func (b *billedSession) count() {
	model := b.Model()
	b.is.ModelEffective = model.Effective
	used := loop.Bill(prices(b.s.config), b.Usage(), cmp.Or(model.Effective, model.Requested, b.is.Model))
	b.is.CostUSD, b.is.Estimated, b.is.Unknown = used.CostUSD, used.Estimated, used.Unknown && b.said
	if used.TokensIn+used.TokensOut > 0 {
		b.is.TokensIn, b.is.TokensCached, b.is.TokensOut = toldOnly(used.TokensIn), toldOnly(used.TokensCached), toldOnly(used.TokensOut)
	}
}

// store writes it down, also after Ctrl-C.
func (b *billedSession) store(ctx context.Context, over bool) {
	err := b.s.store.Update(context.WithoutCancel(ctx), func(g *dag.Graph) error { return g.NotePlanning(b.is, over) })
	if err != nil {
		b.app.note("warning: what planning costs could not be recorded: %v", err)
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
