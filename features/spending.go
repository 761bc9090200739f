package features

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"time"

	"ralph/acp"
	"ralph/dag"
	"ralph/internal/budget"
	"ralph/internal/event"
)

// Spending is what planning may cost, and what tokens cost where an agent does not say.
type Spending struct {
	Day, Feature budget.Limits
	Prices       budget.Prices
}

// BudgetError means that a budget is used up. It is a refusal.
type BudgetError struct{ budget.Finding }

func (e *BudgetError) Error() string {
	return fmt.Sprintf("%v: a budget is used up: %s", dag.ErrRefused, e.Text)
}

func (e *BudgetError) Unwrap() error { return dag.ErrRefused }

// checkBudgets returns a BudgetError if planning may not go on. live is how long a turn has
// lasted that is not on record yet. Limits of iterations and failures are about tasks, and do
// not stop planning: it may be what mends them.
func (p *Planner) checkBudgets(ctx context.Context, live time.Duration) error {
	accounts, err := p.accounts(ctx)
	if err != nil {
		return err
	}
	for i := range accounts {
		accounts[i].Used.Duration += live
	}
	over, near := budget.Check(p.Now(), accounts...)
	for _, f := range over {
		if f.Stops() {
			return &BudgetError{f}
		}
	}
	for _, f := range near {
		if f.Stops() && !p.warned[f.Key()] {
			if p.warned == nil {
				p.warned = map[string]bool{}
			}
			p.warned[f.Key()] = true
			p.Warn("%d %% of a budget is used up: %s", int(100*f.Share), f.Text)
		}
	}
	return nil
}

func (p *Planner) accounts(ctx context.Context) (list []budget.Account, err error) {
	err = p.Store.View(ctx, func(g *dag.Graph) error {
		if p.Name != "" && p.Spending.Feature != (budget.Limits{}) {
			used, err := g.History.UsageOfFeature(p.Name, "")
			if err != nil {
				return err
			}
			list = append(list, budget.Account{Scope: budget.Feature, Name: p.Name, Limits: p.Spending.Feature, Used: budget.Settled(used)})
		}
		used, err := g.History.UsageSince(budget.Midnight(p.Now()), "")
		list = append(list, budget.Account{Scope: budget.Day, Limits: p.Spending.Day, Used: budget.Settled(used)})
		return err
	})
	return list, err
}

// session puts on record what a session of planning uses, and ends a turn that goes beyond
// a budget.
type session struct {
	Session
	planner  *Planner
	record   dag.Planning
	began    time.Time     // of the turn
	prompted bool          // from then on it costs something
	news     chan struct{} // it reported what it has used
}

// open starts an agent for a step. A session that cannot be put on record is closed: nobody
// would know what it costs.
func (p *Planner) open(ctx context.Context, at *staging) (*session, error) {
	if err := p.checkBudgets(ctx, 0); err != nil {
		return nil, err
	}
	logs, err := at.logs()
	if err != nil {
		return nil, err
	}
	s := &session{
		planner: p, news: make(chan struct{}, 1),
		record: dag.Planning{Step: filepath.Base(at.dir), Feature: p.Name, Model: p.Model},
	}
	s.Session, err = p.Open(ctx, Opening{Work: at.work(), Logs: logs, Observe: s.observe, Started: func(agent string) { s.record.Agent = agent }})
	if err != nil {
		return nil, err
	}
	s.record.ModelEffective = s.Model().Effective
	err = p.Store.Update(context.WithoutCancel(ctx), func(g *dag.Graph) error { return g.Plan.BeginPlanning(&s.record) })
	if err != nil {
		return nil, fmt.Errorf("record a planning session: %w", errors.Join(err, s.Session.Close()))
	}
	return s, nil
}

func (s *session) observe(e acp.Event) {
	if _, ok := e.(acp.UsageSeen); ok {
		select {
		case s.news <- struct{}{}:
		default: // there is notice already
		}
	}
	if s.planner.Observe != nil {
		s.planner.Observe(e)
	}
}

// Prompt starts no turn beyond a budget, and cuts one short that goes beyond it.
func (s *session) Prompt(ctx context.Context, text string) (acp.Turn, error) {
	if err := s.planner.checkBudgets(ctx, 0); err != nil {
		return acp.Turn{}, err
	}
	s.prompted, s.began = true, s.planner.Now()
	turn, cut, err := acp.Guard{News: s.news, Inspect: s.inspect}.Turn(ctx, s.Session, text)
	s.record.Worked += s.live()
	s.count()
	s.store(ctx, false)
	if cut != nil && err != nil {
		err = cut
	}
	return turn, err
}

// live is how long the turn has lasted.
func (s *session) live() time.Duration {
	return max(s.planner.Now().Sub(s.began), 0).Round(time.Millisecond)
}

// inspect stores what was used so far, which other processes count too, and says why the
// turn must end. Usage that cannot be added up stops nobody.
func (s *session) inspect(ctx context.Context) error {
	before := s.record
	if s.count(); !reflect.DeepEqual(s.record, before) {
		s.store(ctx, false)
	}
	err := s.planner.checkBudgets(ctx, s.live())
	if !errors.Is(err, dag.ErrRefused) {
		return nil
	}
	return err
}

func (s *session) Close() error {
	err := s.Session.Close()
	s.count()
	s.store(context.Background(), true)
	return err
}

// count adds up what was used so far.
func (s *session) count() {
	model, u, r := s.Model(), s.Usage(), &s.record
	r.ModelEffective = model.Effective
	used := event.Usage{TokensIn: u.Input + u.CacheWrite, TokensCached: u.CacheRead, TokensOut: u.Output, CostUSD: u.CostUSD}
	r.Usage = s.planner.Spending.Prices.Charge(used, cmp.Or(model.Effective, model.Requested, r.Model), s.prompted)
}

// store writes the record, also after Ctrl-C.
func (s *session) store(ctx context.Context, ended bool) {
	err := s.planner.Store.Update(context.WithoutCancel(ctx), func(g *dag.Graph) error { return g.Plan.NotePlanning(s.record, ended) })
	if err != nil {
		s.planner.Warn("what planning costs could not be recorded: %v", err)
	}
}
