package wiring

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"ralph/dag"
	"ralph/internal/agents"
	"ralph/internal/cli"
	"ralph/internal/project"
	"ralph/loop/attempt"
)

// FindVerifiers refuses agents of [verify] that cannot be started, before any agent is paid.
func FindVerifiers(o *agents.Opener, verify project.VerifyConfig) error {
	named := [][2]string{{"[verify] agent", verify.Agent}}
	if verify.Witness != attempt.ByVerifier {
		named = append(named, [2]string{"[verify] witness", verify.Witness})
	}
	for _, r := range verify.Reviewers {
		named = append(named, [2]string{"[[verify.reviewer]] agent", r.Agent})
	}
	for _, n := range named {
		if n[1] == "" {
			continue
		}
		if _, err := o.Find(n[1]); err != nil {
			return fmt.Errorf("%s: %w", n[0], err)
		}
	}
	return nil
}

// SweepWitnesses removes the hidden files of tasks that ended otherwise than by an attempt, which removes them itself.
func SweepWitnesses(ctx context.Context, a *cli.App, s *cli.Session) {
	dir := cli.TrustOf(a, s.Project).File("witness")
	entries, _ := os.ReadDir(dir) // most projects have none
	if len(entries) == 0 {
		return
	}
	err := s.Store.View(ctx, func(g *dag.Graph) error {
		var failed []error
		for _, e := range entries {
			t, err := g.Tasks.Get(e.Name())
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
		a.Note("warning: witnesses of tasks that are over are still there: %v", err)
	}
}
