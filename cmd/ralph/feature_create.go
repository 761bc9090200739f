package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/urfave/cli/v2"

	"ralph/dag"
	"ralph/features"
	"ralph/internal/human"
)

func (a *app) featureCreate() command {
	return command{
		name: "create", args: "NAME", short: "take a feature from an idea to tasks that can run: spec, plan, build",
		long: `Does "spec", "plan" and "build" in order and skips what exists. Without a terminal and
without --from it makes the draft only, a row and a folder, and says what comes next; so does
--draft. A feature needs no documents: tasks may be added by hand.`,
		flags: append(append([]cli.Flag{
			&cli.BoolFlag{DisableDefaultText: true, Name: "draft", Usage: "make the draft only"},
			yesFlag("keep the tasks without being asked"),
		}, sourceFlags()...), plannerFlags()...),
		example: "ralph feature create login\nralph feature create login --from idea.md --yes --no-input",
		exits:   "1 refused (the name is taken, or could be a path or an ID), 5 no usable agent, " + interrupted,
		run:     a.runFeatureCreate,
	}
}

func (a *app) runFeatureCreate(c *cli.Context) error {
	name, err := oneArg(c, "NAME")
	if err != nil {
		return err
	}
	if _, err := parseOpener(c); err != nil {
		return err
	}
	idea, from, err := a.idea(c)
	if err != nil {
		return err
	}
	if c.Bool("draft") || (idea == "" && !a.asks && !c.Bool("no-input")) {
		return a.createDraft(c, name)
	}
	a.log = a.logger()
	s, err := a.open(c.Context)
	if err != nil {
		return err
	}
	defer s.Close()
	f, made, err := a.enter(c, s, name)
	if err != nil {
		return err
	}
	if made && !c.Bool("json") {
		if _, err := fmt.Fprintln(a.stdout, f.ID); err != nil {
			return err
		}
	}
	d := a.planner(c, s, f.Name)
	return a.attended(c.Context, func(ctx context.Context) error {
		steps, next, err := a.wholeWay(ctx, c, d, features.Request{Idea: idea, From: from})
		if err != nil {
			return agentTrouble(err, "ralph feature create "+f.Name)
		}
		return a.printPlanned(c, s, d, next, steps...)
	})
}

// createDraft makes a row and a folder.
func (a *app) createDraft(c *cli.Context, name string) error {
	var made featureJSON
	err := a.update(c.Context, func(s *session, g *dag.Graph) error {
		f, err := g.AddFeature(name)
		if err != nil {
			return fmt.Errorf("create feature: %w", err)
		}
		made = featureAsJSON(s, f)
		return os.MkdirAll(s.project.Feature(f.Name), 0o700)
	})
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return a.printJSON(made)
	}
	if _, err := fmt.Fprintln(a.stdout, made.ID); err != nil {
		return err
	}
	a.note("feature %s created, as a draft", made.Name)
	a.note("next: ralph feature spec %s --from FILE; or add tasks by hand: ralph task add \"TITLE\" --feature %s", made.Name, made.Name)
	return nil
}

// enter finds the feature or makes it.
func (a *app) enter(c *cli.Context, s *session, name string) (f dag.Feature, made bool, err error) {
	f, err = a.planner(c, s, name).Enter(c.Context)
	if !errors.Is(err, dag.ErrNotFound) {
		return f, false, err
	}
	err = s.store.Update(c.Context, func(g *dag.Graph) (err error) {
		if f, err = g.AddFeature(name); err != nil {
			return fmt.Errorf("create feature: %w", err)
		}
		return os.MkdirAll(s.project.Feature(f.Name), 0o700)
	})
	return f, true, err
}

// wholeWay does the steps that are left, and returns them with what comes next.
func (a *app) wholeWay(ctx context.Context, c *cli.Context, d *features.Planner, r features.Request) (steps []plannedStepJSON, next string, err error) {
	kept := func(step, path string) plannedStepJSON {
		a.note("%s exists and is kept", path)
		return plannedStepJSON{Step: step, Did: "kept", Path: &path, Findings: []string{}, Warnings: []features.Finding{}, Tasks: []string{}}
	}
	has, err := a.tasksOf(ctx, d)
	if err != nil {
		return nil, "", err
	}
	run := "ralph run --feature " + d.Name
	for _, kind := range []features.Kind{features.Spec, features.Plan} {
		path := d.Path(kind.File())
		switch {
		case features.Exists(path) && !d.Begun(kind):
			steps = append(steps, kept(string(kind), path))
			if r.Idea != "" {
				a.note("--from %s is not used for it", r.From)
			}
		case has > 0:
		case kind == features.Spec && r.Idea == "" && d.Ask == nil && !d.Begun(kind):
			return steps, fmt.Sprintf("ralph feature spec %s --from FILE", d.Name), nil
		default:
			step, err := a.document(ctx, d, features.Request{Kind: kind, Idea: r.Idea, From: r.From})
			if errors.Is(err, features.ErrNothing) {
				return steps, "ralph feature spec " + d.Name, nil
			}
			if err != nil {
				return steps, "", err
			}
			steps = append(steps, step)
		}
		r.Idea, r.From = "", "" // it is in the specification now
	}
	if has > 0 {
		a.note("feature %s has %s, which are kept", d.Name, human.Count(has, "task"))
		return steps, run, nil
	}
	if d.Travels() {
		n, err := d.Load(ctx)
		a.note("%s imported from %s", human.Count(n, "task"), d.Path(features.TasksFile))
		return append(steps, kept("build", d.Path(features.TasksFile))), run, err
	}
	step, err := a.build(ctx, c, d, features.Fresh)
	if err != nil || step.Did == "approved" {
		return append(steps, step), run, err
	}
	return append(steps, step), "ralph feature approve " + d.Name, nil
}

func (a *app) tasksOf(ctx context.Context, d *features.Planner) (n int, err error) {
	err = d.Store.View(ctx, func(g *dag.Graph) error {
		f, err := g.Feature(d.Name)
		n = f.Total()
		return err
	})
	return n, err
}
