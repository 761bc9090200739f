package loop

import (
	"context"
	"fmt"
	"slices"
	"time"

	"ralph/dag"
	"ralph/internal/budget"
	"ralph/internal/event"
	"ralph/loop/policy"
)

// spending compares what was used with the budgets.
type spending struct {
	shared
	began time.Time
	took  time.Duration // by the runs that this one continues
}

// elapsed is how long the run has taken, with those that it continues.
func (s *spending) elapsed() time.Duration { return s.took + s.opts.Host.Now().Sub(s.began) }

// accounts are the budgets of the run and the day, and with a task those of its
// feature and its own, as far as there are any. What agents are using now is in
// them.
func (s *spending) accounts(g *dag.Graph, t *dag.Task) (list []budget.Account, err error) {
	add := func(scope budget.Scope, name string, limits budget.Limits, mine func(dag.Task) bool, ask func() (dag.Usage, error)) {
		if err != nil || limits == (budget.Limits{}) {
			return
		}
		var settled dag.Usage
		if settled, err = ask(); err == nil {
			list = append(list, budget.Account{Scope: scope, Name: name, Limits: limits, Used: s.usedBy(settled, mine)})
		}
	}
	all := func(dag.Task) bool { return true }
	budgets := s.opts.Limits.Budgets
	add(budget.Run, "", budgets.Run, all, func() (dag.Usage, error) { return g.History.UsageOfChain(s.chain()) })
	add(budget.Day, "", budgets.Day, all, func() (dag.Usage, error) { return g.History.UsageSince(budget.Midnight(s.opts.Host.Now()), s.run.ID) })
	if i := slices.IndexFunc(list, func(a budget.Account) bool { return a.Scope == budget.Run }); i >= 0 {
		u := &list[i].Used // its time and its failures are known to the run itself only
		counted, failures, waited := s.ledger.totals()
		u.Duration, u.Since, u.Failures, u.Iterations = s.elapsed()-waited, s.began, failures, counted
	}
	if t == nil {
		return list, err
	}
	if t.Feature != "" {
		add(budget.Feature, t.Feature, budgets.Feature, func(other dag.Task) bool { return other.Feature == t.Feature },
			func() (dag.Usage, error) { return g.History.UsageOfFeature(t.Feature, s.run.ID) })
	}
	add(budget.Task, t.ID, budgets.Task, func(other dag.Task) bool { return other.ID == t.ID },
		func() (dag.Usage, error) { return g.History.UsageOfTask(*t, s.run.ID) })
	return list, err
}

// chain is the run that ends the chain of those which this one continues: itself, once
// it has begun.
func (s *spending) chain() string {
	if s.run.ID == "" && s.opts.Graph.Continues != nil {
		return s.opts.Graph.Continues.ID
	}
	return s.run.ID
}

// usedBy adds what agents are using now to what was settled.
func (s *spending) usedBy(settled dag.Usage, mine func(dag.Task) bool) budget.Used {
	return s.live.sum(budget.Settled(settled), s.opts.Host.Now(), mine)
}

// warnNear warns once of each limit that is nearly reached.
func (s *spending) warnNear(findings []budget.Finding) {
	for _, f := range findings {
		s.bus.warnOnce("budget\x00"+f.Key(), nearText(f))
	}
}

func nearText(f budget.Finding) string {
	return fmt.Sprintf("%d %% of a budget is used up: %s", int(100*f.Share), f.Text)
}

// checkBudgets says why the run may begin nothing more. What is near is returned to be
// reported when the transaction is over. Iterations are checked elsewhere, together with
// those that are under way.
func (s *spending) checkBudgets(g *dag.Graph) (ending, []budget.Finding, error) {
	accounts, err := s.accounts(g, nil)
	if err != nil {
		return ending{}, nil, err
	}
	over, near := budget.Check(s.opts.Host.Now(), accounts...)
	if limit := s.opts.Limits.Iterations; limit > 0 {
		counted, _, _ := s.ledger.totals()
		_, soon := budget.Check(s.opts.Host.Now(), budget.Account{
			Scope: budget.Run, Limits: budget.Limits{Iterations: limit}, Used: budget.Used{Iterations: counted},
		})
		near = append(near, soon...)
	}
	if len(over) > 0 {
		return ending{kind: event.OutcomeLimit, reason: over[0].Text}, near, nil
	}
	return ending{}, near, nil
}

// spentFeatures lists the features that have used up what they may, each once: those
// that the run might take something of, because the first is given as the reason.
func (s *spending) spentFeatures(g *dag.Graph) (spent []budget.Finding, err error) {
	if s.opts.Limits.Budgets.Feature == (budget.Limits{}) {
		return nil, nil
	}
	features, _ := g.Plan.Features() // the first error of the database is that of the transaction
	only := s.opts.Graph.Scope.Feature
	if id := s.opts.Graph.Scope.Task; id != "" {
		t, err := g.Tasks.Get(id)
		if err != nil {
			return nil, err
		}
		only = t.Feature
	}
	for _, f := range features {
		if f.Tasks[dag.Pending] == 0 || only != "" && f.Name != only {
			continue
		}
		settled, _ := g.History.UsageOfFeature(f.Name, s.run.ID)
		used := s.usedBy(settled, func(other dag.Task) bool { return other.Feature == f.Name })
		over, _ := budget.Check(s.opts.Host.Now(), budget.Account{Scope: budget.Feature, Name: f.Name, Limits: s.opts.Limits.Budgets.Feature, Used: used})
		if len(over) > 0 {
			spent = append(spent, over[0])
		}
	}
	return spent, g.Tx().Err()
}

// overTaskBudget decides about a task that has used up its own budget.
func overTaskBudget(over []budget.Finding) (policy.Decision, bool) {
	i := slices.IndexFunc(over, func(f budget.Finding) bool { return f.Scope == budget.Task })
	if i < 0 {
		return policy.Decision{}, false
	}
	return policy.Overspent(over[i]), true
}

// found is how what was spent compares with the budgets that concern a task.
type found struct {
	over, near []budget.Finding
	share      float64 // how much is used of what is used most
}

// compare compares what was spent with all budgets that concern a task.
func (s *spending) compare(ctx context.Context, t dag.Task) (f found, err error) {
	if s.opts.Limits.Budgets == (Budgets{}) {
		return f, nil
	}
	var accounts []budget.Account
	err = s.opts.Graph.Store.View(ctx, func(g *dag.Graph) (err error) { accounts, err = s.accounts(g, &t); return err })
	if err != nil {
		return f, err
	}
	f.over, f.near = budget.Check(s.opts.Host.Now(), accounts...)
	f.share = budget.Share(s.opts.Host.Now(), accounts...)
	s.warnNear(f.near)
	return f, nil
}
