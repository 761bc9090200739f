package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"ralph/dag"
	"ralph/internal/agents"
	"ralph/internal/plain"
	"ralph/internal/project"
	"ralph/internal/term"
	"ralph/loop/attempt"
)

// findVerifiers refuses agents of [verify] that cannot be started, before any agent is paid.
func findVerifiers(o *agents.Opener, verify project.VerifyConfig) error {
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

// witnessText is the check by which work is held, and what it printed; "" for other work, and for agents in a sandbox.
func witnessText(a *app, s *session, h held) string {
	file := filepath.Join(trustOf(a, s.project).File("witness"), h.Task, "witness.log")
	text, err := os.ReadFile(file)
	if err != nil || !strings.Contains(h.why(), file) {
		return ""
	}
	return "\n" + term.Block(plain.Head(string(text), maxDiff)) + "\n"
}

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
		a.note("warning: witnesses of tasks that are over are still there: %v", err)
	}
}
