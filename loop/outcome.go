package loop

import (
	"context"
	"errors"
	"time"

	"ralph/dag"
	"ralph/internal/redact"
)

// OutcomeKind is how a run ends.
type OutcomeKind string

// The outcomes of a run.
const (
	OutcomeComplete    OutcomeKind = "complete"          // every task in scope is resolved
	OutcomeFailure     OutcomeKind = "failure"           // the agent promised FAILURE, or --fail-fast met a failed task
	OutcomeBlocked     OutcomeKind = "blocked"           // nothing can run, but work remains
	OutcomeNoPlan      OutcomeKind = "no_plan"           // no task in scope
	OutcomeLimit       OutcomeKind = "limit"             // iterations, time, cost or tokens
	OutcomeStopped     OutcomeKind = "stopped"           // by ralph stop
	OutcomeUnavailable OutcomeKind = "agent_unavailable" // cannot be started, needs a login, or failed repeatedly
	OutcomeInterrupted OutcomeKind = "interrupted"       // by a signal
	OutcomeError       OutcomeKind = "error"             // ralph itself could not go on: the database or a file failed
)

// Outcome is what came of a run: itself, without those that it continues.
type Outcome struct {
	Kind       OutcomeKind
	Reason     string
	Run        string
	Iterations int
	Counts     Counts
	Usage      Usage
	Duration   time.Duration
	Tasks      []Resolved // that this run moved, in order
	Together   *Together  // nil if it continues none
}

// Resolved is what a run did with a task, last.
type Resolved struct {
	ID       string `json:"id"`
	Title    string `json:"title"`
	Status   string `json:"status"`
	Outcome  string `json:"outcome"`
	Reason   string `json:"reason,omitempty"`
	Attempts int    `json:"attempts"`
}

func (r *Runner) outcome(ctx context.Context, end ending) (Outcome, error) {
	out := Outcome{Kind: end.kind, Reason: end.reason, Run: r.run.ID, Duration: r.opts.Now().Sub(r.began)}
	err := r.opts.Store.View(ctx, func(g *dag.Graph) error {
		t, err := g.Tally(r.opts.Scope)
		if errors.Is(err, dag.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		out.Counts = countsOf(t)
		used, err := g.UsageOfRun(r.run.ID)
		if err != nil {
			return err
		}
		out.Usage = eventUsage(used)
		out.Together, err = r.together(g)
		return err
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	out.Iterations, out.Tasks = r.counted, append([]Resolved(nil), r.tasks...)
	if from := r.opts.Continues; from != nil {
		out.Iterations -= from.Iterations
	}
	return redact.Deep(r.opts.Redact, out), err
}

// together is what this run and those that it continues came to; nil if there are none.
func (r *Runner) together(g *dag.Graph) (*Together, error) {
	if r.opts.Continues == nil {
		return nil, nil
	}
	used, err := g.UsageOfChain(r.run.ID)
	counted, _ := r.countedSoFar()
	return &Together{Continues: r.opts.Continues.ID, Iterations: counted, Usage: eventUsage(used), Duration: r.elapsed().Milliseconds()}, err
}

// eventUsage is what was used, as events tell it.
func eventUsage(used dag.Usage) Usage {
	u := Usage{CostUSD: used.CostUSD, Estimated: used.Estimated, Unknown: used.Unpriced > 0}
	for into, n := range map[*int64]*int64{&u.TokensIn: used.TokensIn, &u.TokensCached: used.TokensCached, &u.TokensOut: used.TokensOut} {
		if n != nil {
			*into = *n
		}
	}
	return u
}

// elapsed is how long the run has taken, with those that it continues.
func (r *Runner) elapsed() time.Duration { return r.took + r.opts.Now().Sub(r.began) }

// ContinueCommand is what to type to go on with a run: its target, its agent and its
// limits are kept. Without a run it is what begins one.
func ContinueCommand(run string) string {
	if run == "" {
		return "ralph run"
	}
	return "ralph run --continue " + run
}
