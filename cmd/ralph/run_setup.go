package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"ralph/internal/agents"
	"ralph/loop"
)

// setup is what the header tells.
func setup(opts loop.Options, chosen agent, sandbox *confiner) loop.Setup {
	s := loop.Setup{
		Scope: "everything", Agent: chosen.preset.Name, Model: opts.Model, Jobs: opts.Jobs, MaxIters: opts.Limit,
		Sandbox: sandbox.String(), Folder: opts.Folder,
	}
	switch {
	case opts.Scope.Feature != "":
		s.Scope = "feature " + opts.Scope.Feature
	case opts.Scope.Task != "":
		s.Scope = "task " + opts.Scope.Task
	}
	if opts.Continues != nil {
		s.Scope += ", continuing " + opts.Continues.ID
	}
	switch {
	case chosen.preset.Channel == agents.NoModel:
		s.Model = "none needed"
	case s.Model == "":
		s.Model = string(opts.Strategy)
	}
	s.Limits = describeLimits(opts)
	switch {
	case opts.Skip:
		s.Verify = "off: the agent's word counts"
	default:
		parts := append([]string(nil), opts.Gates...)
		if len(parts) == 0 {
			parts = append(parts, "gates of the tasks")
		}
		if opts.Verdicts && (opts.OwnJudge || !chosen.preset.ExitStatus) {
			parts = append(parts, "an agent with fresh eyes")
		}
		s.Verify = strings.Join(parts, "; ")
	}
	return s
}

func jitter(d time.Duration) time.Duration {
	return d - d/5 + time.Duration(rand.Int64N(int64(2*d/5)+1))
}

// checkDatabase notices when an agent deleted or replaced the database, which a
// cleaning command may do, and saves what is still known.
func (a *app) checkDatabase(c *cli.Context, s *session) func() error {
	return func() error {
		if s.db.Intact() {
			return nil
		}
		saved := filepath.Join(s.project.Root, fmt.Sprintf("ralph-rescued-%d.db", a.now().Unix()))
		if err := s.db.Rescue(context.WithoutCancel(c.Context), saved); err != nil {
			return fmt.Errorf("%s was deleted or replaced while the run worked, and could not be saved: %w", s.project.DB(), err)
		}
		return fmt.Errorf("%s was deleted or replaced while the run worked; what was known is saved in %s: move it back", s.project.DB(), saved)
	}
}
