package main

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/urfave/cli/v2"

	"ralph/dag"
	"ralph/features"
	"ralph/internal/taskfile"
)

func taskExportCommand(a *app) command {
	return command{
		name: "export", short: "write the plan as JSON lines; the same plan gives the same bytes",
		flags: []cli.Flag{
			&cli.StringFlag{Name: "feature", Usage: "only tasks of `FEATURE`"},
			&cli.BoolFlag{DisableDefaultText: true, Name: "with-status", Usage: "also whether tasks are done, failed or blocked"},
			&cli.BoolFlag{DisableDefaultText: true, Name: "save", Usage: "write it to the feature's tasks.jsonl, with statuses, instead of stdout"},
		},
		example: "ralph task export > plan.jsonl\nralph task export --feature login --save", exits: "3 no such feature",
		stray: "write it to a file with: ralph task export > ARG",
		run:   action(a, parseTaskExport, runTaskExport),
	}
}

type taskExportOptions struct {
	feature          string
	withStatus, save bool
}

func parseTaskExport(c *cli.Context) (taskExportOptions, error) {
	o := taskExportOptions{c.String("feature"), c.Bool("with-status"), c.Bool("save")}
	if o.save && o.feature == "" {
		return o, usagef("--save is for one feature: name it with --feature")
	}
	return o, nil
}

func runTaskExport(ctx context.Context, a *app, o taskExportOptions) error {
	s, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	var name string
	var items []taskfile.Item
	var outside map[string][]string
	err = s.store.View(ctx, func(g *dag.Graph) (err error) {
		if name, err = featureByName(g, o.feature); err == nil && !o.save {
			items, outside, err = features.Items(g, name)
		}
		return err
	})
	if err != nil {
		return err
	}
	d := features.Planner{Name: name, Project: s.project, Store: s.store}
	if o.save { // the file by which a feature travels in git
		if outside, err = d.Save(ctx); err != nil {
			return fmt.Errorf("export feature %s: %w", name, err)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(outside)) {
		for _, blocker := range outside[id] {
			a.note("warning: %s waits for %s, which is not exported: it must exist where this is imported", id, blocker)
		}
	}
	if !o.save {
		return taskfile.Write(a.exactOut(), items, o.withStatus)
	}
	_, err = fmt.Fprintln(a.stdout, d.Path(features.TasksFile))
	return err
}
