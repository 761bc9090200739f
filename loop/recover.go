package loop

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ralph/dag"
	"ralph/journal"
)

// recover releases the claims of runs that are dead, after killing what is left
// of them: fencing protects the database, not the files. Two processes may do so
// at once; each claim is released once.
func (r *Runner) recover(ctx context.Context) ([]Event, error) {
	if r.opts.Life == nil {
		return nil, nil
	}
	var stale []dag.Task
	var dead []dag.Run
	err := r.opts.Store.View(ctx, func(g *dag.Graph) (err error) {
		if stale, err = g.Stale(r.opts.Life); err != nil {
			return err
		}
		open, err := g.OpenRuns()
		for _, run := range open {
			if r.opts.Life(run.Process) == dag.Dead {
				dead = append(dead, run)
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := r.sweep(dead, stale); err != nil {
		return nil, err
	}
	var events []Event
	for _, t := range stale {
		reason := "its run died; released"
		err := r.opts.Store.Update(ctx, func(g *dag.Graph) error { return Reclaim(g, t, reason, r.opts.Now()) })
		if errors.Is(err, dag.ErrLost) {
			continue // another process was faster
		}
		if err != nil {
			return events, err
		}
		events = append(events, Event{Type: Recovered, Task: t.ID, Title: t.Title, Reason: reason})
	}
	for _, run := range dead {
		err := r.opts.Store.Update(ctx, func(g *dag.Graph) error { return g.EndRun(run.ID, "died", "its process is gone", run.Iterations) })
		if err != nil && !errors.Is(err, dag.ErrNotFound) {
			return events, err
		}
	}
	return events, nil
}

// Reclaim releases the task of a dead run and remembers that an iteration ended so.
func Reclaim(g *dag.Graph, t dag.Task, reason string, now time.Time) error {
	attempts, err := g.Attempts(t)
	if err != nil {
		return err
	}
	if err := g.Reclaim(t, reason); err != nil || len(attempts) == 0 {
		return err
	}
	last := attempts[len(attempts)-1]
	return journal.Add(g.Tx(), journal.Entry{
		At: now, Run: last.Run, Attempt: last.ID, Iteration: last.Iteration, Task: t.ID, Feature: t.Feature, Title: t.Title,
		Outcome: "interrupted", Reason: reason, Agent: last.Agent, Model: last.Model, Duration: now.Sub(last.StartedAt),
	})
}

func (r *Runner) sweep(dead []dag.Run, stale []dag.Task) error {
	if r.opts.Sweep == nil {
		return nil
	}
	owners := map[string]bool{}
	for _, run := range dead {
		owners[run.Owner] = true
	}
	for _, t := range stale {
		owners[t.Owner] = true
	}
	for owner := range owners {
		if _, err := r.opts.Sweep(owner); err != nil {
			return fmt.Errorf("end what the run of %s left running: %w", owner, err)
		}
	}
	return nil
}
