package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"ralph/acp"
	"ralph/dag"
	"ralph/features"
	"ralph/internal/agents"
	"ralph/internal/proc"
	"ralph/internal/project"
	"ralph/internal/sandbox"
)

// plannerFlags choose the agent that plans.
func plannerFlags() []flagSpec {
	return []flagSpec{
		{name: "agent", usage: "`NAME` of an agent, or the command that starts one"},
		{name: "model", usage: "`MODEL` or tier (opus, sonnet, haiku) to use", shown: "the agent's own"},
		{name: "sandbox", usage: "confine the agent to its staging folder: `MODE` is auto, require (refuse to run without) or off", shown: "auto, or sandbox.mode"},
		jsonFlag,
	}
}

// plannerOptions are the flags of the commands that plan. None has all of them.
type plannerOptions struct {
	openerOptions
	Args                   []string
	From                   string // a file with what is wanted; - is stdin
	Template               string
	Var                    []string
	Draft, Replace, Append bool
	Yes, NoInput, JSON     bool
	idea                   string // what From holds
}

func (o *plannerOptions) parse(c commandLine) error {
	if o.Replace && o.Append {
		return usagef("--replace or --append, not both")
	}
	if len(o.Var) > 0 && o.Template == "" {
		return usagef("--var is for the inputs of a template: name it with --template")
	}
	return o.openerOptions.parse(c)
}

func newPlanner(a *app, s *session, name string, o plannerOptions) *features.Planner {
	b := s.config.Budget
	p := &features.Planner{
		Name: name, Project: s.project, Store: s.store, Plans: s.plans, Model: o.Model, Gates: s.config.Verify.Commands, Protect: s.config.Verify.Protect, Program: programName(),
		Spending: features.Spending{Day: shared(b.Day), Feature: shared(b.Feature), Prices: prices(s.config)},
		Redact:   a.redact, Now: a.now,
		Open: planningOpener(a, s, o), Observe: toolObserver(a), Confirm: tasksConfirmer(a, o), Templates: func() []string { return templateLines(templateLibrary(a, s.project)) }, Show: func(title, text string) { showText(a, title, text) },
		Note: a.note, Warn: func(format string, args ...any) { a.note("warning: "+format, args...) },
	}
	p.Expand = func(ctx context.Context, t features.Template, keep bool) ([]dag.Spec, error) {
		return featureTasks(ctx, a, s, name, t, keep)
	}
	if a.asks && !o.NoInput {
		p.Ask = func(ctx context.Context, question string) (string, error) { return ask(ctx, a, question) }
	}
	return p
}

// programName is how an agent calls this very ralph.
func programName() string {
	self := self()
	if found, err := exec.LookPath("ralph"); err == nil {
		if abs, err := filepath.Abs(found); err == nil && abs == self {
			return "ralph"
		}
	}
	return self
}

// planningOpener opens agents whose working folder is a staging folder, and which may only
// read the project.
func planningOpener(a *app, s *session, given plannerOptions) func(context.Context, features.Opening) (features.Session, error) {
	openers := map[string]*agents.Opener{} // by folder: each remembers what its agent calls a model
	return func(ctx context.Context, at features.Opening) (features.Session, error) {
		o := openers[at.Work]
		if o == nil {
			var err error
			if o, err = newOpener(a, given.openerOptions, s); err != nil {
				return nil, err
			}
			if o.Chosen, err = planningAgent(a, s.config, given.Agent); err != nil {
				return nil, err
			}
			o.Dir, o.Reads = at.Work, s.project.Root
			if o.Sandbox, err = planningSandbox(a, s, given.Sandbox, at.Work); err != nil {
				return nil, err
			}
			openers[at.Work] = o
		}
		return o.Open(ctx, agents.SessionSpec{
			Conversation: acp.Conversation{Model: given.Model, Folder: at.Logs}, Observe: at.Observe,
			Started: func(agent string, _ proc.Identity) error { at.Started(agent); return nil },
		})
	}
}

// planningAgent finds one that can write, which a script cannot.
func planningAgent(a *app, config project.Loaded, given string) (agents.Agent, error) {
	chosen, err := a.finder(config).Choose(given)
	if err == nil && chosen.ExitStatus {
		err = fmt.Errorf("%w: %s runs the scripts of tasks, and cannot plan", agents.ErrUnavailable, chosen.Name)
	}
	if errors.Is(err, agents.ErrUnavailable) && !errors.As(err, new(*agents.UnknownError)) {
		err = hint(err, "to plan, %s; see: ralph agents", agents.Remedy)
	}
	return chosen, err
}

// planningSandbox lets the agent write to its working folder only, and read the project.
func planningSandbox(a *app, s *session, mode, work string) (*sandbox.Confiner, error) {
	relative := func(path string) bool { return !filepath.IsAbs(path) && !strings.HasPrefix(path, "~") }
	config := s.config.Sandbox
	config.Write = slices.DeleteFunc(slices.Clone(config.Write), relative) // to the project
	config.DenyRead = slices.Clone(config.DenyRead)
	for i, path := range config.DenyRead {
		if relative(path) {
			config.DenyRead[i] = filepath.Join(s.project.Root, path)
		}
	}
	return confinerOf(a, sandbox.Options{
		Mode: cmp.Or(mode, config.Mode), Project: project.Project{Root: work}, Unprotected: true, Reads: s.project.Root,
	}, config)
}

// toolObserver shows a person that an agent is at work.
func toolObserver(a *app) func(acp.Event) {
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

// planning makes a command of a function that plans: the project is open, and what --from names is read.
func planning(run func(context.Context, *app, *session, *features.Planner, plannerOptions) error) runner {
	return action(func(ctx context.Context, a *app, o plannerOptions) (err error) {
		if o.idea, err = readIdea(a, o.From); err != nil {
			return err
		}
		a.log = a.logger()
		if o.Draft { // first, because in an agent's sandbox the database may not open
			if err := a.refuseAgent(); err != nil {
				return err
			}
		}
		return inPlan(ctx, a, strings.Join(o.Args, ""), o, func(s *session, p *features.Planner) (err error) {
			if p.Sections, err = ownSections(a, s.project); err != nil {
				return err
			}
			p.Kept = func(ctx context.Context, ids []string) {
				var tasks []dag.Task
				err := s.store.View(ctx, func(g *dag.Graph) (err error) { tasks, err = observed(s, g, ids); return err })
				if err != nil {
					a.note("warning: hooks on new tasks are not run: %v", err)
				}
				observeCommand(ctx, a, s, "plan", tasks...)
			}
			return run(ctx, a, s, p, o)
		})
	})
}

// inPlan opens the project for somebody who plans a feature: it is refused if a plan file cannot be taken in, and plan files
// follow what becomes of it.
func inPlan(ctx context.Context, a *app, name string, o plannerOptions, do func(*session, *features.Planner) error) error {
	s, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.refuseUnsynced(); err != nil {
		return err
	}
	defer savePlans(ctx, a, s)
	p := newPlanner(a, s, name, o)
	p.Store = s.store.As(a.actor()) // who says yes to the tasks goes on record
	return do(s, p)
}

// planStep makes a command of one step of planning a feature, and prints what it did.
func planStep(do func(context.Context, *features.Planner, plannerOptions) (features.Step, error)) runner {
	return planning(func(ctx context.Context, a *app, s *session, p *features.Planner, o plannerOptions) error {
		if _, err := p.Enter(ctx); err != nil {
			return makeIt(err, p.Name)
		}
		var step features.Step
		err := attended(ctx, a, func(ctx context.Context) (err error) {
			step, err = do(ctx, p, o)
			return planningHint(p, err, "the same command")
		})
		if err != nil {
			return err
		}
		return printPlanned(ctx, a, s, plannedJSON{Steps: []features.Step{step}, Next: step.Next(p.Name)}, p.Name, o.JSON)
	})
}

// attended runs fn so that the first signal asks it to end, keeping what is done, and
// the second ends the program.
func attended(ctx context.Context, a *app, fn func(context.Context) error) error {
	a.takeSignals()
	ctx, stop := interruptible(ctx, a, nil, 0)
	defer stop()
	err := fn(ctx)
	var caught caughtSignal
	if err != nil && errors.As(context.Cause(ctx), &caught) {
		a.note("interrupted; the same command continues where it was")
		return caught
	}
	return err
}

// planningHint says what to do about an error. An agent that failed has an exit status of its
// own; again is what to type after that.
func planningHint(p *features.Planner, err error, again string) error {
	var failed *features.StepError
	var used *features.BudgetError
	var agentErr *acp.Error
	switch {
	case errors.As(err, &used):
		return hint(err, "what was done is kept; allow more with [budget.%s] in .ralph.toml", used.Scope)
	case errors.As(err, &agentErr) && !errors.Is(err, acp.Cancelled):
		return hint(fmt.Errorf("%w: %w", agents.ErrUnavailable, err), "what was done is kept; continue with: %s", again)
	case !errors.As(err, &failed):
		return err
	}
	command, before := fmt.Sprintf("ralph feature %s %s", failed.Step, p.Name), "spec"
	if failed.Step == features.BuildStep {
		before = "plan"
	}
	for _, known := range []struct {
		err  error
		hint string
	}{
		{features.ErrMissing, "write it with: ralph feature " + before + " " + p.Name},
		{features.ErrExists, "start over with: " + command + " --replace; or edit it: it is yours"},
		{features.ErrNobody, "say what is wanted with: " + command + " --from FILE"},
		{features.ErrOther, "continue it: " + command + "; or start over: add --replace"},
		{features.ErrNoFile, "see what it did instead in " + p.Logs(failed.Step) + "; try again with: " + command},
		{features.ErrBuilt, "say what should happen to them: --replace or --append"},
		{features.ErrNoProposal, "propose some with: ralph feature build " + p.Name},
		{features.ErrNoPlan, "nothing was changed; see what the agent said in " + p.Logs(failed.Step) + ", or try again, perhaps with another model"},
	} {
		if errors.Is(err, known.err) {
			return hint(err, "%s", known.hint)
		}
	}
	return err
}
