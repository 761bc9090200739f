package loop

import (
	"context"
	"fmt"

	"ralph/budget"
	"ralph/dag"
	"ralph/event"
)

// accounts are the budgets of the run and the day, and with a task those of its
// feature and its own, as far as there are any. What agents are using now is in
// them.
func (r *Runner) accounts(g *dag.Graph, t *dag.Task) (list []budget.Account, err error) {
	add := func(scope budget.Scope, name string, limits budget.Limits, mine func(dag.Task) bool, ask func() (dag.Usage, error)) {
		if err != nil || limits == (budget.Limits{}) {
			return
		}
		var settled dag.Usage
		if settled, err = ask(); err == nil {
			list = append(list, budget.Account{Scope: scope, Name: name, Limits: limits, Used: r.usedBy(settled, mine)})
		}
	}
	all := func(dag.Task) bool { return true }
	now := r.opts.Host.Now()
	add(budget.Run, "", r.opts.Limits.Budgets.Run, all, func() (dag.Usage, error) { return g.UsageOfChain(r.chain()) })
	add(budget.Day, "", r.opts.Limits.Budgets.Day, all, func() (dag.Usage, error) { return g.UsageSince(budget.Midnight(now), r.run.ID) })
	for i := range list {
		if list[i].Scope == budget.Run {
			r.runTime(&list[i].Used)
		}
	}
	if t == nil {
		return list, err
	}
	if t.Feature != "" {
		add(budget.Feature, t.Feature, r.opts.Limits.Budgets.Feature, func(other dag.Task) bool { return other.Feature == t.Feature },
			func() (dag.Usage, error) { return g.UsageOfFeature(t.Feature, r.run.ID) })
	}
	add(budget.Task, t.ID, r.opts.Limits.Budgets.Task, func(other dag.Task) bool { return other.ID == t.ID },
		func() (dag.Usage, error) { return g.UsageOfTask(*t, r.run.ID) })
	return list, err
}

// chain is the run that ends the chain of those which this one continues: itself, once
// it has begun.
func (r *Runner) chain() string {
	if r.run.ID == "" && r.opts.Graph.Continues != nil {
		return r.opts.Graph.Continues.ID
	}
	return r.run.ID
}

// runTime is what only the run itself knows about its time and its failures.
func (r *Runner) runTime(u *budget.Used) {
	counted, failures, waited := r.ledger.totals()
	u.Duration, u.Since, u.Failures, u.Iterations = r.elapsed()-waited, r.began, failures, counted
}

// usedBy adds what agents are using now to what was settled.
func (r *Runner) usedBy(settled dag.Usage, mine func(dag.Task) bool) budget.Used {
	return r.live.sum(budget.Settled(settled), r.opts.Host.Now(), mine)
}

// warnNear tells once of each limit that is nearly reached.
func (r *Runner) warnNear(findings []budget.Finding) {
	for _, f := range findings {
		r.bus.warnOnce("budget\x00"+f.Key(), fmt.Sprintf("%d %% of a budget is used up: %s", int(100*f.Share), f.Text))
	}
}

// afford says whether the run may begin anything more. What is near is returned to
// be told when the transaction is over. Iterations are judged elsewhere, together
// with those that are under way.
func (r *Runner) afford(g *dag.Graph) (ending, []budget.Finding, error) {
	accounts, err := r.accounts(g, nil)
	if err != nil {
		return ending{}, nil, err
	}
	over, near := budget.Check(r.opts.Host.Now(), accounts...)
	if limit := r.opts.Limits.Iterations; limit > 0 {
		counted, _, _ := r.ledger.totals()
		_, soon := budget.Check(r.opts.Host.Now(), budget.Account{
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
// that the run might take something of, because the first is told as the reason.
func (r *Runner) spentFeatures(g *dag.Graph) (spent []budget.Finding, err error) {
	if r.opts.Limits.Budgets.Feature == (budget.Limits{}) {
		return nil, nil
	}
	features, err := g.Features()
	if err != nil {
		return nil, err
	}
	only, err := r.scopedFeature(g)
	if err != nil {
		return nil, err
	}
	for _, f := range features {
		if f.Tasks[dag.Pending] == 0 || only != "" && f.Name != only {
			continue
		}
		settled, err := g.UsageOfFeature(f.Name, r.run.ID)
		if err != nil {
			return nil, err
		}
		used := r.usedBy(settled, func(other dag.Task) bool { return other.Feature == f.Name })
		over, _ := budget.Check(r.opts.Host.Now(), budget.Account{Scope: budget.Feature, Name: f.Name, Limits: r.opts.Limits.Budgets.Feature, Used: used})
		if len(over) > 0 {
			spent = append(spent, over[0])
		}
	}
	return spent, nil
}

// scopedFeature is the only feature that the run may touch, if its scope says so.
func (r *Runner) scopedFeature(g *dag.Graph) (string, error) {
	if r.opts.Graph.Scope.Task == "" {
		return r.opts.Graph.Scope.Feature, nil
	}
	t, err := g.Task(r.opts.Graph.Scope.Task)
	return t.Feature, err
}

// over compares what was spent with all budgets that concern a task: which are exceeded,
// and how much is used of what is used most.
func (r *Runner) over(ctx context.Context, t dag.Task) (accounts []budget.Account, over []budget.Finding, share float64, err error) {
	if r.opts.Limits.Budgets == (Budgets{}) {
		return nil, nil, 0, nil
	}
	err = r.opts.Graph.Store.View(ctx, func(g *dag.Graph) (err error) { accounts, err = r.accounts(g, &t); return err })
	if err != nil {
		return nil, nil, 0, err
	}
	over, near := budget.Check(r.opts.Host.Now(), accounts...)
	r.warnNear(near)
	return accounts, over, budget.Share(r.opts.Host.Now(), accounts...), nil
}
