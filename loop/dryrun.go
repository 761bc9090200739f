package loop

import (
	"cmp"
	"context"
	"slices"

	"ralph/dag"
	"ralph/internal/budget"
	"ralph/internal/human"
)

// DryRun is what a run would do first if it were started now.
type DryRun struct {
	Tally dag.Tally
	End   string // why it would begin nothing at all; "" if it would
	Tasks []PlannedTask
	Looks []string // titles of the reviews and acceptances of finished features that it would add
}

// PlannedTask is a task that is ready, and what would become of it in its turn.
type PlannedTask struct {
	dag.Task
	Skipped string // why it would be skipped for now
	Fails   string // why it would fail before an agent is started
}

// Worked says that an agent would work on it, and not only verify what is finished.
func (f PlannedTask) Worked() bool { return f.Skipped == "" && f.Fails == "" && f.Unverified == "" }

// Preview says what a run with those options would do with what is ready, by the checks
// that the run itself makes, and does nothing. It does not look at what dead runs left:
// ralph recover --dry-run does.
func Preview(ctx context.Context, opts Options, ready []dag.Task) (f DryRun, err error) {
	r := newRunner(opts)
	err = opts.Graph.Store.View(ctx, func(g *dag.Graph) error {
		if f.Tally, err = g.Tasks.Tally(opts.Graph.Scope); err != nil {
			return err
		}
		if opts.Graph.Continues != nil {
			r.run.Scope = opts.Graph.Scope
			if err := g.History.CarryOver(r.run, opts.Graph.Continues); err != nil {
				return err
			}
		}
		if err := r.carryOver(g); err != nil {
			return err
		}
		if f.End, err = r.claimer.previewEnd(g, f.Tally); err != nil {
			return err
		}
		if f.Looks, err = r.dueLooks(g); err != nil {
			return err
		}
		who, err := r.claimer.findAvailable(g)
		if err != nil {
			return err
		}
		for _, t := range ready {
			one := PlannedTask{Task: t, Skipped: r.claimer.previewSkip(who, t)}
			if one.Skipped == "" {
				if one.Fails, err = r.spending.previewFailure(g, t); err != nil {
					return err
				}
			}
			f.Tasks = append(f.Tasks, one)
		}
		return nil
	})
	return f, err
}

// previewEnd looks in the order in which a claim does: completion, limits, control.
func (c *claimer) previewEnd(g *dag.Graph, t dag.Tally) (string, error) {
	if resolved(t, 0).kind != "" {
		return "", nil // there is nothing to begin, and nothing in the way
	}
	end, _, err := c.spending.checkBudgets(g)
	if err != nil || end.kind != "" {
		return end.reason, err
	}
	if c.atLimit(0) {
		return human.Count(c.opts.Limits.Iterations, "iteration"), nil
	}
	control, err := g.Queue.Control("")
	if err == nil && !control.PausedAt.IsZero() {
		return pausedText, nil
	}
	return "", err
}

// previewSkip is why a claim would skip a task, or "".
func (c *claimer) previewSkip(who availability, t dag.Task) string {
	for _, f := range who.spent {
		if f.Name == t.Feature {
			return f.Text
		}
	}
	agent := cmp.Or(t.Agent, who.skip.Agent)
	if i := slices.IndexFunc(who.limits, func(l dag.AgentLimit) bool { return l.Agent == agent }); i >= 0 {
		return c.limitedUntil(who, who.limits[i])
	}
	return ""
}

// previewFailure is why a task would fail as soon as it is claimed, or "": finished
// work is verified all the same.
func (s *spending) previewFailure(g *dag.Graph, t dag.Task) (string, error) {
	if s.opts.Limits.Budgets.Task == (budget.Limits{}) || t.Unverified != "" {
		return "", nil
	}
	accounts, err := s.accounts(g, &t)
	over, _ := budget.Check(s.opts.Host.Now(), accounts...)
	d, _ := overTaskBudget(over)
	return d.Reason, err
}
