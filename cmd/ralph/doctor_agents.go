package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"

	"ralph/acp"
	"ralph/internal/agents"
	"ralph/internal/human"
	"ralph/internal/project"
	"ralph/internal/term"
	"ralph/loop"
)

// examineAgents asks every agent that the configuration names who it is.
func (a *app) examineAgents(ctx context.Context, s *session, patience time.Duration) []finding {
	defer a.launcher.Close()
	chosen, err := a.chooseAgent(s.config, "")
	findings := []finding{a.examineAgent(ctx, s, "agent", chosen, err, patience)}
	seen := []string{chosen.preset.Name}
	others := map[string][]string{"agent.fallback": s.config.Agent.Fallback, "verify.agent": nil}
	if s.config.Verify.Enabled && s.config.Verify.Agent != "" {
		others["verify.agent"] = []string{s.config.Verify.Agent}
	}
	for _, key := range []string{"agent.fallback", "verify.agent"} {
		for _, name := range others[key] {
			ag, err := a.findAgent(s.config, name)
			if err == nil && slices.Contains(seen, ag.preset.Name) {
				continue
			}
			seen = append(seen, ag.preset.Name)
			findings = append(findings, a.examineAgent(ctx, s, key, ag, err, patience))
		}
	}
	return findings
}

// examineAgent judges one. That there is none is no fault of the project: a person may
// install it later, or name another. One that is there and does not answer is.
func (a *app) examineAgent(ctx context.Context, s *session, check string, ag agent, err error, patience time.Duration) finding {
	if err != nil {
		level := levelProblem
		if errors.Is(err, errUnavailable) {
			level = levelWarning
		}
		return found(check, level, strings.TrimPrefix(err.Error(), errUnavailable.Error()+": "), hintFor(err))
	}
	name := ag.preset.Name
	fetched := ag.preset.Package != "" && len(ag.preset.Self) == 0 && !agents.IsInstalled(ag.preset, exec.LookPath)
	if fetched { // nothing is installed by looking
		ag.argv = slices.Clone(ag.argv)
		ag.argv[slices.Index(ag.argv, "--yes")] = "--no"
	}
	var says string
	var took time.Duration
	a.waitingFor(fmt.Sprintf("%s to say who it is, for at most %s", name, human.Span(patience)), func() {
		says, took, err = a.askAgent(ctx, s, ag, patience)
	})
	switch {
	case err == nil:
		return found(check, levelOK, fmt.Sprintf("%s answers as %s, after %.1f s", name, says, took.Seconds()), "")
	case fetched:
		return found(check, levelWarning, name+" is not installed; npx fetches it when a run needs it", "npm install -g "+ag.preset.Package)
	}
	mend := "try it with: ralph agents test " + name
	var e *acp.Error
	if errors.As(err, &e) {
		mend = trialHint(e, ag.preset)
	}
	return found(check, levelProblem, name+": "+term.Line(err.Error()), mend)
}

// askAgent starts an agent where and as a run would, asks it who it is, and ends it with all
// that it has started. No session is opened and no model is asked.
func (a *app) askAgent(parent context.Context, s *session, ag agent, patience time.Duration) (says string, took time.Duration, err error) {
	t, err := a.openTrial(*s, ag, project.Duration(patience))
	if err != nil {
		return "", 0, err
	}
	defer t.close()
	ctx, cancel := context.WithTimeout(parent, patience)
	defer cancel()
	t.opener.stepped = func(op string, d time.Duration) {
		took += d
		if op == "initialize" {
			cancel() // that was all we wanted to know
		}
	}
	opened, err := t.opener.Open(ctx, loop.Opening{Folder: t.logs, Started: t.started})
	if err == nil { // cannot be: nobody asked for a session
		return "", took, opened.Close()
	}
	var e *acp.Error
	if !errors.As(err, &e) || e.Kind != acp.Cancelled {
		return "", took, err
	}
	switch {
	case parent.Err() != nil:
		return "", took, parent.Err()
	case e.Op == "initialize":
		return "", took, &acp.Error{Kind: acp.HandshakeTimeout, Op: e.Op, Text: "after " + patience.String()}
	}
	if left := strings.TrimSpace(strings.Replace(err.Error(), e.Error(), "", 1)); left != "" {
		return "", took, fmt.Errorf("it could not be ended: %s", left)
	}
	return t.says(), took, nil
}
