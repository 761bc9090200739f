package main

import (
	"context"
	"fmt"
	"strings"

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
		exits: "1 refused (a cycle, a parent in progress), 3 not found", run: action(a, parseTaskAdd, runTaskAdd),
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
		boolFlag("allow-tampering", "its work may delete or skip tests and change the gates"),
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
	return written(fmt.Fprintln(a.stdout, added.ID))
}

func taskUpdateCommand(a *app) command {
	return command{
		name: "update", args: "ID...", short: "change the text, the settings or the place of tasks",
		long: `What is not given stays as it is. "none" as parent or feature removes the task from it; an empty
agent, model or gate, or -1 retries, restore the configured value. Several tasks are changed
together or, if one of them cannot be, not at all.`,
		flags: append([]cli.Flag{
			&cli.StringFlag{Name: "title", Usage: "the new `TITLE`"},
			&cli.StringFlag{Name: "parent", Usage: "make it a subtask of `ID`, or of none"},
			&cli.StringFlag{Name: "feature", Usage: "make it part of `FEATURE`, or of none"},
			jsonFlag(),
		}, taskFields("")...),
		example: `ralph task update 1f0c --title "Write the lexer" --priority 3
ralph task update 1f0c 77aa --parent none`,
		exits: "1 refused (a cycle, a parent in progress), 3 not found", run: action(a, parseTaskUpdate, runTaskUpdate),
	}
}

// taskUpdateOptions is what was typed; nil leaves something as it is.
type taskUpdateOptions struct {
	ids             []string
	edit            dag.Edit // its description as TEXT, @FILE or -
	parent, feature *string
	json            bool
}

// parseSet is nil for a flag that was not given, and else its value.
func parseSet[T any](c *cli.Context, flag string, value T) *T {
	if !c.IsSet(flag) {
		return nil
	}
	return &value
}

func parseTaskUpdate(c *cli.Context) (taskUpdateOptions, error) {
	gates := c.StringSlice("gate")
	if len(gates) == 1 && strings.TrimSpace(gates[0]) == "" {
		gates = nil
	}
	text := func(flag string) *string { return parseSet(c, flag, c.String(flag)) }
	o := taskUpdateOptions{
		ids: c.Args().Slice(), parent: text("parent"), feature: text("feature"), json: c.Bool("json"),
		edit: dag.Edit{
			Title: text("title"), Agent: text("agent"), Model: text("model"), Description: text("description"),
			Priority: parseSet(c, "priority", c.Int64("priority")), MaxRetries: parseSet(c, "max-retries", c.Int("max-retries")),
			Gates: parseSet(c, "gate", gates), AllowTampering: parseSet(c, "allow-tampering", c.Bool("allow-tampering")),
		},
	}
	switch {
	case c.NumFlags() == 0, c.NumFlags() == 1 && o.json:
		return o, hint(usagef("nothing to change"), "see: ralph task update --help")
	case o.edit.Title != nil && len(o.ids) > 1:
		return o, usagef("--title is for one task, not %d", len(o.ids))
	case c.Int("max-retries") < -1:
		return o, usagef("--max-retries is a number, or -1 for the configured one")
	case !c.IsSet("kind"):
		return o, nil
	}
	kind, err := parseKind(c.String("kind"))
	o.edit.Kind = &kind
	return o, err
}

func runTaskUpdate(ctx context.Context, a *app, o taskUpdateOptions) error {
	if given := o.edit.Description; given != nil {
		text, err := readText(a, *given)
		if err != nil {
			return err
		}
		o.edit.Description = &text
	}
	var after []report.TaskView
	err := a.update(ctx, func(s *session, g *dag.Graph) error {
		tasks, err := resolveTasks(g, o.ids)
		if err != nil {
			return err
		}
		for i, t := range tasks {
			if err := o.apply(g, t.ID); err != nil {
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
	case o.json && len(o.ids) == 1:
		return a.printJSON(after[0])
	case o.json:
		return a.printJSON(after)
	}
	for _, t := range after {
		a.note("%s updated: %s", t.ID, t.Title)
	}
	return nil
}

func (o taskUpdateOptions) apply(g *dag.Graph, id string) error {
	if err := g.Edit(id, o.edit); err != nil {
		return err
	}
	if o.parent != nil {
		parent := ""
		if typed := *o.parent; typed != "" && typed != "none" {
			p, err := g.Resolve(typed)
			if err != nil {
				return fmt.Errorf("parent: %w", lookUpHint(err))
			}
			parent = p.ID
		}
		if err := g.Move(id, parent); err != nil {
			return err
		}
	}
	if o.feature == nil {
		return nil
	}
	name := ""
	if *o.feature != "none" {
		var err error
		if name, err = featureByName(g, *o.feature); err != nil {
			return err
		}
	}
	return g.SetFeature(id, name)
}
