package taskcmd

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"ralph/dag"
	"ralph/internal/cli"
	"ralph/internal/cli/show"
	"ralph/internal/cli/wiring"
	"ralph/internal/event"
	"ralph/internal/glob"
	"ralph/internal/proof"
	"ralph/internal/report"
	"ralph/verify"
)

var taskAddCommand = cli.Command{
	Name: "add", Args: "TITLE", Short: "add a task and print its ID",
	Flags: append(taskFields(true),
		cli.Flag{Name: "parent", Usage: "make it a subtask of `ID`"},
		cli.Flag{Name: "feature", Usage: "make it part of `FEATURE`; a subtask has its parent's"},
		cli.Flag{Name: "after", Value: []string{}, Usage: "let it wait for `ID`; repeatable"},
		cli.JSONFlag,
	),
	Example: `design=$(ralph task add "Design the schema")
ralph task add "Write the parser" --after $design --priority -5 -d @parser.md`,
	Exits: "1 refused (a cycle, a parent in progress), 3 not found", Run: cli.Action(runTaskAdd),
}

// taskFields are the flags that add and update share, as dag.Fields has them.
func taskFields(adds bool) (flags []cli.Flag) {
	for _, f := range dag.Fields {
		value := f.Value()
		if value == "" && adds {
			value = f.Default
		}
		if !adds || f.Name != "title" { // which is the argument
			flags = append(flags, cli.Flag{Name: f.Flag, Short: f.Short, Usage: f.Help, Value: value, Shown: f.Shown})
		}
	}
	return flags
}

// parseTaskFields are the fields of a task that were typed, and their names. With none, one empty text stands for an empty list.
func parseTaskFields(c cli.CommandLine, none bool) (d dag.Detail, names []string, err error) {
	for _, f := range dag.Fields {
		if !c.IsSet(f.Flag) {
			continue
		}
		typed := c.StringSlice(f.Flag)
		switch {
		case !f.IsList():
			typed = []string{fmt.Sprint(c.Value(f.Flag))}
		case none && len(typed) == 1 && strings.TrimSpace(typed[0]) == "":
			typed = nil
		}
		if choices := f.Choices(); choices != nil && (typed[0] != "" || f.Default != "") {
			if err := cli.CheckChoice(f.Flag, typed[0], choices...); err != nil {
				return d, nil, err
			}
		}
		if f.Name == "paths" {
			if err := checkGlobs(typed); err != nil {
				return d, nil, err
			}
		}
		err := f.Parse(&d, typed...)
		if err == nil && f.Names {
			err = f.Check(&d)
		}
		if err != nil {
			return d, nil, cli.Usagef("--%s: %v", f.Flag, err)
		}
		names = append(names, f.Name)
	}
	return d, names, nil
}

// checkGlobs refuses globs that could match nothing.
func checkGlobs(globs []string) error {
	for _, pattern := range globs {
		if strings.HasPrefix(pattern, "!") {
			return cli.Usagef("--paths: %q takes something out; name what the task touches", pattern)
		}
		if err := glob.Valid(path.Clean(pattern)); err != nil && path.Clean(pattern) != "." {
			return cli.Usagef("--paths: %v", err)
		}
	}
	return nil
}

// taskAddOptions is what was typed: references are resolved in the transaction.
type taskAddOptions struct {
	Args            []string
	Parent, Feature string
	After           []string
	JSON            bool
	said            dag.Detail // its description as TEXT, @FILE or -
}

func (o *taskAddOptions) Parse(c cli.CommandLine) (err error) {
	if o.said, _, err = parseTaskFields(c, false); err != nil {
		return err
	}
	if o.said.Title = o.Args[0]; strings.TrimSpace(o.said.Title) == "" {
		return cli.Usagef("a title must not be empty")
	}
	if c.Int("max-retries") < 0 {
		return cli.Usagef("--max-retries cannot be negative")
	}
	for _, name := range []string{"when", "notify"} { // an empty variable must not make a task of another kind
		if f, _ := dag.FieldNamed(name); c.IsSet(name) && f.Empty(o.said) {
			return cli.Usagef("--%s is empty", name)
		}
	}
	return nil
}

func runTaskAdd(ctx context.Context, a *cli.App, o taskAddOptions) (err error) {
	if o.said.Description, err = cli.ReadText(a, o.said.Description); err != nil {
		return err
	}
	var added []report.TaskView
	var in *cli.Session
	var task dag.Task
	err = a.Update(ctx, func(s *cli.Session, g *dag.Graph) error {
		t := dag.NewTask{Detail: o.said, Parent: o.Parent, Feature: o.Feature, After: o.After}
		if t.Feature, err = cli.FeatureByName(g, t.Feature); err != nil {
			return err
		}
		if t.Parent != "" {
			p, err := g.Tasks.Resolve(t.Parent)
			if err != nil {
				return fmt.Errorf("parent: %w", err)
			}
			t.Parent = p.ID
		}
		for i, typed := range t.After {
			b, err := g.Tasks.Resolve(typed)
			if err != nil {
				return fmt.Errorf("after: %w", err)
			}
			t.After[i] = b.ID
		}
		id, err := g.Plan.Add(cli.OfAgent(a, t))
		if err != nil {
			return fmt.Errorf("add task: %w", err)
		}
		if err := discover(a, g, id); err != nil {
			return err
		}
		stored, err := g.Tasks.Get(id)
		if err == nil {
			err = cmp.Or(checkExpected(s, g, stored), checkCriteria(a, s, stored))
		}
		if err != nil {
			return err
		}
		_ = g.History.Audit(id, "", t.Title) // the transaction keeps its first error
		in, task = s, stored
		added, err = show.ViewTasks(a, s, g, stored)
		return err
	})
	if err != nil {
		return err
	}
	wiring.ObserveCommand(ctx, a, in, "add", task)
	if o.JSON {
		return a.PrintJSON(added[0])
	}
	return cli.Written(fmt.Fprintln(a.Stdout, added[0].ID))
}

// discover notes who added tasks, if an agent did.
func discover(a *cli.App, g *dag.Graph, ids ...string) error {
	run := a.Getenv("RALPH_RUN")
	if run == "" {
		return nil
	}
	return g.Plan.Discover(run, a.Getenv("RALPH_TASK"), ids...)
}

var taskUpdateCommand = cli.Command{
	Name: "update", Args: "ID...", Short: "change the text, the settings or the place of tasks",
	Long: `What is not given stays as it is. "none" as parent or feature removes the task from it; an empty
agent, model, effort, gate or expect-red, -1 retries or a timeout of 0s restore the configured value; an empty lock, paths,
may-change, tag, proves, context or output removes all of them. A group that lost its last subtask is a task again once --kind says which.
Several tasks are changed together or, if one of them cannot be, not at all. A task that failed because it changed nothing is open
again once it is of kind check, and so is one whose --expect-red names a gate again.`,
	Flags: append([]cli.Flag{
		{Name: "parent", Usage: "make it a subtask of `ID`, or of none"},
		{Name: "feature", Usage: "make it part of `FEATURE`, or of none"},
		cli.JSONFlag,
	}, taskFields(false)...),
	Example: `ralph task update 1f0c --title "Write the lexer" --priority 3
ralph task update 1f0c 77aa --parent none`,
	Exits: "1 refused (a cycle, a parent in progress), 3 not found", Run: cli.Action(runTaskUpdate),
}

// taskUpdateOptions is what was typed; nil leaves something as it is.
type taskUpdateOptions struct {
	Args            []string
	Parent, Feature *string
	JSON            bool
	said            dag.Detail // its description as TEXT, @FILE or -
	names           []string   // of the fields that were typed
}

func (o *taskUpdateOptions) Parse(c cli.CommandLine) (err error) {
	o.said, o.names, err = parseTaskFields(c, true)
	switch {
	case c.NumFlags() == 0, c.NumFlags() == 1 && o.JSON:
		return cli.Hint(cli.Usagef("nothing to change"), "see: ralph task update --help")
	case o.typed("title") && len(o.Args) > 1:
		return cli.Usagef("--title is for one task, not %d", len(o.Args))
	case c.Int("max-retries") < -1:
		return cli.Usagef("--max-retries is a number, or -1 for the configured one")
	}
	return err
}

// typed reports whether one of some fields was typed.
func (o *taskUpdateOptions) typed(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return slices.Contains(o.names, name) })
}

// checkExpected refuses a gate that is to fail and is none of the task's.
func checkExpected(s *cli.Session, g *dag.Graph, t dag.Task) error {
	shared, err := g.Plan.FeatureGates(t.Feature)
	gates := slices.Concat(s.Config.Verify.Commands, shared, t.Gates)
	if err != nil || t.ExpectRed == "" || slices.Contains(gates, t.ExpectRed) {
		return err
	}
	return cli.Usagef("expect-red: %s", verify.UnknownGate(t.ExpectRed, gates))
}

// checkCriteria warns of criteria that a task is to prove and that its specification does not have, or not yet.
func checkCriteria(a *cli.App, s *cli.Session, t dag.Task) error {
	if len(t.Proves) == 0 {
		return nil
	}
	if t.Feature == "" {
		return cli.Usagef("--proves: the task belongs to no feature, so there is no specification")
	}
	if unknown := proof.Unknown(t.Proves, proof.Criteria(wiring.SpecOf(s, t.Feature))); len(unknown) > 0 {
		a.Note("warning: the specification of %s has no criterion %s; see: ralph feature proof %s", t.Feature, strings.Join(unknown, ", "), t.Feature)
	}
	return nil
}

func runTaskUpdate(ctx context.Context, a *cli.App, o taskUpdateOptions) (err error) {
	if o.said.Description, err = cli.ReadText(a, o.said.Description); err != nil {
		return err
	}
	var after []report.TaskView
	var open []string
	err = a.Update(ctx, func(s *cli.Session, g *dag.Graph) error {
		tasks, err := cli.ResolveTasks(g, o.Args)
		if err != nil {
			return err
		}
		for i, t := range tasks {
			lifts := o.lifts(s, g, t)
			err := o.apply(g, t.ID)
			if err == nil && lifts {
				open, err = append(open, t.ID), g.Tasks.Reset(t.ID)
			}
			if err != nil {
				return fmt.Errorf("update %s: %w", t.ID, err)
			}
			if tasks[i], err = g.Tasks.Get(t.ID); err == nil && o.typed("expect_red", "gates") {
				err = checkExpected(s, g, tasks[i])
			}
			if err == nil && o.typed("proves") {
				err = checkCriteria(a, s, tasks[i])
			}
			if err != nil {
				return err
			}
		}
		after, err = show.ViewTasks(a, s, g, tasks...)
		return err
	})
	switch {
	case err != nil:
		return err
	case o.JSON && len(o.Args) == 1:
		err = a.PrintJSON(after[0])
	case o.JSON:
		err = a.PrintJSON(after)
	default:
		for _, t := range after {
			a.Note("%s updated: %s", t.ID, t.Title)
			if slices.Contains(open, t.ID) {
				a.Note("%s is open again, as it failed for that: %s", t.ID, t.Title)
			}
		}
	}
	return err
}

// lifts reports whether an update removes what a task failed for, as the error of the failure names it.
func (o taskUpdateOptions) lifts(s *cli.Session, g *dag.Graph, t dag.Task) bool {
	attempts, err := g.History.Attempts(t)
	if err != nil || t.Status != dag.Failed || len(attempts) == 0 {
		return false
	}
	rejected := attempts[len(attempts)-1].Rejected
	if rejected == event.RejectedUnchanged {
		return t.Kind != dag.Check && o.typed("kind") && o.said.Kind == dag.Check
	}
	return rejected == "" && o.typed("expect_red", "gates") && checkExpected(s, g, t) != nil
}

func (o taskUpdateOptions) apply(g *dag.Graph, id string) error {
	if err := g.Plan.Edit(id, o.said, o.names...); err != nil {
		return err
	}
	if o.Parent != nil {
		parent := ""
		if typed := *o.Parent; typed != "" && typed != "none" {
			p, err := g.Tasks.Resolve(typed)
			if err != nil {
				return fmt.Errorf("parent: %w", err)
			}
			parent = p.ID
		}
		if err := g.Plan.Move(id, parent); err != nil {
			return err
		}
	}
	if o.Feature == nil {
		return nil
	}
	name := ""
	if *o.Feature != "none" {
		var err error
		if name, err = cli.FeatureByName(g, *o.Feature); err != nil {
			return err
		}
	}
	return g.Plan.SetFeature(id, name)
}
