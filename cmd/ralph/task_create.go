package main

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"ralph/dag"
	"ralph/features"
	"ralph/internal/human"
)

func (a *app) taskCreate() command {
	return command{
		name: "create", args: "[TEXT]", short: "describe work in words; an agent turns it into tasks, shown before they are kept",
		long: `For a handful of tasks that belong to no feature. What is wanted is TEXT, or the text that
--from names, or what you type. The tasks are checked as those of "ralph feature build".`,
		flags: append([]cli.Flag{
			yesFlag("keep the tasks without being asked"),
			&cli.StringFlag{Name: "from", Usage: "say what is wanted with the text of `FILE`; - for stdin"},
		}, plannerFlags()...),
		example: "ralph task create \"Rename the flag --foo to --bar, with a warning for the old name\"",
		exits:   "1 refused (nobody can be asked, no usable answer), 5 no usable agent, " + interrupted,
		run:     a.runTaskCreate,
	}
}

type createdJSON struct {
	Kept     bool               `json:"kept"`
	Tasks    []string           `json:"tasks"`
	Warnings []features.Finding `json:"warnings"`
	Path     *string            `json:"path"`
}

func (a *app) runTaskCreate(c *cli.Context) error {
	if c.NArg() > 1 {
		return hint(usagef("one TEXT, not %d words", c.NArg()), "quote it if it contains spaces")
	}
	if _, err := parseOpener(c); err != nil {
		return err
	}
	idea, from, err := a.idea(c)
	if err != nil {
		return err
	}
	if c.NArg() == 1 {
		if idea != "" {
			return usagef("TEXT or --from, not both")
		}
		if idea, from = c.Args().First(), "the command line"; idea == "" {
			return usagef("TEXT is empty")
		}
	}
	a.log = a.logger()
	s, err := a.open(c.Context)
	if err != nil {
		return err
	}
	defer s.Close()
	d := a.planner(c, s, "")
	return a.attended(c.Context, func(ctx context.Context) error {
		return agentTrouble(a.createTasks(ctx, c, d, features.Wish{Idea: idea, From: from}), "ralph task create")
	})
}

func (a *app) createTasks(ctx context.Context, c *cli.Context, d *features.Planner, wish features.Wish) error {
	if wish.Idea == "" {
		if d.Ask == nil {
			return hint(features.ErrNobody, `say what is wanted: ralph task create "TEXT", or --from FILE`)
		}
		var err error
		if wish.Idea, err = d.Ask(ctx, "What is to be done?"); err != nil {
			return err
		}
		if wish.From = "the terminal"; wish.Idea == "" {
			return features.ErrNothing
		}
	}
	p, err := d.Build(ctx, wish)
	if err != nil {
		return fmt.Errorf("create tasks: %w", buildHint(err, d))
	}
	out := createdJSON{Tasks: []string{}, Warnings: append([]features.Finding{}, p.Findings...), Path: &p.Path}
	for _, t := range p.Tasks {
		out.Tasks = append(out.Tasks, t.ID)
	}
	if err := a.showProposal(c, p); err != nil {
		return err
	}
	keep, err := a.wanted(ctx, c, p)
	if err != nil {
		return err
	}
	if keep {
		if out.Tasks, err = d.Approve(ctx); err != nil {
			return err
		}
		out.Kept, out.Path = true, nil
		a.note("%s kept", human.Count(len(out.Tasks), "task"))
	}
	if c.Bool("json") {
		if err := a.printJSON(out); err != nil {
			return err
		}
	}
	if !keep {
		return hint(fmt.Errorf("%w: the tasks were not kept", dag.ErrRefused), "keep them after all with: ralph task import %s", p.Path)
	}
	return nil
}
