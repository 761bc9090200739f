package featurecmd

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"ralph/dag"
	"ralph/features"
	"ralph/internal/cli"
	"ralph/internal/cli/launch"
	"ralph/internal/cli/planning"
	"ralph/internal/cli/wiring"
	"ralph/internal/plain"
	"ralph/internal/project"
)

var featureRunCommand = cli.Command{
	Name: "run", Args: "NAME", Short: "run the tasks of a feature, or its specification as a single task",
	Long: `The same as "ralph run --feature NAME". With --direct, the specification becomes one task first, "Implement NAME",
without a plan and without an agent; doing that again makes no second one. Its gates are the success criteria that are
commands. Criteria are what spec.md has below a heading "Success criteria", "Acceptance criteria" or "Acceptance".
A command is

- a line or an item of a list that is one code span and nothing else, or one that "passes" or "succeeds": - ` + "`go test ./...`" + ` passes
- each line of a code block in no language or in sh, bash, shell, zsh or console; in a block with lines that begin
  with "$ ", only those. A backslash at the end joins a line with the next.

A single word that names a file, such as ` + "`README.md`" + `, is no command. All other criteria go into the description of the task.`,
	Flags: append(cli.FlagGroup("Scope", cli.Bool("direct", "make the specification one task, and run it")), slices.DeleteFunc(launch.RunFlags(project.Default()), func(f cli.Flag) bool {
		return slices.Contains([]string{"feature", "task", "tag", "continue"}, f.Name)
	})...),
	Example: "ralph feature run login\nralph feature run login --direct --dry-run\nralph feature run login --direct --max-cost 5",
	Exits:   "1 tasks failed or refused (no spec.md, other tasks), 2 blocked, 3 no such feature, 4 a limit or stopped,\n5 no usable agent, 6 what landed was not pushed, " + cli.Interrupted,
	Run:     cli.Action(runFeatureRun),
}

type featureRunOptions struct {
	launch.Options
	Direct bool
}

func runFeatureRun(ctx context.Context, a *cli.App, o featureRunOptions) error {
	name := o.Args[0]
	o.Args, o.Feature = nil, &name
	if o.Direct {
		if shown, err := keepDirect(ctx, a, name, o.DryRun); err != nil || shown {
			return err
		}
	}
	return launch.Run(ctx, a, o.Options)
}

// keepDirect makes the specification of a feature one of its tasks, or with dry only shows that: then there is nothing to run.
func keepDirect(ctx context.Context, a *cli.App, name string, dry bool) (shown bool, err error) {
	if err := a.RefuseAgent(); err != nil {
		return false, err
	}
	err = planning.InPlan(ctx, a, name, planning.PlannerOptions{}, func(s *cli.Session, p *features.Planner) (err error) {
		shown, err = direct(ctx, a, s, p, dry)
		return err
	})
	return shown, err
}

func direct(ctx context.Context, a *cli.App, s *cli.Session, p *features.Planner, dry bool) (shown bool, err error) {
	name := p.Name
	if err := launch.ImportFeature(ctx, s, launch.TargetOptions{Feature: &name}); err != nil {
		return false, err
	}
	if _, err := p.Enter(ctx); err != nil {
		return false, cli.MakeIt(err, name)
	}
	t, err := p.Direct()
	if errors.Is(err, features.ErrNoSpec) {
		return false, cli.Hint(err, "write it with: ralph feature spec %s", p.Name)
	}
	if err != nil {
		return false, err
	}
	by := wiring.SpecWriter(a, s, name)
	kept, added, err := p.Keep(ctx, t, dry || by != "")
	if added && by != "" && !dry {
		err := fmt.Errorf("%w: %s was changed while %s, was at work, which could write it, and its commands would run as gates",
			dag.ErrRefused, filepath.Join(s.Project.Feature(name), features.Spec.File()), by)
		return false, cli.Hint(err, "look at it with --dry-run; undo the change, or type: ralph config trust")
	}
	switch {
	case errors.Is(err, features.ErrBuilt):
		return false, cli.Hint(err, "run them with: ralph feature run %s", p.Name)
	case err != nil:
		return false, err
	case !added:
		a.Note("%s %s is kept", kept.ID, kept.Title)
		if kept.Status != dag.Done && (!slices.Equal(kept.Gates, t.Gates) || kept.Description != t.Description) {
			a.Note("warning: it has other success criteria than %s now; to take those: ralph task delete %s, and the same command again", features.Spec.File(), kept.ID)
		}
		return false, nil
	}
	return dry, printDirect(a, kept.ID, t, dry)
}

// printDirect says what became of each success criterion.
func printDirect(a *cli.App, id string, t features.DirectTask, dry bool) error {
	if dry {
		id = "(new)"
	}
	a.Note("%s %s", id, t.Title)
	for _, gate := range t.Gates {
		a.Note("gate: %s", gate)
	}
	if len(t.Gates) == 0 {
		a.Note("no gate: none of the success criteria in %s is a command", features.Spec.File())
	}
	if t.Others != "" {
		a.Note("in its description, because they are no commands: %s", plain.Cut(strings.Join(strings.Fields(t.Others), " "), 300))
	}
	if dry {
		_, err := fmt.Fprintln(a.Stdout, "nothing was done; without --dry-run this task is made and run")
		return err
	}
	return nil
}
