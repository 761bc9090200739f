package main

import (
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"ralph/dag"
	"ralph/internal/taskfile"
)

func (a *app) taskImport() command {
	return command{
		name: "import", args: "FILE|-", short: "add many tasks at once, all or none",
		long: `FILE has one JSON object a line, or the same objects as a YAML list:
  {"ref":"a","title":"Design"}
  {"ref":"b","title":"Build","after":["a"],"parent":null,"priority":0,"feature":"login",
   "description":"...","kind":"work","agent":null,"model":null,"gates":[],"max_retries":null}
(each object on one line). ref is any name to refer to within the file; parent and after take
refs or the IDs of tasks that exist. The order of the file is the order of creation.`,
		flags: []cli.Flag{
			&cli.StringFlag{Name: "format", Usage: "`F`: jsonl or yaml; guessed from the first character if left out"},
			&cli.BoolFlag{DisableDefaultText: true, Name: "dry-run", Usage: "check everything, keep nothing"},
			jsonFlag(),
		},
		example: "ralph task import plan.jsonl --dry-run\nralph task import - < plan.yaml",
		exits:   "1 refused (the error names the line), 3 not found",
		run:     a.runTaskImport,
	}
}

type importedJSON struct {
	DryRun bool     `json:"dry_run"`
	Tasks  []string `json:"tasks"`
}

// errDryRun rolls a transaction back that otherwise went well.
var errDryRun = errors.New("dry run")

func (a *app) runTaskImport(c *cli.Context) error {
	name, err := one(c, "FILE")
	if err != nil {
		return err
	}
	format := taskfile.Format(c.String("format"))
	if format != taskfile.Auto && format != taskfile.JSONL && format != taskfile.YAML {
		return usagef("--format is jsonl or yaml, not %q", format)
	}
	data, err := a.readInput(name)
	if err != nil {
		return err
	}
	specs, err := taskfile.Parse(data, format)
	if err != nil {
		return fmt.Errorf("import %s: %w", name, err)
	}
	if len(specs) == 0 {
		return fmt.Errorf("import %s: %w: there is no task in it", name, dag.ErrRefused)
	}
	dry := c.Bool("dry-run")
	var imported []string
	err = a.update(c, func(_ *session, g *dag.Graph) (err error) {
		if imported, err = g.Import(specs); err != nil {
			return fmt.Errorf("import %s: %w", name, err)
		}
		if dry {
			return errDryRun
		}
		return nil
	})
	if err != nil && !errors.Is(err, errDryRun) {
		return err
	}
	if c.Bool("json") {
		return a.printJSON(importedJSON{DryRun: dry, Tasks: imported})
	}
	if dry {
		a.note(c, "%s would be imported; nothing was changed", plural(len(imported), "task"))
		return nil
	}
	for _, id := range imported {
		if _, err := fmt.Fprintln(a.stdout, id); err != nil {
			return err
		}
	}
	a.note(c, "%s imported", plural(len(imported), "task"))
	return nil
}

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
		return err
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
