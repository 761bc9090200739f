// Package planning plans with an agent, for all commands that do, and makes tasks of templates.
package planning

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
	"ralph/internal/cli"
	"ralph/internal/cli/wiring"
	"ralph/internal/proc"
	"ralph/internal/project"
	"ralph/internal/sandbox"
)

// PlannerFlags choose the agent that plans.
func PlannerFlags() []cli.Flag {
	return []cli.Flag{
		{Name: "agent", Usage: "`NAME` of an agent, or the command that starts one"},
		{Name: "model", Usage: "`MODEL` or tier (opus, sonnet, haiku) to use", Shown: "the agent's own"},
		{Name: "sandbox", Usage: "confine the agent to its staging folder: `MODE` is auto, require (refuse to run without) or off", Shown: "auto, or sandbox.mode"},
		cli.JSONFlag,
	}
}

// PlannerOptions are the flags of the commands that plan. None has all of them.
type PlannerOptions struct {
	wiring.OpenerOptions
	Args                   []string
	From                   string // a file with what is wanted; - is stdin
	Template               string
	Var                    []string
	Draft, Replace, Append bool
	Yes, NoInput, JSON     bool
	Wanted
}

// Wanted is what the file that was named holds.
type Wanted struct{ Idea string }

// Parse checks what was typed.
func (o *PlannerOptions) Parse(c cli.CommandLine) error {
	if o.Replace && o.Append {
		return cli.Usagef("--replace or --append, not both")
	}
	if len(o.Var) > 0 && o.Template == "" {
		return cli.Usagef("--var is for the inputs of a template: name it with --template")
	}
	return o.OpenerOptions.Parse(c)
}

// NewPlanner plans a feature, with an agent that is opened when it is needed.
func NewPlanner(a *cli.App, s *cli.Session, name string, o PlannerOptions) *features.Planner {
	b := s.Config.Budget
	p := &features.Planner{
		Name: name, Project: s.Project, Store: s.Store, Plans: s.Plans, Model: o.Model, Gates: s.Config.Verify.Commands, Protect: s.Config.Verify.Protect, Program: programName(a),
		Spending: features.Spending{Day: wiring.SharedLimits(b.Day), Feature: wiring.SharedLimits(b.Feature), Prices: wiring.Prices(s.Config)},
		Redact:   a.Redact, Now: a.Now,
		Open: planningOpener(a, s, o), Observe: toolObserver(a), Confirm: tasksConfirmer(a, o), Templates: func() []string { return templateLines(TemplateLibrary(a, s.Project)) }, Show: func(title, text string) { cli.ShowText(a, title, text) },
		Note: a.Note, Warn: func(format string, args ...any) { a.Note("warning: "+format, args...) },
	}
	p.Expand = func(ctx context.Context, t features.Template, keep bool) ([]dag.Spec, error) {
		return featureTasks(ctx, a, s, name, t, keep)
	}
	if a.Asks && !o.NoInput {
		p.Ask = func(ctx context.Context, question string) (string, error) { return cli.Ask(ctx, a, question) }
	}
	return p
}

// programName is how an agent calls this very ralph.
func programName(a *cli.App) string {
	self := a.Self()
	if found, err := exec.LookPath("ralph"); err == nil {
		if abs, err := filepath.Abs(found); err == nil && abs == self {
			return "ralph"
		}
	}
	return self
}

// planningOpener opens agents whose working folder is a staging folder, and which may only
// read the project.
func planningOpener(a *cli.App, s *cli.Session, given PlannerOptions) func(context.Context, features.Opening) (features.Session, error) {
	openers := map[string]*agents.Opener{} // by folder: each remembers what its agent calls a model
	return func(ctx context.Context, at features.Opening) (features.Session, error) {
		o := openers[at.Work]
		if o == nil {
			var err error
			if o, err = wiring.NewOpener(a, given.OpenerOptions, s); err != nil {
				return nil, err
			}
			if o.Chosen, err = planningAgent(a, s.Config, given.Agent); err != nil {
				return nil, err
			}
			o.Dir, o.Reads = at.Work, s.Project.Root
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
func planningAgent(a *cli.App, config project.Loaded, given string) (agents.Agent, error) {
	chosen, err := a.Finder(config).Choose(given)
	if err == nil && chosen.ExitStatus {
		err = fmt.Errorf("%w: %s runs the scripts of tasks, and cannot plan", agents.ErrUnavailable, chosen.Name)
	}
	if errors.Is(err, agents.ErrUnavailable) && !errors.As(err, new(*agents.UnknownError)) {
		err = cli.Hint(err, "to plan, %s; see: ralph agents", agents.Remedy)
	}
	return chosen, err
}

// planningSandbox lets the agent write to its working folder only, and read the project.
func planningSandbox(a *cli.App, s *cli.Session, mode, work string) (*sandbox.Confiner, error) {
	relative := func(path string) bool { return !filepath.IsAbs(path) && !strings.HasPrefix(path, "~") }
	config := s.Config.Sandbox
	config.Write = slices.DeleteFunc(slices.Clone(config.Write), relative) // to the project
	config.DenyRead = slices.Clone(config.DenyRead)
	for i, path := range config.DenyRead {
		if relative(path) {
			config.DenyRead[i] = filepath.Join(s.Project.Root, path)
		}
	}
	return wiring.ConfinerOf(a, sandbox.Options{
		Mode: cmp.Or(mode, config.Mode), Project: project.Project{Root: work}, Unprotected: true, Reads: s.Project.Root,
	}, config)
}

// toolObserver shows a person that an agent is at work.
func toolObserver(a *cli.App) func(acp.Event) {
	if !a.ErrIsTerm && !a.Verbose {
		return nil
	}
	p := a.StderrPalette()
	return func(e acp.Event) {
		if t, ok := e.(acp.ToolCall); ok && t.New && t.Title != "" {
			a.Note("%s", p.Dim("  · "+t.Title))
		}
	}
}

// InPlanning makes a command of a function that plans: the project is open, and what --from names is read.
func InPlanning(run func(context.Context, *cli.App, *cli.Session, *features.Planner, PlannerOptions) error) cli.Runner {
	return cli.Action(func(ctx context.Context, a *cli.App, o PlannerOptions) (err error) {
		if o.Idea, err = readIdea(a, o.From); err != nil {
			return err
		}
		a.Log = a.Logger()
		if o.Draft { // first, because in an agent's sandbox the database may not open
			if err := a.RefuseAgent(); err != nil {
				return err
			}
		}
		return InPlan(ctx, a, strings.Join(o.Args, ""), o, func(s *cli.Session, p *features.Planner) (err error) {
			if p.Sections, err = wiring.OwnSections(a, s.Project); err != nil {
				return err
			}
			p.Kept = func(ctx context.Context, ids []string) {
				var tasks []dag.Task
				err := s.Store.View(ctx, func(g *dag.Graph) (err error) { tasks, err = wiring.Observed(s, g, ids); return err })
				if err != nil {
					a.Note("warning: hooks on new tasks are not run: %v", err)
				}
				wiring.ObserveCommand(ctx, a, s, "plan", tasks...)
			}
			return run(ctx, a, s, p, o)
		})
	})
}

// InPlan opens the project for somebody who plans a feature: it is refused if a plan file cannot be taken in, and plan files
// follow what becomes of it.
func InPlan(ctx context.Context, a *cli.App, name string, o PlannerOptions, do func(*cli.Session, *features.Planner) error) error {
	s, err := a.Open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.RefuseUnsynced(); err != nil {
		return err
	}
	defer cli.SavePlans(ctx, a, s)
	p := NewPlanner(a, s, name, o)
	p.Store = s.Store.As(a.Actor()) // who says yes to the tasks goes on record
	return do(s, p)
}

// PlanStep makes a command of one step of planning a feature, and prints what it did.
func PlanStep(do func(context.Context, *features.Planner, PlannerOptions) (features.Step, error)) cli.Runner {
	return InPlanning(func(ctx context.Context, a *cli.App, s *cli.Session, p *features.Planner, o PlannerOptions) error {
		if _, err := p.Enter(ctx); err != nil {
			return cli.MakeIt(err, p.Name)
		}
		var step features.Step
		err := Attended(ctx, a, func(ctx context.Context) (err error) {
			step, err = do(ctx, p, o)
			return HintAgain(p, err, "the same command")
		})
		if err != nil {
			return err
		}
		return PrintPlanned(ctx, a, s, PlannedJSON{Steps: []features.Step{step}, Next: step.Next(p.Name)}, p.Name, o.JSON)
	})
}

// Attended runs fn so that the first signal asks it to end, keeping what is done, and
// the second ends the program.
func Attended(ctx context.Context, a *cli.App, fn func(context.Context) error) error {
	a.TakeSignals()
	ctx, stop := cli.Interruptible(ctx, a, nil, 0)
	defer stop()
	err := fn(ctx)
	var caught cli.CaughtSignal
	if err != nil && errors.As(context.Cause(ctx), &caught) {
		a.Note("interrupted; the same command continues where it was")
		return caught
	}
	return err
}

// HintAgain says what to do about an error. An agent that failed has an exit status of its
// own; again is what to type after that.
func HintAgain(p *features.Planner, err error, again string) error {
	var failed *features.StepError
	var used *features.BudgetError
	var agentErr *acp.Error
	switch {
	case errors.As(err, &used):
		return cli.Hint(err, "what was done is kept; allow more with [budget.%s] in .ralph.toml", used.Scope)
	case errors.As(err, &agentErr) && !errors.Is(err, acp.Cancelled):
		return cli.Hint(fmt.Errorf("%w: %w", agents.ErrUnavailable, err), "what was done is kept; continue with: %s", again)
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
			return cli.Hint(err, "%s", known.hint)
		}
	}
	return err
}
