package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"ralph/dag"
	"ralph/features"
	"ralph/report"
)

func featureCreateCommand(a *app) command {
	return command{
		name: "create", args: "NAME", short: "take a feature from an idea to tasks that can run: spec, plan, build",
		long: `Does "spec", "plan" and "build" in order and skips what exists. Without a terminal and
without --from it only makes a draft, a row and a folder, and prints what to do next; so does
--draft. A feature needs no documents: you can add tasks by hand.`,
		flags: append(append([]cli.Flag{
			&cli.BoolFlag{DisableDefaultText: true, Name: "draft", Usage: "only make a draft"},
			yesFlag("keep the tasks without asking"),
		}, sourceFlags()...), plannerFlags()...),
		example: "ralph feature create login\nralph feature create login --from idea.md --yes --no-input",
		exits:   "1 refused (the name exists, or could be a path or an ID), 5 no usable agent, " + interrupted,
		run:     action(a, parseFeatureCreate, runFeatureCreate),
	}
}

type featureCreateOptions struct {
	plannerOptions
	name, from string
	draft      bool
}

func parseFeatureCreate(c *cli.Context) (featureCreateOptions, error) {
	o, err := parsePlanner(c)
	return featureCreateOptions{o, c.Args().First(), c.String("from"), c.Bool("draft")}, err
}

func runFeatureCreate(ctx context.Context, a *app, o featureCreateOptions) error {
	idea, err := readIdea(a, o.from)
	if err != nil {
		return err
	}
	if o.draft || idea == "" && !a.asks && !o.noInput {
		return createDraft(ctx, a, o)
	}
	a.log = a.logger()
	s, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	p := newPlanner(a, s, o.name, o.plannerOptions)
	if _, err = p.Enter(ctx); errors.Is(err, dag.ErrNotFound) {
		var f dag.Feature
		err = s.store.Update(ctx, func(g *dag.Graph) (err error) { f, err = p.Add(g); return err })
		if err == nil && !o.json {
			_, err = fmt.Fprintln(a.stdout, f.ID)
		}
	}
	if err != nil {
		return err
	}
	var planned plannedJSON
	err = attended(ctx, a, func(ctx context.Context) (err error) {
		planned.Steps, planned.Next, err = p.Create(ctx, features.Request{Idea: idea, From: o.from})
		return planningHint(p, err, "ralph feature create "+p.Name)
	})
	if err != nil {
		return err
	}
	return printPlanned(ctx, a, s, planned, p.Name, o.json)
}

// createDraft makes a row and a folder.
func createDraft(ctx context.Context, a *app, o featureCreateOptions) error {
	var made report.FeatureView
	err := a.update(ctx, func(s *session, g *dag.Graph) error {
		f, err := newPlanner(a, s, o.name, o.plannerOptions).Add(g)
		made = viewFeature(s, f)
		return err
	})
	if err != nil {
		return err
	}
	if o.json {
		return a.printJSON(made)
	}
	if _, err := fmt.Fprintln(a.stdout, made.ID); err != nil {
		return err
	}
	a.note("feature %s created, as a draft", made.Name)
	a.note("next: ralph feature spec %s --from FILE; or add tasks by hand: ralph task add \"TITLE\" --feature %s", made.Name, made.Name)
	return nil
}
