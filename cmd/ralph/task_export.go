package main

import (
	"fmt"
	"maps"
	"slices"

	"github.com/urfave/cli/v2"

	"ralph/dag"
	"ralph/features"
	"ralph/internal/taskfile"
)

func (a *app) taskExport() command {
	return command{
		name: "export", short: "write the plan as JSON lines; the same plan gives the same bytes",
		flags: []cli.Flag{
			&cli.StringFlag{Name: "feature", Usage: "only tasks of feature `F`"},
			&cli.BoolFlag{DisableDefaultText: true, Name: "with-status", Usage: "also what is done, failed or blocked"},
			&cli.BoolFlag{DisableDefaultText: true, Name: "save", Usage: "write it to the feature's tasks.jsonl, with statuses, instead of stdout"},
		},
		example: "ralph task export > plan.jsonl\nralph task export --feature login --save", exits: "3 no such feature",
		stray: "write it to a file with: ralph task export > ARG",
		run:   a.runTaskExport,
	}
}

func (a *app) runTaskExport(c *cli.Context) error {
	if c.Bool("save") {
		return a.saveFeature(c)
	}
	return a.view(c.Context, func(_ *session, g *dag.Graph) error {
		feature, err := featureByName(g, c.String("feature"))
		if err != nil {
			return err
		}
		items, outside, err := features.Items(g, feature)
		if err != nil {
			return err
		}
		a.noteOutside(outside)
		return taskfile.Write(a.exactOut(), items, c.Bool("with-status"))
	})
}

// saveFeature refreshes the file by which a feature travels in git.
func (a *app) saveFeature(c *cli.Context) error {
	if c.String("feature") == "" {
		return usagef("--save is for one feature: name it with --feature")
	}
	s, err := a.open(c.Context)
	if err != nil {
		return err
	}
	defer s.Close()
	var name string
	err = s.store.View(c.Context, func(g *dag.Graph) (err error) { name, err = featureByName(g, c.String("feature")); return err })
	if err != nil {
		return err
	}
	d := newPlanner(a, s, name, plannerOptions{})
	outside, err := d.Save(c.Context)
	if err != nil {
		return fmt.Errorf("export feature %s: %w", name, err)
	}
	a.noteOutside(outside)
	_, err = fmt.Fprintln(a.stdout, d.Path(features.TasksFile))
	return err
}

func (a *app) noteOutside(outside map[string][]string) {
	for _, id := range slices.Sorted(maps.Keys(outside)) {
		for _, blocker := range outside[id] {
			a.note("warning: %s waits for %s, which is not exported: it must exist where this is imported", id, blocker)
		}
	}
}
