package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"ralph/acp"
	"ralph/internal/agents"
	"ralph/internal/human"
	"ralph/internal/term"
)

// examineAgents asks every agent that the configuration names who it is.
func examineAgents(ctx context.Context, a *app, s *session, timeout time.Duration) []finding {
	defer a.launcher.Close()
	finder := a.finder(s.config)
	chosen, err := finder.Choose("")
	findings := []finding{examineAgent(ctx, a, s, "agent", chosen, err, timeout)}
	seen := []string{chosen.Name}
	examine := func(key string, names ...string) {
		for _, name := range names {
			ag, err := finder.Find(name)
			if err == nil && slices.Contains(seen, ag.Name) {
				continue
			}
			seen = append(seen, ag.Name)
			findings = append(findings, examineAgent(ctx, a, s, key, ag, err, timeout))
		}
	}
	examine("agent.fallback", s.config.Agent.Fallback...)
	if s.config.Verify.Enabled && s.config.Verify.Agent != "" {
		examine("verify.agent", s.config.Verify.Agent)
	}
	return findings
}

// examineAgent looks at one. A missing agent is only a warning: a person may install it
// later, or name another. One that is installed and does not answer is a problem.
func examineAgent(ctx context.Context, a *app, s *session, check string, ag agents.Agent, err error, timeout time.Duration) finding {
	if err != nil {
		level := levelProblem
		if errors.Is(err, agents.ErrUnavailable) {
			level = levelWarning
		}
		return found(check, level, strings.TrimPrefix(err.Error(), agents.ErrUnavailable.Error()+": "), hintFor(err))
	}
	var says string
	var took time.Duration
	a.waitingFor(fmt.Sprintf("%s to say who it is, for at most %s", ag.Name, human.Span(timeout)), func() {
		var t *agents.Trial
		if t, err = newTrial(a, s, ag.WithoutFetching(), timeout); err == nil {
			defer t.Close()
			says, took, err = t.Ask(ctx, timeout)
		}
	})
	switch {
	case err == nil:
		return found(check, levelOK, fmt.Sprintf("%s answers as %s, after %.1f s", ag.Name, says, took.Seconds()), "")
	case ag.Fetched():
		return found(check, levelWarning, ag.Name+" is not installed; npx fetches it when a run needs it", "npm install -g "+ag.Package)
	}
	fix := "try it with: ralph agents test " + ag.Name
	var e *acp.Error
	if errors.As(err, &e) {
		fix = agents.Advice(e, ag.Preset)
	}
	return found(check, levelProblem, ag.Name+": "+term.Line(err.Error()), fix)
}
