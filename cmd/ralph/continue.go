package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"ralph/dag"
	"ralph/event"
)

// continueRun finds the run that --continue means, and restores the flags that it had
// and that were not typed again. Nil means that none is continued.
func continueRun(ctx context.Context, a *app, s *session, o runOptions) (runOptions, *dag.Run, error) {
	if !o.continues {
		return o, nil, nil
	}
	run, err := unfinished(ctx, a, s, o.target)
	if err != nil {
		return o, nil, fmt.Errorf("continue: %w", err)
	}
	var stored map[string]string
	if err := json.Unmarshal([]byte(run.Settings), &stored); err != nil {
		return o, nil, fmt.Errorf("continue %s: its settings: %w", run.ID, err)
	}
	if o, err = o.restore(stored); err != nil {
		return o, nil, fmt.Errorf("continue %s: %w", run.ID, err)
	}
	return o, &run, nil
}

// unfinished is the run that was named, the last one of the target, or without a
// target the last one that left something to do.
func unfinished(ctx context.Context, a *app, s *session, t runTarget) (run dag.Run, err error) {
	typed := t.arg()
	named := len(t.args) == 1 && strings.HasPrefix(typed, "r-")
	find := func(g *dag.Graph) (dag.Run, error) { return g.LastUnfinished() }
	switch {
	case named && (t.feature != nil || t.task != nil):
		return run, usagef("%s has its own target: it does not go with --feature or --task", typed)
	case named:
		find = func(g *dag.Graph) (dag.Run, error) { return g.ResolveRun(typed) }
	case t.given():
		scope, err := a.scope(ctx, s, t)
		if err != nil {
			return run, err
		}
		find = func(g *dag.Graph) (dag.Run, error) { return g.LastRun(scope) }
	}
	left := false
	err = s.store.View(ctx, func(g *dag.Graph) (err error) {
		if run, err = find(g); err == nil {
			left, err = g.LeftToDo(run.Scope)
		}
		return err
	})
	over := slices.Contains([]event.RunOutcome{event.OutcomeComplete, event.OutcomeNoPlan}, run.Outcome) && !left
	switch {
	case err != nil && named:
		return run, hint(err, "see the IDs with: ralph runs list")
	case err != nil:
		return run, hint(err, "begin a new one with: ralph run; see the earlier ones with: ralph runs list")
	case run.EndedAt.IsZero() && life(run.Process) == dag.Alive:
		return run, fmt.Errorf("%w: %s is still running", dag.ErrRefused, run.ID)
	case over && named:
		return run, hint(fmt.Errorf("%w: %s is finished: %s", dag.ErrRefused, run.ID, run.Outcome),
			"let its failed tasks run again first: ralph task reset --failed; or begin a new run: ralph run")
	case over:
		return run, hint(fmt.Errorf("an unfinished run: %w: the last one, %s, is finished: %s", dag.ErrNotFound, run.ID, run.Outcome),
			"begin a new one with: ralph run")
	}
	return run, nil
}

// storedSettings are the flags that a run was given, for the run that continues it, and
// what it writes in the project, for every other run.
func storedSettings(given map[string]string, output []string) (string, error) {
	stored := map[string]string{}
	maps.Copy(stored, given)
	if len(output) > 0 {
		stored[outputKey] = strings.Join(output, "\x00")
	}
	b, err := json.Marshal(stored)
	return string(b), err
}
