package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"ralph/dag"
)

// sweepWitnesses removes the hidden files of tasks that ended otherwise than by an attempt, which removes them itself.
func sweepWitnesses(ctx context.Context, a *app, s *session) {
	dir := trustOf(a, s.project).File("witness")
	entries, _ := os.ReadDir(dir) // most projects have none
	if len(entries) == 0 {
		return
	}
	err := s.store.View(ctx, func(g *dag.Graph) error {
		var failed []error
		for _, e := range entries {
			t, err := g.Task(e.Name())
			switch over := t.Status == dag.Done || t.Status == dag.Cancelled; {
			case errors.Is(err, dag.ErrNotFound) || err == nil && over:
				failed = append(failed, os.RemoveAll(filepath.Join(dir, e.Name())))
			default:
				failed = append(failed, err)
			}
		}
		return errors.Join(failed...)
	})
	if err != nil {
		a.note("warning: witnesses of tasks that are over are still there: %v", err)
	}
}
