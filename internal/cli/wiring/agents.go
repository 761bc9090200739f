// Package wiring makes of a configuration what other packages work with: agents, sandboxes, slots, hooks, rules, recovery.
package wiring

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ralph/acp"
	"ralph/dag"
	"ralph/features"
	"ralph/internal/agents"
	"ralph/internal/cli"
	"ralph/internal/human"
	"ralph/internal/inbox"
	"ralph/internal/project"
	"ralph/internal/provenance"
	"ralph/internal/resource"
	"ralph/internal/sandbox"
	"ralph/internal/seq"
	"ralph/loop"
	"ralph/loop/attempt"
)

// openerOf is one that has no agent and no sandbox yet.
func openerOf(a *cli.App, s *cli.Session) (*agents.Opener, error) {
	if err := Confirmed(a, s.Project); err != nil {
		return nil, err
	}
	o := &agents.Opener{Dir: s.Project.Root, Settings: agents.Settings{
		Finder: a.Finder(s.Config), TurnTimeout: s.Config.Run.TurnTimeout.Std(),
		Client: acp.Client{Version: a.Version().Version, IdleTimeout: s.Config.Run.IdleTimeout.Std(), Now: a.Now, Log: a.Log},
	}}
	var err error
	o.Servers, err = o.Finder.Servers()
	return o, err
}

// errUnconfined is why an agent gets no credential, also none that was given when its task ran in a sandbox.
var errUnconfined = errors.New("credentials are only given to agents in a sandbox, and there is none: every process of the user could read them")

// NoCredentials is why agents get none, or nil.
func NoCredentials(c *sandbox.Confiner) error {
	if c.Work.Level == sandbox.None {
		return errUnconfined
	}
	if open := c.Exposed(); len(open) > 0 {
		return fmt.Errorf("credentials are only given to agents that cannot read where they are stored, and these may write a folder that contains %s", open[0])
	}
	return nil
}

// openAttempt opens the sessions of a run's attempts.
func openAttempt(a *cli.App, o *agents.Opener, values provenance.Values) func(context.Context, attempt.Opening) (attempt.Session, error) {
	return func(ctx context.Context, op attempt.Opening) (attempt.Session, error) {
		spec := op.SessionSpec
		for _, c := range op.Credentials {
			value, err := "", NoCredentials(o.Sandbox)
			if err == nil {
				value, err = values.Get(c.ID)
			}
			if err != nil {
				op.Observe(acp.Warned{Text: fmt.Sprintf("the agent does without the credential %s: %v", c.Variable(), err)})
				continue
			}
			a.Redact.Add(value) // before anybody can print it
			spec.Env = append(slices.Clip(spec.Env), c.Variable()+"="+value)
		}
		s, err := o.Open(ctx, spec)
		if err != nil {
			return nil, err // not a nil session in an interface
		}
		return s, nil
	}
}

// ConfinerOf confines the processes of a project until the command ends.
func ConfinerOf(a *cli.App, opts sandbox.Options, config project.SandboxConfig) (*sandbox.Confiner, error) {
	opts.Write, opts.DenyRead, opts.Network = config.Write, config.DenyRead, config.Network
	opts.DenyRead = slices.Clone(opts.DenyRead)
	if opts.Tokens == nil {
		opts.Tokens = func() []string { return TokenFiles(a) }
	}
	for _, dir := range []string{a.Credentials(), cli.Trusts(a), cli.ServerFolder(a)} {
		if opts.Mode != "off" && filepath.IsAbs(dir) && os.MkdirAll(dir, 0o700) == nil { // what is not there yet cannot be hidden
			opts.DenyRead = append(opts.DenyRead, dir)
		}
	}
	opts.Trust = cli.TrustOf(a, opts.Project)
	opts.Environ, opts.Most, opts.UserConfig, opts.KeepDead = a.Environ(), a.Confinable, a.UserConfig(), a.Looks
	c, err := sandbox.New(opts)
	switch {
	case errors.Is(err, sandbox.ErrRequired):
		return nil, cli.Hint(err, "ralph doctor lists what is missing; "+sandbox.Grants+"; or run without: --sandbox auto")
	case errors.Is(err, sandbox.ErrExposed):
		return nil, cli.Hint(err, "move the token into %s, where no agent can read it, and start ralph serve with --token-file there", cli.ServerFolder(a))
	case errors.Is(err, provenance.ErrFindings):
		return nil, cli.Hint(fmt.Errorf("%w: %w", dag.ErrRefused, err), "look at git's hooks and configuration; then type: ralph config trust")
	case err != nil:
		return nil, err
	}
	a.AtEnd = append(a.AtEnd, c.Close)
	return c, nil
}

// NotePlanted warns of what agents of earlier runs left where git or ralph use it.
func NotePlanted(a *cli.App, c *sandbox.Confiner) {
	for _, planted := range c.Planted() {
		a.Note("warning: %s; %s", planted, provenance.FindingFix)
	}
}

// maxConfigLines is how many new lines of a configuration are shown.
const maxConfigLines = 20

// NoteConfigChanges says which lines of the configuration are new since the last run
// and who wrote them. Nothing of it has been executed by then.
func NoteConfigChanges(a *cli.App, changes []provenance.Change) {
	for _, change := range changes {
		kind := ""
		if change.ByAgent {
			kind = "warning: "
		}
		a.Note("%s%s: %s", kind, change.File, change)
		for _, line := range change.Lines[:min(len(change.Lines), maxConfigLines)] {
			a.Note("%s:%d: %s", change.File, line.Number, line.Text)
		}
		if more := len(change.Lines) - maxConfigLines; more > 0 {
			a.Note("%s: and %s", change.File, human.Count(more, "more line"))
		}
	}
}

// Confirmed refuses a configuration and words in prompts that an agent may have changed, in a run that is over or at work: hooks and others of its
// commands run outside every sandbox, and it says which sandbox there is. What people change when no such agent is at work is theirs.
func Confirmed(a *cli.App, p project.Project) error {
	if p.Root == "" {
		p, _ = a.FindProject() // where there is none, nothing was changed
	}
	if p.Root == "" {
		return nil
	}
	changes := slices.DeleteFunc(cli.HistoryOf(a, p).Changes(), func(c provenance.Change) bool { return !c.ByAgent })
	if len(changes) == 0 {
		return nil
	}
	NoteConfigChanges(a, changes)
	paths := seq.Map(changes, func(c provenance.Change) string { return filepath.Join(p.Root, filepath.FromSlash(c.File)) })
	slices.Sort(paths)
	err := fmt.Errorf("%w: %s was changed while an agent worked that could write it, and nothing in it is executed until a person confirms it",
		project.ErrConfig, human.Series(slices.Compact(paths), "and"))
	return cli.Hint(err, "undo the change, or look at it and type: ralph config trust")
}

// SweepCredentials removes the values of tasks that are over. The others are hidden in all that follows: whoever had one may
// have written it where any task, gate or verifier reads it.
func SweepCredentials(ctx context.Context, a *cli.App, s *cli.Session) {
	var needed []string
	// Nobody gives one meanwhile: that is a change of the graph, too.
	err := s.Store.Update(ctx, func(g *dag.Graph) (err error) {
		if needed, err = inbox.Credentials(g); err != nil {
			return err
		}
		return a.CredentialsOf(s).Sweep(func(request string) bool { return slices.Contains(needed, request) })
	})
	for _, request := range needed {
		if value, err := a.CredentialsOf(s).Get(request); err == nil { // one that is gone reaches nobody
			a.Redact.Add(value)
		}
	}
	if err != nil {
		a.Note("warning: credentials that nobody needs any more are still there: %v", err)
	}
}

// OpenerOptions choose an agent and how it is started.
type OpenerOptions struct {
	Agent, Model, Sandbox    string
	IdleTimeout, TurnTimeout *string // nil is as configured
}

// Parse checks what was typed for the agent.
func (o *OpenerOptions) Parse(c cli.CommandLine) error {
	for _, flag := range []string{"agent", "model"} {
		if c.IsSet(flag) && c.String(flag) == "" {
			return cli.Usagef("--%s is empty", flag)
		}
	}
	if !c.IsSet("sandbox") {
		return nil
	}
	return cli.CheckChoice("sandbox", o.Sandbox, project.SandboxModes()...)
}

// NewOpener is one for the agent that was named, or that is configured.
func NewOpener(a *cli.App, given OpenerOptions, s *cli.Session) (*agents.Opener, error) {
	o, err := openerOf(a, s)
	if err != nil {
		return nil, err
	}
	o.ModelNamed = cmp.Or(given.Model, s.Config.Model) != ""
	var ierr, terr error
	o.IdleTimeout, ierr = Duration("idle-timeout", given.IdleTimeout, s.Config.Run.IdleTimeout)
	o.TurnTimeout, terr = Duration("turn-timeout", given.TurnTimeout, s.Config.Run.TurnTimeout)
	return o, cmp.Or(ierr, terr)
}

// Duration is the value of a flag, or what is configured if it was not typed.
func Duration(flag string, given *string, configured project.Duration) (time.Duration, error) {
	if given != nil {
		if err := configured.UnmarshalText([]byte(*given)); err != nil {
			return 0, cli.Usagef("--%s: %v", flag, err)
		}
	}
	return configured.Std(), nil
}

// Absent is how an agent is shown that a run does without.
func Absent(ag agents.Agent) string {
	if ag.Name == "" {
		return "none"
	}
	return ag.Name + ", which cannot be started here"
}

// Limiter is nil if attempts may use what there is.
func Limiter(c project.SandboxConfig) *resource.Limiter {
	return resource.New(resource.Limits{Memory: int64(c.Memory), Processes: c.Processes})
}

// Reviewers are those who look at features. One without an agent of its own has the chosen one.
func Reviewers(a *cli.App, check project.VerifyConfig, f agents.Finder, chosen agents.Agent) (list []loop.Reviewer) {
	for _, r := range check.Reviewers {
		r = check.Reviewer(r)
		agent := chosen.Preset
		if r.Agent != "" {
			agent, _ = f.Preset(r.Agent) // FindVerifiers refused an unknown one
		}
		if agent.ExitStatus {
			a.Note("warning: nobody reviews features for %q: %s only runs scripts; name another agent in [[verify.reviewer]]", r.Focus, agent.Name)
			continue
		}
		list = append(list, loop.Reviewer(r))
	}
	return list
}

// Acceptor is who compares features with their specifications: the agent that verifies.
func Acceptor(a *cli.App, s *cli.Session, f agents.Finder, chosen agents.Agent) *loop.Acceptor {
	check := s.Config.Verify
	if !check.Feature {
		return nil
	}
	r, agent := check.Reviewer(project.ReviewerConfig{}), chosen.Preset
	if r.Agent != "" {
		agent, _ = f.Preset(r.Agent) // FindVerifiers refused an unknown one
	}
	if agent.ExitStatus {
		a.Note("warning: nobody compares features with their specifications: %s only runs scripts; name another agent in [verify] agent", agent.Name)
		return nil
	}
	return &loop.Acceptor{Agent: r.Agent, Model: r.Model, Specified: func(feature string) bool {
		_, err := features.ReadDocument(filepath.Join(s.Project.Feature(feature), features.Spec.File()))
		return err == nil || SpecWriter(a, s, feature) != "" // one that an agent may have removed is missed
	}}
}

// TokenList is the file with the names of the files that have tokens of servers.
func TokenList(a *cli.App) string { return filepath.Join(cli.ServerFolder(a), "token-files") }

// TokenFiles are the files with tokens with which servers of the user were started.
func TokenFiles(a *cli.App) []string {
	data, _ := os.ReadFile(TokenList(a)) // without it there are none
	return strings.FieldsFunc(string(data), func(r rune) bool { return r == '\n' })
}
