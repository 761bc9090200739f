package loop

import (
	"cmp"
	"context"
	"slices"

	"ralph/budget"
	"ralph/dag"
	"ralph/internal/human"
	"ralph/loop/policy"
)

// Foresight is what a run would do first if it were started now.
type Foresight struct {
	Tally dag.Tally
	End   string // why it would begin nothing at all; "" if it would
	Tasks []Foreseen
}

// Foreseen is a task that is ready, and what would become of it in its turn.
type Foreseen struct {
	dag.Task
	Left  string // why it would be left alone for now
	Fails string // why it would fail before an agent is started
}

// Worked says that an agent would be set to work on it, and not only to judge what is
// finished.
func (f Foreseen) Worked() bool { return f.Left == "" && f.Fails == "" && f.Unverified == "" }

// Foresee says what a run with those options would do with what is ready, judged as
// the run itself would judge it, and does nothing. It does not look at what runs that
// have died left: ralph recover --dry-run does.
func Foresee(ctx context.Context, opts Options, ready []dag.Task) (f Foresight, err error) {
	r := newRunner(opts)
	err = opts.Graph.Store.View(ctx, func(g *dag.Graph) error {
		if f.Tally, err = g.Tally(opts.Graph.Scope); err != nil {
			return err
		}
		if opts.Graph.Continues != nil {
			r.run.Scope = opts.Graph.Scope
			if err := g.CarryOver(&r.run, opts.Graph.Continues); err != nil {
				return err
			}
		}
		if err := r.carryOver(g); err != nil {
			return err
		}
		if f.End, err = r.foreseeEnd(g, f.Tally); err != nil {
			return err
		}
		room, err := r.findRoom(g)
		if err != nil {
			return err
		}
		for _, t := range ready {
			one := Foreseen{Task: t, Left: r.leftAlone(room, t)}
			if one.Left == "" {
				if one.Fails, err = r.foreseeFailure(g, t); err != nil {
					return err
				}
			}
			f.Tasks = append(f.Tasks, one)
		}
		return nil
	})
	return f, err
}

// foreseeEnd looks in the order in which a claim does: completion, limits, wishes.
func (r *Runner) foreseeEnd(g *dag.Graph, t dag.Tally) (string, error) {
	if r.judgeScope(t, 0).kind != "" {
		return "", nil // there is nothing to begin, and nothing in the way
	}
	end, _, err := r.afford(g)
	if err != nil || end.kind != "" {
		return end.reason, err
	}
	if r.atLimit(0) {
		return human.Count(r.opts.Limits.Iterations, "iteration"), nil
	}
	control, err := g.Control("")
	if err == nil && !control.PausedAt.IsZero() {
		return pausedText, nil
	}
	return "", err
}

// leftAlone is why a claim would skip a task, or "".
func (r *Runner) leftAlone(room room, t dag.Task) string {
	for _, f := range room.spent {
		if f.Name == t.Feature {
			return f.Text
		}
	}
	agent := cmp.Or(t.Agent, room.skip.Agent)
	if i := slices.IndexFunc(room.limits, func(l dag.AgentLimit) bool { return l.Agent == agent }); i >= 0 {
		return r.noRoom(room.limits[i])
	}
	return ""
}

// foreseeFailure is why a task would fail as soon as it is claimed, or "": finished
// work is verified all the same.
func (r *Runner) foreseeFailure(g *dag.Graph, t dag.Task) (string, error) {
	if r.opts.Limits.Budgets.Task == (budget.Limits{}) || t.Unverified != "" {
		return "", nil
	}
	settled, err := g.UsageOfTask(t, r.run.ID)
	if err != nil {
		return "", err
	}
	over, _ := budget.Check(r.opts.Host.Now(), budget.Account{Scope: budget.Task, Name: t.ID, Limits: r.opts.Limits.Budgets.Task, Used: budget.Settled(settled)})
	if len(over) == 0 {
		return "", nil
	}
	return policy.Overspent(over[0]).Reason, nil
}
