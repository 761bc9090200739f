package main

import (
	"github.com/urfave/cli/v2"

	"ralph/dag"
	"ralph/internal/taskfile"
)

func (a *app) taskExport() command {
	return command{
		name: "export", short: "write the plan as JSON lines; the same plan gives the same bytes",
		flags: []cli.Flag{
			&cli.StringFlag{Name: "feature", Usage: "only tasks of feature `F`"},
			&cli.BoolFlag{DisableDefaultText: true, Name: "with-status", Usage: "also what is done, failed or blocked"},
		},
		example: "ralph task export > plan.jsonl", exits: "3 no such feature",
		run: a.runTaskExport,
	}
}

func (a *app) runTaskExport(c *cli.Context) error {
	if err := none(c); err != nil {
		return hint(err, "write it to a file with: ralph task export > %s", c.Args().First())
	}
	return a.view(c, func(_ *session, g *dag.Graph) error {
		feature, err := featureByName(g, c.String("feature"))
		if err != nil {
			return err
		}
		tasks, err := g.List(dag.Filter{Feature: feature})
		if err != nil {
			return err
		}
		inside := map[string]bool{}
		for _, t := range tasks {
			inside[t.ID] = true
		}
		items := make([]taskfile.Item, len(tasks))
		for i, t := range tasks {
			blockers, err := g.Blockers(t)
			if err != nil {
				return err
			}
			items[i] = taskfile.Item{Task: t, After: ids(blockers)}
			for _, b := range blockers {
				if !inside[b.ID] {
					a.note(c, "warning: %s waits for %s, which is not exported: it must exist where this is imported", t.ID, b.ID)
				}
			}
		}
		return taskfile.Write(a.stdout, items, c.Bool("with-status"))
	})
}
