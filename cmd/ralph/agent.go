package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"ralph/acp"
	"ralph/dag"
	"ralph/internal/agents"
	"ralph/internal/human"
	"ralph/internal/project"
	"ralph/internal/provenance"
	"ralph/internal/sandbox"
	"ralph/internal/seq"
	"ralph/internal/shellagent"
	"ralph/loop/attempt"
)

// finder finds the agents that a configuration knows.
func (a *app) finder(config project.Loaded) agents.Finder {
	return agents.Finder{Config: config, Self: self(), Environ: a.environ(), Redact: a.redact, Serves: serves(a)}
}

// self is this very program, for the built-in agent. The name it was called by
// comes first: a link may be what makes it ralph.
func self() string {
	if path, err := exec.LookPath(os.Args[0]); err == nil {
		if abs, err := filepath.Abs(path); err == nil {
			return abs
		}
	}
	path, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return path
}

// openerOf is one that has no agent and no sandbox yet.
func openerOf(a *app, s *session) (*agents.Opener, error) {
	if err := confirmed(a, s.project); err != nil {
		return nil, err
	}
	o := &agents.Opener{Dir: s.project.Root, Settings: agents.Settings{
		Finder: a.finder(s.config), TurnTimeout: s.config.Run.TurnTimeout.Std(),
		Client: acp.Client{Version: a.version().Version, IdleTimeout: s.config.Run.IdleTimeout.Std(), Now: a.now, Log: a.log},
	}}
	var err error
	o.Servers, err = o.Finder.Servers()
	return o, err
}

// errUnconfined is why an agent gets no credential, also none that was given when its task ran in a sandbox.
var errUnconfined = errors.New("credentials are only given to agents in a sandbox, and there is none: every process of the user could read them")

// noCredentials is why agents get none, or nil.
func noCredentials(c *sandbox.Confiner) error {
	if c.Work.Level == sandbox.None {
		return errUnconfined
	}
	if open := c.Exposed(); len(open) > 0 {
		return fmt.Errorf("credentials are only given to agents that cannot read where they are stored, and these may write a folder that contains %s", open[0])
	}
	return nil
}

// openAttempt opens the sessions of a run's attempts.
func openAttempt(a *app, o *agents.Opener, values provenance.Values) func(context.Context, attempt.Opening) (attempt.Session, error) {
	return func(ctx context.Context, op attempt.Opening) (attempt.Session, error) {
		spec := op.SessionSpec
		for _, c := range op.Credentials {
			value, err := "", noCredentials(o.Sandbox)
			if err == nil {
				value, err = values.Get(c.ID)
			}
			if err != nil {
				op.Observe(acp.Warned{Text: fmt.Sprintf("the agent does without the credential %s: %v", c.Variable(), err)})
				continue
			}
			a.redact.Add(value) // before anybody can print it
			spec.Env = append(slices.Clip(spec.Env), c.Variable()+"="+value)
		}
		s, err := o.Open(ctx, spec)
		if err != nil {
			return nil, err // not a nil session in an interface
		}
		return s, nil
	}
}

// confinerOf confines the processes of a project until the command ends.
func confinerOf(a *app, opts sandbox.Options, config project.SandboxConfig) (*sandbox.Confiner, error) {
	opts.Write, opts.DenyRead, opts.Network = config.Write, config.DenyRead, config.Network
	opts.DenyRead = slices.Clone(opts.DenyRead)
	if opts.Tokens == nil {
		opts.Tokens = func() []string { return tokenFiles(a) }
	}
	for _, dir := range []string{a.credentials(), trusts(a), serverFolder(a)} {
		if opts.Mode != "off" && filepath.IsAbs(dir) && os.MkdirAll(dir, 0o700) == nil { // what is not there yet cannot be hidden
			opts.DenyRead = append(opts.DenyRead, dir)
		}
	}
	opts.Trust = trustOf(a, opts.Project)
	opts.Environ, opts.Most, opts.UserConfig, opts.KeepDead = a.environ(), a.confinable, a.userConfig(), a.looks
	c, err := sandbox.New(opts)
	switch {
	case errors.Is(err, sandbox.ErrRequired):
		return nil, hint(err, "ralph doctor lists what is missing; "+sandbox.Grants+"; or run without: --sandbox auto")
	case errors.Is(err, sandbox.ErrExposed):
		return nil, hint(err, "move the token into %s, where no agent can read it, and start ralph serve with --token-file there", serverFolder(a))
	case errors.Is(err, provenance.ErrFindings):
		return nil, hint(fmt.Errorf("%w: %w", dag.ErrRefused, err), "look at git's hooks and configuration; then type: ralph config trust")
	case err != nil:
		return nil, err
	}
	a.atEnd = append(a.atEnd, c.Close)
	return c, nil
}

// notePlanted warns of what agents of earlier runs left where git or ralph use it.
func notePlanted(a *app, c *sandbox.Confiner) {
	for _, planted := range c.Planted() {
		a.note("warning: %s; %s", planted, provenance.FindingFix)
	}
}

// maxConfigLines is how many new lines of a configuration are shown.
const maxConfigLines = 20

// historyOf remembers who changed the configuration of a project.
func historyOf(a *app, p project.Project) *provenance.History {
	return trustOf(a, p).History(p.Texts)
}

// noteConfigChanges says which lines of the configuration are new since the last run
// and who wrote them. Nothing of it has been executed by then.
func noteConfigChanges(a *app, changes []provenance.Change) {
	for _, change := range changes {
		kind := ""
		if change.ByAgent {
			kind = "warning: "
		}
		a.note("%s%s: %s", kind, change.File, change)
		for _, line := range change.Lines[:min(len(change.Lines), maxConfigLines)] {
			a.note("%s:%d: %s", change.File, line.Number, line.Text)
		}
		if more := len(change.Lines) - maxConfigLines; more > 0 {
			a.note("%s: and %s", change.File, human.Count(more, "more line"))
		}
	}
}

// confirmed refuses a configuration and words in prompts that an agent may have changed, in a run that is over or at work: hooks and others of its
// commands run outside every sandbox, and it says which sandbox there is. What people change when no such agent is at work is theirs.
func confirmed(a *app, p project.Project) error {
	if p.Root == "" {
		p, _ = a.findProject() // where there is none, nothing was changed
	}
	if p.Root == "" {
		return nil
	}
	changes := slices.DeleteFunc(historyOf(a, p).Changes(), func(c provenance.Change) bool { return !c.ByAgent })
	if len(changes) == 0 {
		return nil
	}
	noteConfigChanges(a, changes)
	paths := seq.Map(changes, func(c provenance.Change) string { return filepath.Join(p.Root, filepath.FromSlash(c.File)) })
	slices.Sort(paths)
	err := fmt.Errorf("%w: %s was changed while an agent worked that could write it, and nothing in it is executed until a person confirms it",
		project.ErrConfig, human.Series(slices.Compact(paths), "and"))
	return hint(err, "undo the change, or look at it and type: ralph config trust")
}

// blame adds to the error of a configuration that cannot be used which attempts have
// changed it: no run can begin and say so. What people wrote needs no such hint.
func blame(a *app, p project.Project, err error) error {
	var parts []string
	for _, change := range historyOf(a, p).Changes() {
		if change.ByAgent {
			parts = append(parts, change.File+": "+change.String())
		}
	}
	if len(parts) == 0 {
		return err
	}
	return hint(err, "%s", strings.Join(parts, "; "))
}

// shellAgentCommand is the built-in agent: ralph starts itself with this name.
var shellAgentCommand = command{
	name: "shell-agent", hidden: true, short: "speak the Agent Client Protocol on stdin and stdout",
	example: "ralph run --agent shell",
	run: action(func(ctx context.Context, a *app, _ plainOptions) error {
		return shellagent.Serve(ctx, a.stdin, a.raw, shellagent.Options{Version: a.version().Version})
	}),
}
