package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"ralph/acp"
	"ralph/dag"
	"ralph/features"
	"ralph/internal/agents"
	"ralph/internal/git"
	"ralph/internal/proc"
	"ralph/internal/project"
	"ralph/internal/sandbox"
)

// plannerFlags choose the agent that plans.
func plannerFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "agent", Usage: "`NAME` of an agent, or the command that starts one"},
		&cli.StringFlag{Name: "model", Usage: "`M`: a model's name, or a tier: opus, sonnet, haiku", DefaultText: "the agent's own"},
		&cli.StringFlag{Name: "sandbox", Usage: "confine the agent to its staging folder: `MODE` is auto (as well as can be), require (or do not run) or off", DefaultText: "as configured"},
		jsonFlag(),
	}
}

// stagingOf is where a feature is planned; the empty name is for tasks of none.
func stagingOf(p project.Project, name string) string {
	if name == "" {
		name = noFeature
	}
	return filepath.Join(p.Staging(), name)
}

// noFeature stands for tasks of none; no feature can be called that.
const noFeature = ".tasks"

// planner is where a feature is planned, with an agent and, unless input is unwanted,
// the person at the terminal.
func (a *app) planner(c *cli.Context, s *session, name string) *features.Planner {
	d := &features.Planner{
		Name: name, Root: s.project.Root, Folder: s.project.Feature(name), Staging: stagingOf(s.project, name), Store: s.store,
		Gates: s.config.Verify.Commands, Program: a.program(), Redact: a.redact, Instructions: instructions(s.project.Root),
		Open: a.openPlanning(c, s, name), Show: a.show(), Watch: a.watchProject(s),
		Note:    func(format string, args ...any) { a.note(format, args...) },
		Warn:    func(format string, args ...any) { a.note("warning: "+format, args...) },
		Scratch: a.makeScratch(name), Added: a.addedToScratch,
	}
	if a.asks && !c.Bool("no-input") {
		d.Ask = a.ask()
	}
	return d
}

// program is how an agent calls this very ralph.
func (a *app) program() string {
	self := self()
	if found, err := exec.LookPath("ralph"); err == nil {
		if abs, err := filepath.Abs(found); err == nil && abs == self {
			return "ralph"
		}
	}
	return self
}

// openPlanning opens the sessions of planning. It is the one place where that is done: the
// agent's working folder is the staging folder, and the project may only be read.
func (a *app) openPlanning(c *cli.Context, s *session, feature string) func(context.Context, features.Opening) (features.Session, error) {
	purse := a.purse(s, feature)
	given, bad := parseOpener(c)
	openers := map[string]*agents.Opener{} // by folder: each remembers what its agent calls a model
	return func(ctx context.Context, at features.Opening) (features.Session, error) {
		o := openers[at.Work]
		if o == nil {
			if bad != nil {
				return nil, bad
			}
			var err error
			if o, err = a.newOpener(given, s); err != nil {
				return nil, err
			}
			if o.Chosen, err = a.planningAgent(s.config, c.String("agent")); err != nil {
				return nil, err
			}
			o.Dir, o.Reads = at.Work, s.project.Root
			if o.Sandbox, err = a.planSandbox(c, s, at.Work); err != nil {
				return nil, err
			}
			openers[at.Work] = o
		}
		if err := purse.refuse(ctx, 0); err != nil {
			return nil, err
		}
		news := make(chan struct{}, 1)
		p := dag.Planning{Step: at.Step, Feature: feature, Model: c.String("model")}
		opened, err := o.Open(ctx, agents.Request{
			Model: p.Model, Folder: at.Logs, Observe: watchUsage(news, a.watchTools()),
			Started: func(agent string, _ proc.Identity) error { p.Agent = agent; return nil },
		})
		if err != nil {
			return nil, err
		}
		return purse.billed(ctx, opened, p, news)
	}
}

// planningAgent finds one that can write: a script cannot.
func (a *app) planningAgent(config project.Loaded, given string) (agents.Agent, error) {
	chosen, err := a.finder(config).Choose(given)
	if err == nil && chosen.ExitStatus {
		err = fmt.Errorf("%w: %s runs the scripts of tasks, and cannot plan", agents.ErrUnavailable, chosen.Name)
	}
	if errors.Is(err, agents.ErrUnavailable) && !errors.As(err, new(*agents.UnknownError)) {
		err = hint(err, "install one that can plan (for example: npm install -g opencode-ai), or name it with --agent; see: ralph agents")
	}
	return chosen, err
}

// planSandbox confines who plans to the working folder: all of the project, its git
// folder included, can only be read.
func (a *app) planSandbox(c *cli.Context, s *session, work string) (*sandbox.Confiner, error) {
	config := s.config.Sandbox
	config.Write = slices.DeleteFunc(slices.Clone(config.Write), isRelative) // to the project, where nothing may be written
	config.DenyRead = slices.Clone(config.DenyRead)
	for i, path := range config.DenyRead {
		if isRelative(path) {
			config.DenyRead[i] = filepath.Join(s.project.Root, path)
		}
	}
	return a.confiner(sandbox.Options{
		Mode: cmp.Or(c.String("sandbox"), config.Mode), Project: project.Project{Root: work}, Unprotected: true, Reads: s.project.Root,
	}, config)
}

func isRelative(path string) bool { return !filepath.IsAbs(path) && !strings.HasPrefix(path, "~") }

// watchTools shows a person that an agent is at work.
func (a *app) watchTools() func(acp.Event) {
	if !a.errIsTerm && !a.verbose {
		return nil
	}
	p := a.stderrPalette()
	return func(e acp.Event) {
		if t, ok := e.(acp.ToolCall); ok && t.New && t.Title != "" {
			a.note("%s", p.Dim("  · "+t.Title))
		}
	}
}

// watchProject remembers the files as git sees them and how many tasks there are.
func (a *app) watchProject(s *session) func(context.Context) func(context.Context) []string {
	tasks := func(ctx context.Context) (n int) {
		_ = s.store.View(ctx, func(g *dag.Graph) error {
			tally, err := g.Tally(dag.Scope{})
			n = tally.Total() + tally.TotalGroups()
			return err
		})
		return n
	}
	return func(ctx context.Context) func(context.Context) []string {
		before, had := git.Look(ctx, s.project.Root), tasks(ctx)
		return func(ctx context.Context) []string {
			files := git.Changed(ctx, s.project.Root, before, git.Look(ctx, s.project.Root))
			if has := tasks(ctx); has != had {
				files = append(files, fmt.Sprintf("the graph itself (%d tasks before, %d now)", had, has))
			}
			return files
		}
	}
}

// instructions names the files that tell agents about a project.
func instructions(root string) []string {
	var list []string
	for _, name := range []string{"AGENTS.md", "CLAUDE.md"} {
		if info, err := os.Stat(filepath.Join(root, name)); err == nil && info.Mode().IsRegular() {
			list = append(list, name)
		}
	}
	return list
}

// attended runs fn so that the first signal asks it to end, keeping what is done, and
// the second ends the program.
func (a *app) attended(ctx context.Context, fn func(context.Context) error) error {
	defer a.launcher.Close()
	a.takeSignals()
	ctx, stop := a.interruptible(ctx)
	defer stop()
	err := fn(ctx)
	var caught caughtSignal
	if err != nil && errors.As(context.Cause(ctx), &caught) {
		a.note("interrupted; the same command goes on where it was")
		return caught
	}
	return err
}

// interruptible returns a context that the first signal ends, as its cause; the second
// ends the program. stop is called when nobody needs it any more.
func (a *app) interruptible(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(parent))
	done := make(chan struct{})
	go func() {
		select {
		case s := <-a.signals:
			cancel(caughtSignal{s})
			select {
			case <-a.signals:
				a.exit(caughtSignal{s}.status())
			case <-done:
			}
		case <-done:
		}
	}()
	return ctx, func() { close(done); cancel(nil) }
}

// agentTrouble makes what an agent did wrong an exit status of its own.
func agentTrouble(err error, again string) error {
	var e *acp.Error
	if !errors.As(err, &e) || errors.Is(err, acp.Cancelled) {
		return err
	}
	return hint(fmt.Errorf("%w: %w", agents.ErrUnavailable, err), "what was done is kept; go on with: %s", again)
}
