package main

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"ralph/dag"
	"ralph/report"
)

func taskAddCommand(a *app) command {
	return command{
		name: "add", args: "TITLE", short: "add a task and print its ID",
		flags: append(taskFields("work"),
			&cli.StringFlag{Name: "parent", Usage: "make it a subtask of `ID`"},
			&cli.StringFlag{Name: "feature", Usage: "make it part of `FEATURE`; a subtask has its parent's"},
			&cli.StringSliceFlag{Name: "after", Usage: "let it wait for `ID`; repeatable"},
			jsonFlag(),
		),
		example: `design=$(ralph task add "Design the schema")
ralph task add "Write the parser" --after $design --priority -5 -d @parser.md`,
		exits: "1 refused (a cycle, a parent in progress), 3 not found",
		run:   action(a, parseTaskAdd, runTaskAdd),
	}
}

// taskFields are the flags that add and update share; kind is the default.
func taskFields(kind string) []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "description", Aliases: []string{"d"}, Usage: "`TEXT`, @FILE, or - for stdin"},
		&cli.Int64Flag{Name: "priority", Usage: "`N`; lower runs first"},
		&cli.IntFlag{Name: "max-retries", DefaultText: "run.max_retries, 3", Usage: "retry at most `N` times after work was rejected"},
		&cli.StringFlag{Name: "agent", Usage: "`NAME` of the agent for this task"},
		&cli.StringFlag{Name: "model", Usage: "`NAME` of the model for this task"},
		&cli.StringSliceFlag{Name: "gate", Usage: "`CMD` that must succeed before it counts as done; repeatable"},
		&cli.StringFlag{Name: "kind", Usage: "`KIND`: work must change the project, check may be done without a change", Value: kind},
		&cli.BoolFlag{DisableDefaultText: true, Name: "allow-tampering", Usage: "its work may delete or skip tests and change the gates"},
	}
}

// taskAddOptions is what was typed: references are resolved in the transaction.
type taskAddOptions struct {
	task        dag.NewTask
	description string // TEXT, @FILE or -
	feature     string
	parent      string
	after       []string
	json        bool
}

func parseTaskAdd(c *cli.Context) (o taskAddOptions, err error) {
	o = taskAddOptions{
		task: dag.NewTask{
			Title: c.Args().First(), Priority: c.Int64("priority"), Agent: c.String("agent"), Model: c.String("model"),
			Gates: c.StringSlice("gate"), AllowTampering: c.Bool("allow-tampering"),
		},
		description: c.String("description"), feature: c.String("feature"), parent: c.String("parent"),
		after: c.StringSlice("after"), json: c.Bool("json"),
	}
	if o.task.Kind, err = parseKind(c.String("kind")); err != nil {
		return o, err
	}
	o.task.MaxRetries, err = parseMaxRetries(c)
	return o, err
}

// parseMaxRetries is nil where the task leaves it to the configuration.
func parseMaxRetries(c *cli.Context) (*int, error) {
	n := c.Int("max-retries")
	switch {
	case !c.IsSet("max-retries"):
		return nil, nil
	case n < 0:
		return nil, usagef("--max-retries cannot be negative")
	}
	return &n, nil
}

func runTaskAdd(ctx context.Context, a *app, o taskAddOptions) (err error) {
	if o.task.Description, err = readText(a, o.description); err != nil {
		return err
	}
	var added report.TaskView
	err = a.update(ctx, func(s *session, g *dag.Graph) error {
		t := o.task
		if t.Feature, err = featureByName(g, o.feature); err != nil {
			return err
		}
		if o.parent != "" {
			p, err := g.Resolve(o.parent)
			if err != nil {
				return fmt.Errorf("parent: %w", lookUpHint(err))
			}
			t.Parent = p.ID
		}
		for _, typed := range o.after {
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
	if o.json {
		return a.printJSON(added)
	}
	_, err = fmt.Fprintln(a.stdout, added.ID)
	return err
}
