package loop

import (
	"context"
	"slices"

	"ralph/dag"
	"ralph/internal/event"
	"ralph/loop/attempt"
	"ralph/loop/policy"
	"ralph/loop/recovery"
)

func (r *Runner) recover(ctx context.Context) (recovery.Recovery, error) {
	if r.opts.Recovery.Life == nil {
		return recovery.Recovery{}, nil
	}
	rec := r.recoverer()
	rec.LandsOnly = r.opts.Graph.Finished
	if r.opts.Graph.Process.Remote != "" && !r.begun {
		rec.Adopts = r.run.Owner
	}
	return rec.Recover(ctx)
}

func (r *Runner) recoverer() recovery.Recoverer {
	o := r.opts
	return recovery.Recoverer{
		Store: o.Graph.Store, Life: o.Recovery.Life, Sweep: o.Recovery.Sweep, Rules: o.Recovery.Rules, Now: o.Host.Now,
		Dir: o.Place.Dir, Parallel: o.Recovery.Parallel, Complete: Completer(o), Calls: o.Recovery.Calls, Expire: o.Inbox.Expire, Trust: o.Inbox.Trust,
	}
}

// Completer completes a task whose work has landed, in the place of the attempt that died then.
func Completer(o *Options) func(*dag.Graph, dag.Task, dag.Merge, dag.Attempt) error {
	return func(g *dag.Graph, t dag.Task, m dag.Merge, a dag.Attempt) error {
		claim, finished := t.Claim(), a
		claim.Attempt = a.ID
		if t.Unverified != "" {
			finished, _ = g.History.Attempt(t.Unverified) // the first error of the database is that of the transaction
		}
		said, _, _ := readFinished(o.Inbox.Trust, o.Place.Runs, finished) // without it the work has landed all the same
		res := attempt.Recorded(a)
		res.Judged.Entry = m.N
		res.Decision, res.Said, res.Told = policy.Decision{Action: policy.Complete, Outcome: event.AttemptDone}, said.Set, said.Told
		var j attempt.Job
		j.Run.Iteration, j.Agent.Choice.Model = a.Iteration, a.Model
		_, err := settler{shared{opts: o, run: &dag.Run{ID: a.Run}}}.record(g, claim, j, res)
		return err
	}
}

// reclaim takes back the tasks of runs that have died meanwhile, and reports them.
func (r *Runner) reclaim(ctx context.Context) (int, error) {
	rec, err := r.recover(ctx)
	if err == nil && len(rec.Tasks) > 0 {
		r.emitRecovery(rec)
	}
	return len(rec.Tasks), err
}

// emitRecovery emits an event for each reclaimed task, and the summary.
func (r *Runner) emitRecovery(rec recovery.Recovery) {
	for _, t := range rec.Tasks {
		r.bus.emit(event.Event{Type: event.Recovered, Task: t.Task, Title: t.Title, Attempt: t.Attempt, Outcome: string(t.Action), Reason: t.Reason})
		for _, q := range t.Asked {
			e := questionEvent(event.Asked, q, q.Text)
			e.Title = t.Title
			r.bus.emit(e)
		}
	}
	sum := rec.Summary()
	r.bus.emit(event.Event{Type: event.RecoveryDone, Recovery: &sum, Reason: sum.String()})
}

// recentRuns are the runs that have not ended, and the last few that have.
func recentRuns(ctx context.Context, store *dag.Store) (runs []dag.Run, err error) {
	const few = 20
	err = store.View(context.WithoutCancel(ctx), func(g *dag.Graph) error {
		open, _ := g.History.OpenRuns()
		recent, err := g.History.Runs(few)
		runs = slices.Concat(open, recent)
		return err
	})
	return runs, err
}

func (r *Runner) own(ctx context.Context) []string {
	return OwnFiles(ctx, r.opts.Graph.Store, r.opts.Place.OwnFiles)
}

// OwnFiles lists what ralph itself writes in the project, this process and recent runs:
// that is no evidence of anybody's work.
func OwnFiles(ctx context.Context, store *dag.Store, own func([]dag.Run) []string) []string {
	names := []string{".ralph"}
	if own == nil {
		return names
	}
	runs, _ := recentRuns(ctx, store) // an error comes up wherever else the database is used
	return append(names, own(runs)...)
}
