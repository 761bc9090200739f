package main

import (
	"context"
	"fmt"
	"os"

	"github.com/urfave/cli/v2"

	"ralph/dag"
	"ralph/internal/human"
)

func featureDeleteCommand(a *app) command {
	return command{
		name: "delete", args: "NAME", short: "delete a feature with its tasks and its folder",
		flags:   []cli.Flag{yesFlag("do not ask")},
		example: "ralph feature delete login --yes", exits: "1 refused, 3 not found",
		run: action(a, parseFeatureDelete, runFeatureDelete),
	}
}

type featureDeleteOptions struct {
	name string
	yes  bool
}

func parseFeatureDelete(c *cli.Context) (featureDeleteOptions, error) {
	return featureDeleteOptions{c.Args().First(), c.Bool("yes")}, nil
}

func runFeatureDelete(ctx context.Context, a *app, o featureDeleteOptions) error {
	s, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	var f dag.Feature
	err = s.store.View(ctx, func(g *dag.Graph) (err error) { f, err = g.Feature(o.name); return err })
	if err != nil {
		return suggestIn(ctx, s, o.name, hint(err, "see the names with: ralph feature list"))
	}
	with := "with " + human.Count(f.Total(), "task")
	if !o.yes {
		if err := confirm(ctx, a, fmt.Sprintf("delete feature %s %s and its folder?", f.Name, with)); err != nil {
			return err
		}
	}
	p := newPlanner(a, s, f.Name, plannerOptions{})
	// The row goes first: a folder without a feature is only litter.
	err = p.Drop(func() error {
		return s.store.Update(ctx, func(g *dag.Graph) error { return g.DeleteFeature(f.Name) })
	})
	if err != nil {
		return fmt.Errorf("delete feature %s: %w", f.Name, err)
	}
	if err := os.RemoveAll(p.Folder()); err != nil {
		return err
	}
	a.note("feature %s deleted, %s", f.Name, with)
	return nil
}
