package main

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"ralph/dag"
)

func (a *app) taskUpdate() command {
	return command{
		name: "update", args: "ID...", short: "change what tasks say or where they belong",
		long: `What is not given stays as it is. "none" as parent or feature takes the task out of it;
an empty agent, model or gate, or -1 retries, go back to the configured ones. Several tasks are
changed together or, if one of them cannot be, not at all.`,
		flags: append([]cli.Flag{
			&cli.StringFlag{Name: "title", Usage: "the new `TITLE`"},
			&cli.StringFlag{Name: "parent", Usage: "make it a subtask of `ID`, or of none"},
			&cli.StringFlag{Name: "feature", Usage: "make it part of feature `F`, or of none"},
			jsonFlag(),
		}, taskFields("")...),
		example: `ralph task update 1f0c --title "Write the lexer" --priority 3
ralph task update 1f0c 77aa --parent none`,
		exits: "1 refused (a cycle, a parent in progress), 3 not found",
		run:   a.runTaskUpdate,
	}
}

func (a *app) runTaskUpdate(c *cli.Context) error {
	if c.NumFlags() == 0 || (c.NumFlags() == 1 && c.Bool("json")) {
		return hint(usagef("nothing to change"), "see: ralph task update --help")
	}
	edit, err := a.edit(c)
	if err != nil {
		return err
	}
	if c.IsSet("title") && c.NArg() > 1 {
		return usagef("--title is for one task, not %d", c.NArg())
	}
	var after []taskJSON
	err = a.update(c.Context, func(s *session, g *dag.Graph) error {
		tasks, err := resolveAll(c, g)
		if err != nil {
			return err
		}
		for i, t := range tasks {
			if err := g.Edit(t.ID, edit); err != nil {
				return fmt.Errorf("update %s: %w", t.ID, err)
			}
			if err := moveTask(c, g, t); err != nil {
				return fmt.Errorf("update %s: %w", t.ID, err)
			}
			if tasks[i], err = g.Task(t.ID); err != nil {
				return err
			}
		}
		after, err = allJSON(s, g, tasks, a.now())
		return err
	})
	switch {
	case err != nil:
		return err
	case c.Bool("json") && c.NArg() == 1:
		return a.printJSON(after[0])
	case c.Bool("json"):
		return a.printJSON(after)
	}
	for _, t := range after {
		a.note("%s updated: %s", t.ID, t.Title)
	}
	return nil
}

func (a *app) edit(c *cli.Context) (dag.Edit, error) {
	var e dag.Edit
	text := func(flag string) *string {
		if !c.IsSet(flag) {
			return nil
		}
		s := c.String(flag)
		return &s
	}
	e.Title, e.Agent, e.Model = text("title"), text("agent"), text("model")
	if given := text("description"); given != nil {
		s, err := a.readText(*given)
		if err != nil {
			return e, err
		}
		e.Description = &s
	}
	if c.IsSet("priority") {
		n := c.Int64("priority")
		e.Priority = &n
	}
	if c.IsSet("max-retries") {
		n := c.Int("max-retries")
		if n < -1 {
			return e, usagef("--max-retries is a number, or -1 for the configured one")
		}
		e.MaxRetries = &n
	}
	if c.IsSet("gate") {
		gates := c.StringSlice("gate")
		if len(gates) == 1 && strings.TrimSpace(gates[0]) == "" {
			gates = nil
		}
		e.Gates = &gates
	}
	if c.IsSet("allow-tampering") {
		allow := c.Bool("allow-tampering")
		e.AllowTampering = &allow
	}
	if c.IsSet("kind") {
		k, err := parseKind(c.String("kind"))
		if err != nil {
			return e, err
		}
		e.Kind = &k
	}
	return e, nil
}

// moveTask puts a task below another parent or into another feature.
func moveTask(c *cli.Context, g *dag.Graph, t dag.Task) error {
	if c.IsSet("parent") {
		parent := ""
		if typed := c.String("parent"); typed != "" && typed != "none" {
			p, err := g.Resolve(typed)
			if err != nil {
				return fmt.Errorf("parent: %w", lookUpHint(err))
			}
			parent = p.ID
		}
		if err := g.Move(t.ID, parent); err != nil {
			return err
		}
	}
	if !c.IsSet("feature") {
		return nil
	}
	typed := c.String("feature")
	if typed == "none" {
		typed = ""
	}
	name, err := featureByName(g, typed)
	if err != nil {
		return err
	}
	return g.SetFeature(t.ID, name)
}
