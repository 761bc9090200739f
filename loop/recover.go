package loop

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"ralph/dag"
	"ralph/internal/failpoint"
	"ralph/journal"
)

// Recoverer takes back what dead runs left. Store, Life and Now are needed.
type Recoverer struct {
	Store *dag.Store
	Life  func(dag.Process) dag.Life
	Sweep func(owner string) (killed int, err error) // kills what a dead run left running; nil does nothing
	Count func(owner string) (int, error)            // counts them; nil counts none
	Rules RecoveryRules
	Now   func() time.Time

	Dir     string                   // the project
	Objects string                   // where trees of it are kept
	Own     func([]dag.Run) []string // files below Dir that ralph itself writes: this process, and these runs; nil means none

	own []string // what that came to
}

// recover takes back what dead runs left and tells of it.
func (r *Runner) recover(ctx context.Context) (Recovery, error) {
	if r.opts.Life == nil {
		return Recovery{}, nil
	}
	return r.recoverer().Recover(ctx)
}

func (r *Runner) recoverer() Recoverer {
	return Recoverer{
		Store: r.opts.Store, Life: r.opts.Life, Sweep: r.opts.Sweep, Rules: r.opts.Recovery, Now: r.opts.Now, Dir: r.opts.Dir, Objects: r.opts.Objects,
		Own: r.opts.Own,
	}
}

// tellRecovery emits what was recovered: a line a task, and the summary.
func (r *Runner) tellRecovery(rec Recovery) {
	for _, t := range rec.Tasks {
		r.emit(Event{Type: Recovered, Task: t.Task, Title: t.Title, Attempt: t.Attempt, Outcome: string(t.Action), Reason: t.Reason})
	}
	sum := rec.Summary()
	r.emit(Event{Type: RecoveryDone, Recovery: &sum, Reason: sum.String()})
}

// found is what a look at the graph shows of dead runs.
type found struct {
	runs  []dag.Run
	tasks []dag.Task
	owner map[string]dag.Run
	gone  map[string]string // attempts whose tasks were taken away, by people, and their owners
}

// Recover kills what is left of dead runs, then takes back their tasks: fencing
// protects the database, not the files. Two processes may do so at once, and any of
// them may die on the way: each task is taken back once.
func (r Recoverer) Recover(ctx context.Context) (Recovery, error) {
	f, err := r.find(ctx)
	if err != nil {
		return Recovery{}, err
	}
	r.own = ownFiles(ctx, r.Store, r.Own) // now: in a transaction no other one can be begun
	var rec Recovery
	if rec.Orphans, err = f.each(r.Sweep); err != nil {
		return rec, err
	}
	failpoint.Hit("K14")
	for _, t := range f.tasks {
		var took Reclaimed
		err := r.Store.Update(ctx, func(g *dag.Graph) (err error) {
			took, err = r.take(ctx, g, t, f.owner[t.Owner])
			failpoint.Hit("K14")
			return err
		})
		if errors.Is(err, dag.ErrLost) {
			continue // another process was faster
		}
		if err != nil {
			return rec, err
		}
		failpoint.Hit("K14")
		rec.Tasks = append(rec.Tasks, took)
	}
	return rec, r.bury(ctx, f, &rec)
}

// Preview says what Recover would do, and does nothing. It does not look at
// uncommitted work.
func (r Recoverer) Preview(ctx context.Context) (Recovery, error) {
	f, err := r.find(ctx)
	if err != nil {
		return Recovery{}, err
	}
	var rec Recovery
	if rec.Orphans, err = f.each(r.Count); err != nil {
		return rec, err
	}
	for _, run := range f.runs {
		rec.Runs = append(rec.Runs, run.ID)
	}
	err = r.Store.View(ctx, func(g *dag.Graph) error {
		for _, t := range f.tasks {
			last, err := lastAttempt(g, t)
			if err != nil {
				return err
			}
			took, _ := r.judge(t, last, f.owner[t.Owner])
			rec.Tasks = append(rec.Tasks, took)
		}
		return nil
	})
	return rec, err
}

func (r Recoverer) find(ctx context.Context) (found, error) {
	f := found{owner: map[string]dag.Run{}}
	err := r.Store.View(ctx, func(g *dag.Graph) (err error) {
		if f.tasks, err = g.Stale(r.Life); err != nil {
			return err
		}
		for _, t := range f.tasks {
			if f.owner[t.Owner], err = g.Owner(t.Owner); err != nil {
				return err
			}
		}
		if err := r.leaving(g, &f); err != nil {
			return err
		}
		open, err := g.OpenRuns()
		for _, run := range open {
			if r.dead(run) {
				f.runs = append(f.runs, run)
			}
		}
		return err
	})
	return f, err
}

// silence is after how long a run is not waited for that nobody can look at.
const silence = 2 * time.Minute

// leaving finds tasks that wait for the agent of a dead run to go.
func (r Recoverer) leaving(g *dag.Graph, f *found) error {
	leaving, err := g.Leaving()
	if err != nil {
		return err
	}
	f.gone = map[string]string{}
	for attempt, owner := range leaving {
		run, err := g.Owner(owner)
		if err != nil {
			return err
		}
		switch known := r.Life(run.Process); {
		case !run.EndedAt.IsZero(), known == dag.Dead, known == dag.Unknown && r.Now().Sub(run.Heartbeat) > silence:
			f.gone[attempt] = owner
		}
	}
	return nil
}

// dead says that a run will not come back. Where nobody can look, only a very long
// silence says so: its claims are given up sooner, by their leases.
func (r Recoverer) dead(run dag.Run) bool {
	switch r.Life(run.Process) {
	case dag.Dead:
		return true
	case dag.Alive:
		return false
	default:
		return r.Now().Sub(run.Heartbeat) > max(r.Rules.MaxAge, day)
	}
}

const day = 24 * time.Hour

// each calls do for every owner that is dead, and adds up what it found.
func (f found) each(do func(owner string) (int, error)) (int, error) {
	if do == nil {
		return 0, nil
	}
	owners := map[string]bool{}
	for _, run := range f.runs {
		owners[run.Owner] = true
	}
	for _, t := range f.tasks {
		owners[t.Owner] = true
	}
	for _, owner := range f.gone {
		owners[owner] = true
	}
	total := 0
	for _, owner := range slices.Sorted(maps.Keys(owners)) {
		n, err := do(owner)
		total += n
		if err != nil {
			return total, fmt.Errorf("end what the run of %s left running: %w", owner, err)
		}
	}
	return total, nil
}

// judge says what becomes of a task, without doing it.
func (r Recoverer) judge(t dag.Task, last dag.Attempt, run dag.Run) (Reclaimed, dag.Taken) {
	seen := run.Heartbeat
	for _, at := range []time.Time{last.StartedAt, last.Heartbeat} {
		if at.After(seen) {
			seen = at
		}
	}
	action, taken := r.Rules.judge(t, last, seen, r.Now())
	return Reclaimed{
		Task: t.ID, Title: t.Title, Run: run.ID, Attempt: last.ID, Phase: last.Phase, Action: action, Reason: taken.Reason,
	}, taken
}

func lastAttempt(g *dag.Graph, t dag.Task) (dag.Attempt, error) {
	attempts, err := g.Attempts(t)
	if err != nil || len(attempts) == 0 {
		return dag.Attempt{}, err
	}
	return attempts[len(attempts)-1], nil
}

// take takes one task back, in the caller's transaction.
func (r Recoverer) take(ctx context.Context, g *dag.Graph, t dag.Task, run dag.Run) (Reclaimed, error) {
	if err := g.Holds(dag.Claim{Task: t, Owner: t.Owner, Generation: t.Generation}); err != nil {
		return Reclaimed{}, err
	}
	last, err := lastAttempt(g, t)
	if err != nil {
		return Reclaimed{}, err
	}
	took, taken := r.judge(t, last, run)
	// Inside the transaction: nobody can claim the task and begin to work meanwhile.
	if err := r.clean(ctx, g, last, &took, &taken); err != nil {
		return took, err
	}
	return took, Reclaim(g, t, taken, r.Now())
}

// Reclaim takes back the task of a dead run and remembers that an iteration ended so.
func Reclaim(g *dag.Graph, t dag.Task, how dag.Taken, now time.Time) error {
	last, err := lastAttempt(g, t)
	if err != nil {
		return err
	}
	if err := g.Reclaim(t, how); err != nil || last.ID == "" {
		return err
	}
	return journal.Add(g.Tx(), journal.Entry{
		At: now, Run: last.Run, Attempt: last.ID, Iteration: last.Iteration, Task: t.ID, Feature: t.Feature, Title: t.Title,
		Outcome: "interrupted", Reason: how.Reason, Agent: last.Agent, Model: last.Model, ModelEffective: last.ModelEffective,
		Duration: now.Sub(last.StartedAt), TokensIn: last.TokensIn, TokensCached: last.TokensCached, TokensOut: last.TokensOut,
		CostUSD: last.CostUSD, CostEstimated: last.Estimated, CostUnknown: last.Unknown, Files: last.Files,
	})
}

// bury ends the records of the dead runs and journals the summary, if there is
// anything to tell.
func (r Recoverer) bury(ctx context.Context, f found, rec *Recovery) error {
	if len(f.runs)+len(f.gone) == 0 && rec.Nothing() {
		return nil
	}
	return r.Store.Update(ctx, func(g *dag.Graph) error {
		for attempt := range f.gone {
			if err := g.Left(attempt); err != nil {
				return err
			}
		}
		for _, run := range f.runs {
			ended, err := g.Died(run.ID, "its process is gone")
			if err != nil {
				return err
			}
			if ended {
				rec.Runs = append(rec.Runs, run.ID)
			}
		}
		if rec.Nothing() {
			return nil
		}
		of := ""
		switch {
		case len(rec.Runs) > 0:
			of = rec.Runs[0]
		case len(rec.Tasks) > 0:
			of = rec.Tasks[0].Run
		}
		return journal.Add(g.Tx(), journal.Entry{At: r.Now(), Run: of, Title: "recovery", Outcome: "interrupted", Reason: rec.Summary().String()})
	})
}
