package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	"ralph/dag"
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
	typed := ""
	if len(t.args) == 1 && strings.HasPrefix(t.arg(), "r-") {
		typed = t.arg()
	}
	var scope *dag.Scope
	switch {
	case typed != "" && (t.feature != nil || t.task != nil):
		return run, usagef("%s has its own target: it does not go with --feature or --task", typed)
	case typed == "" && t.given():
		found, err := findScope(ctx, a, s, t)
		if err != nil {
			return run, err
		}
		scope = &found
	}
	err = s.store.View(ctx, func(g *dag.Graph) (err error) {
		run, err = g.RunToContinue(typed, scope, life)
		return err
	})
	switch {
	case errors.Is(err, dag.ErrRefused) && !errors.As(err, new(*dag.FinishedError)):
		return run, err
	case errors.Is(err, dag.ErrRefused):
		return run, hint(err, "let its failed tasks run again first: ralph task reset --failed; or start a new run: ralph run")
	case errors.As(err, new(*dag.FinishedError)):
		return run, hint(err, "start a new one with: ralph run")
	case typed != "":
		return run, hint(err, "see the IDs with: ralph runs list")
	}
	return run, hint(err, "start a new one with: ralph run; see the earlier ones with: ralph runs list")
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
