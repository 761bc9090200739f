package wiring

import (
	"context"
	"io"
	"slices"
	"time"

	"ralph/internal/agents"
	"ralph/internal/cli"
	"ralph/internal/doctor"
	"ralph/internal/human"
	"ralph/internal/project"
	"ralph/internal/sandbox"
	"ralph/verify"
)

// tryGates runs each gate once in the project's folder, confined as in a run. One that still runs after the limit is ended: it started.
func tryGates(ctx context.Context, a *cli.App, p project.Project, config project.Loaded, limit time.Duration) (results []verify.Result, err error) {
	c, err := ConfinerOf(a, sandbox.Options{Mode: config.Sandbox.Mode, Project: p}, config.Sandbox)
	if err != nil {
		return nil, err
	}
	env, _ := agents.GateEnviron(config.Verify.EnvAllow, a.Environ())
	x, err := c.ForWork(sandbox.Process{Env: env})
	if err != nil {
		return nil, err
	}
	defer func() { _ = x.Close() }() // what is left goes with the sandbox
	runner := verify.Gates{Dir: p.Root, Env: slices.Concat(env, x.Env), Confine: x.Spec, Timeout: limit, Redact: a.Redact}
	for _, command := range config.Verify.Commands {
		var res verify.Result
		cli.WaitingFor(a, "gate "+command, func() { res, err = runner.Run(ctx, command, io.Discard) })
		if err != nil {
			return results, err
		}
		results = append(results, res)
	}
	return results, nil
}

// CheckGates finds gates that cannot start, and those that fail before any work.
func CheckGates(ctx context.Context, a *cli.App, s *cli.Session, limit time.Duration) []doctor.Finding {
	if len(s.Config.Verify.Commands) == 0 || a.Outside || a.Shows { // a look from outside runs nothing
		return nil
	}
	results, err := tryGates(ctx, a, s.Project, s.Config, limit)
	if err != nil {
		return []doctor.Finding{doctor.New("gates", doctor.Warning, "they could not be run: "+err.Error(), "")}
	}
	var unstartable, failing []string
	for _, r := range results {
		switch {
		case r.Unstartable:
			unstartable = append(unstartable, r.Why())
		case !r.Passed && !r.Killed:
			failing = append(failing, r.Command+": "+r.Exit)
		}
	}
	switch {
	case len(unstartable) > 0:
		return []doctor.Finding{doctor.New("gates", doctor.Problem, human.Count(len(unstartable), "gate")+" cannot start: no run begins", gateRemedy, unstartable...)}
	case len(failing) > 0:
		what := human.Count(len(failing), "gate") + " fail before any work, so they prove nothing"
		if len(failing) == 1 {
			what = "1 gate fails before any work, so it proves nothing"
		}
		return []doctor.Finding{doctor.New("gates", doctor.Warning, what, "repair what is listed", failing...)}
	}
	return []doctor.Finding{doctor.New("gates", doctor.OK, human.Count(len(results), "gate")+" that can start", "")}
}

const gateRemedy = "install what it runs, or change [verify] commands in .ralph.toml; for slots: [parallel] setup"

// initLimit is how long init lets a gate run: one that cannot start says so at once.
const initLimit = 10 * time.Second

// NoteUnstartable warns of the gates of a new project that cannot start. What keeps them from being tried is for doctor to say.
func NoteUnstartable(ctx context.Context, a *cli.App, p project.Project) error {
	config, err := a.LoadConfig(p.Config())
	if err != nil || len(config.Verify.Commands) == 0 {
		return err
	}
	results, err := tryGates(ctx, a, p, config, initLimit)
	for _, r := range results {
		if r.Unstartable {
			a.Note("warning: %s; %s", r.Why(), gateRemedy)
		}
	}
	if err != nil && ctx.Err() == nil {
		a.Note("warning: the gates could not be run: %v", err)
	}
	return ctx.Err()
}
