package main

import (
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"ralph/budget"
	"ralph/event"
	"ralph/internal/agents"
	"ralph/internal/sandbox"
	"ralph/loop"
)

// setup describes a run for its header.
func setup(opts loop.Options, chosen agents.Preset, sandbox *sandbox.Confiner) event.Setup {
	s := event.Setup{
		Scope: opts.Graph.Scope.String(), Agent: chosen.Name, Model: opts.Models.Model, Jobs: opts.Workers.Jobs, MaxIters: opts.Limits.Iterations,
		Sandbox: sandbox.String(), Folder: opts.Place.Runs,
	}
	if opts.Graph.Continues != nil {
		s.Scope += ", continuing " + opts.Graph.Continues.ID
	}
	switch {
	case chosen.Channel == agents.NoModel:
		s.Model = "none needed"
	case s.Model == "":
		s.Model = string(opts.Models.Strategy)
	}
	b := opts.Limits.Budgets
	s.Limits = budget.Describe(opts.Limits.Iterations, b.Run, b.Task, b.Feature, b.Day)
	if opts.Verify.Skip {
		s.Verify = "off: the agent's word counts"
		return s
	}
	parts := slices.Clone(opts.Verify.Gates)
	if len(parts) == 0 {
		parts = append(parts, "gates of the tasks")
	}
	if opts.Verify.AgentVerdict && (opts.Agents.Verifier != "" || !chosen.ExitStatus) {
		parts = append(parts, "an agent with fresh eyes")
	}
	s.Verify = strings.Join(parts, "; ")
	return s
}

func jitter(d time.Duration) time.Duration {
	return d - d/5 + time.Duration(rand.Int64N(int64(2*d/5)+1))
}
