package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"ralph/dag"
)

func (a *app) taskAdd() command {
	return command{
		name: "add", args: "TITLE", short: "add a task and print its ID",
		flags: append(taskFields("work"),
			&cli.StringFlag{Name: "parent", Usage: "make it a subtask of `ID`"},
			&cli.StringFlag{Name: "feature", Usage: "make it part of feature `F`; a subtask has its parent's"},
			&cli.StringSliceFlag{Name: "after", Usage: "let it wait for `ID`; repeatable"},
			jsonFlag(),
		),
		example: `design=$(ralph task add "Design the schema")
ralph task add "Write the parser" --after $design --priority -5 -d @parser.md`,
		exits: "1 refused (a cycle, a parent in progress), 3 not found",
		run:   a.runTaskAdd,
	}
}

// taskFields are the flags that add and update share; kind is the default.
func taskFields(kind string) []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "description", Aliases: []string{"d"}, Usage: "`TEXT`, @FILE, or - for stdin"},
		&cli.Int64Flag{Name: "priority", Usage: "`N`; lower runs first"},
		&cli.IntFlag{Name: "max-retries", DefaultText: "as configured", Usage: "retry at most `N` times after work was not accepted"},
		&cli.StringFlag{Name: "agent", Usage: "`NAME` of the agent for this task"},
		&cli.StringFlag{Name: "model", Usage: "`NAME` of the model for this task"},
		&cli.StringSliceFlag{Name: "gate", Usage: "`CMD` that must succeed before it counts as done; repeatable"},
		&cli.StringFlag{Name: "kind", Usage: "`KIND`: work changes the project, check only looks at it, so that done without a change is accepted", Value: kind},
		&cli.BoolFlag{DisableDefaultText: true, Name: "allow-tampering", Usage: "its work may delete or skip tests and change what judges it"},
	}
}

func (a *app) runTaskAdd(c *cli.Context) error {
	title, err := one(c, "TITLE")
	if err != nil {
		return err
	}
	t := dag.NewTask{
		Title: title, Priority: c.Int64("priority"), Agent: c.String("agent"), Model: c.String("model"),
		Gates: c.StringSlice("gate"), AllowTampering: c.Bool("allow-tampering"),
	}
	if t.Description, err = a.readText(c.String("description")); err != nil {
		return err
	}
	if t.Kind, err = parseKind(c.String("kind")); err != nil {
		return err
	}
	if c.IsSet("max-retries") {
		n := c.Int("max-retries")
		if n < 0 {
			return usagef("--max-retries cannot be negative")
		}
		t.MaxRetries = &n
	}
	var added taskJSON
	err = a.update(c.Context, func(s *session, g *dag.Graph) error {
		if t.Feature, err = featureByName(g, c.String("feature")); err != nil {
			return err
		}
		if typed := c.String("parent"); typed != "" {
			p, err := g.Resolve(typed)
			if err != nil {
				return fmt.Errorf("parent: %w", lookUpHint(err))
			}
			t.Parent = p.ID
		}
		for _, typed := range c.StringSlice("after") {
			b, err := g.Resolve(typed)
			if err != nil {
				return fmt.Errorf("after: %w", lookUpHint(err))
			}
			t.After = append(t.After, b.ID)
		}
		id, err := g.Add(ofAgent(a, t))
		if err != nil {
			return fmt.Errorf("add task: %w", err)
		}
		stored, err := g.Task(id)
		if err != nil {
			return err
		}
		added, err = asJSON(s, g, stored, a.now())
		return err
	})
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return a.printJSON(added)
	}
	_, err = fmt.Fprintln(a.stdout, added.ID)
	return err
}
