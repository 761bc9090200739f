package main

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"ralph/dag"
	"ralph/event"
	"ralph/internal/glob"
	"ralph/proof"
	"ralph/report"
	"ralph/verify"
)

var taskAddCommand = command{
	name: "add", args: "TITLE", short: "add a task and print its ID",
	flags: append(taskFields("work"),
		flagSpec{name: "parent", usage: "make it a subtask of `ID`"},
		flagSpec{name: "feature", usage: "make it part of `FEATURE`; a subtask has its parent's"},
		flagSpec{name: "after", value: []string{}, usage: "let it wait for `ID`; repeatable"},
		jsonFlag,
	),
	example: `design=$(ralph task add "Design the schema")
ralph task add "Write the parser" --after $design --priority -5 -d @parser.md`,
	exits: "1 refused (a cycle, a parent in progress), 3 not found", run: action(runTaskAdd),
}

// taskFields are the flags that add and update share; kind is the default.
func taskFields(kind string) []flagSpec {
	return []flagSpec{
		{name: "description", short: "d", usage: "`TEXT`, @FILE, or - for stdin"},
		{name: "priority", value: int64(0), usage: "`N`; lower runs first"},
		{name: "max-retries", shown: "run.max_retries, 3", value: 0, usage: "retry at most `N` times after work was rejected"},
		{name: "agent", usage: "`NAME` of the agent for this task"},
		{name: "model", usage: "`NAME` of the model for this task"},
		{name: "effort", usage: "how long the model may think: `LEVEL` low, medium or high"},
		{name: "gate", value: []string{}, usage: "`CMD` that must succeed before it counts as done; repeatable"},
		{name: "kind", usage: "`KIND`: work must change the project, check may be done without a change", value: kind},
		{name: "lock", value: []string{}, usage: "run only while no other task has the lock `NAME`; path:DIR locks all below DIR; repeatable"},
		{name: "paths", value: []string{}, usage: "`GLOB` of what it will touch: tasks that touch the same do not run side by side; repeatable"},
		{name: "tag", value: []string{}, usage: "give it the tag `TAG`; repeatable"},
		{name: "proves", value: []string{}, usage: "`CRITERION` of the specification that its tests prove, such as C3; repeatable"},
		{name: "context", value: []string{}, usage: "`CMD` whose output is part of the prompt of each attempt; repeatable"},
		{name: "output", usage: "`NAME` under which the prompts of tasks that wait for it have its result"},
		{name: "timeout", value: "0s", shown: "run.turn_timeout", usage: "let a turn of its agent take at most `DURATION`, such as 90s, 15m or 2h"},
		{name: "on-fail", usage: "what its failure means to tasks that wait for it: `WHAT` is stop or continue", shown: "stop"},
		{name: "expect-red", usage: "`GATE` that has to fail after the work: tests are written first"},
		{name: "may-change", value: []string{}, usage: "`GLOB` of tests, settings or CI files that check its work and that it may change; repeatable"},
	}
}

// taskAddOptions is what was typed: references are resolved in the transaction.
type taskAddOptions struct {
	dag.NewTask // its description as TEXT, @FILE or -
	Args        []string
	Gate, Lock  []string
	Tag         []string
	JSON        bool
}

func (o *taskAddOptions) parse(commandLine) error {
	o.Title, o.Gates, o.Locks, o.Tags = o.Args[0], o.Gate, o.Lock, o.Tag
	if strings.TrimSpace(o.Title) == "" {
		return usagef("a title must not be empty")
	}
	if err := cmp.Or(checkClaims(o.Locks, o.Paths, o.Tags, o.Proves), checkMayChange(o.MayChange)); err != nil {
		return err
	}
	if o.MaxRetries != nil && *o.MaxRetries < 0 {
		return usagef("--max-retries cannot be negative")
	}
	return cmp.Or(checkEffort(o.Effort), checkOnFail(&o.OnFail), checkChoice("kind", o.Kind, dag.Work, dag.Check))
}

// checkOnFail refuses what is not a consequence of a failure. To stop is what a task does that says nothing.
func checkOnFail(o *dag.OnFail) error {
	const stop dag.OnFail = "stop"
	if o == nil || *o == "" {
		return nil
	}
	err := checkChoice("on-fail", *o, stop, dag.Continue)
	if *o == stop {
		*o = ""
	}
	return err
}

// checkEffort refuses what is no effort; none is as configured.
func checkEffort(e dag.Effort) error {
	if e == "" {
		return nil
	}
	return checkChoice("effort", e, dag.Efforts()...)
}

// checkClaims refuses names that are no locks or tags, and globs that could match nothing.
func checkClaims(locks, globs, tags, proves []string) error {
	if err := dag.CheckLocks(locks); err != nil {
		return usagef("--lock: %v", err)
	}
	if err := dag.CheckTags(tags); err != nil {
		return usagef("--tag: %v", err)
	}
	if err := dag.CheckProves(proves); err != nil {
		return usagef("--proves: %v", err)
	}
	for _, pattern := range globs {
		if strings.HasPrefix(pattern, "!") {
			return usagef("--paths: %q takes something out; name what the task touches", pattern)
		}
		if err := glob.Valid(path.Clean(pattern)); err != nil && path.Clean(pattern) != "." {
			return usagef("--paths: %v", err)
		}
	}
	return nil
}

// checkMayChange refuses globs of files that no task can be allowed to change.
func checkMayChange(globs []string) error {
	if err := dag.CheckMayChange(globs); err != nil {
		return usagef("--may-change: %v", err)
	}
	return nil
}

func runTaskAdd(ctx context.Context, a *app, o taskAddOptions) (err error) {
	if o.Description, err = readText(a, o.Description); err != nil {
		return err
	}
	var added []report.TaskView
	var in *session
	var task dag.Task
	err = a.update(ctx, func(s *session, g *dag.Graph) error {
		t := o.NewTask
		if t.Feature, err = featureByName(g, t.Feature); err != nil {
			return err
		}
		if t.Parent != "" {
			p, err := g.Resolve(t.Parent)
			if err != nil {
				return fmt.Errorf("parent: %w", err)
			}
			t.Parent = p.ID
		}
		for i, typed := range t.After {
			b, err := g.Resolve(typed)
			if err != nil {
				return fmt.Errorf("after: %w", err)
			}
			t.After[i] = b.ID
		}
		id, err := g.Add(ofAgent(a, t))
		if err != nil {
			return fmt.Errorf("add task: %w", err)
		}
		if err := discover(a, g, id); err != nil {
			return err
		}
		stored, err := g.Task(id)
		if err == nil {
			err = cmp.Or(checkExpected(s, g, stored), checkCriteria(a, s, stored))
		}
		if err != nil {
			return err
		}
		_ = g.Audit(id, "", t.Title) // the transaction keeps its first error
		in, task = s, stored
		added, err = viewTasks(a, s, g, stored)
		return err
	})
	if err != nil {
		return err
	}
	observeCommand(ctx, a, in, "add", task)
	if o.JSON {
		return a.printJSON(added[0])
	}
	return written(fmt.Fprintln(a.stdout, added[0].ID))
}

// discover notes who added tasks, if an agent did.
func discover(a *app, g *dag.Graph, ids ...string) error {
	run := a.getenv("RALPH_RUN")
	if run == "" {
		return nil
	}
	return g.Discover(run, a.getenv("RALPH_TASK"), ids...)
}

var taskUpdateCommand = command{
	name: "update", args: "ID...", short: "change the text, the settings or the place of tasks",
	long: `What is not given stays as it is. "none" as parent or feature removes the task from it; an empty
agent, model, effort, gate or expect-red, -1 retries or a timeout of 0s restore the configured value; an empty lock, paths,
may-change, tag, proves, context or output removes all of them. A group that lost its last subtask is a task again once --kind says which.
Several tasks are changed together or, if one of them cannot be, not at all. A task that failed because it changed nothing is open
again once it is of kind check, and so is one whose --expect-red names a gate again.`,
	flags: append([]flagSpec{
		{name: "title", usage: "the new `TITLE`"},
		{name: "parent", usage: "make it a subtask of `ID`, or of none"},
		{name: "feature", usage: "make it part of `FEATURE`, or of none"},
		jsonFlag,
	}, taskFields("")...),
	example: `ralph task update 1f0c --title "Write the lexer" --priority 3
ralph task update 1f0c 77aa --parent none`,
	exits: "1 refused (a cycle, a parent in progress), 3 not found", run: action(runTaskUpdate),
}

// taskUpdateOptions is what was typed; nil leaves something as it is.
type taskUpdateOptions struct {
	dag.Edit        // its description as TEXT, @FILE or -
	Args            []string
	Gate, Lock, Tag *[]string
	Parent, Feature *string
	JSON            bool
}

func (o *taskUpdateOptions) parse(c commandLine) error {
	switch {
	case c.NumFlags() == 0, c.NumFlags() == 1 && o.JSON:
		return hint(usagef("nothing to change"), "see: ralph task update --help")
	case o.Title != nil && len(o.Args) > 1:
		return usagef("--title is for one task, not %d", len(o.Args))
	case o.MaxRetries != nil && *o.MaxRetries < -1:
		return usagef("--max-retries is a number, or -1 for the configured one")
	}
	o.Gates, o.Locks, o.Paths, o.Tags, o.Proves, o.Context = emptied(o.Gate), emptied(o.Lock), emptied(o.Paths), emptied(o.Tag), emptied(o.Proves), emptied(o.Context)
	o.MayChange = emptied(o.MayChange)
	if err := cmp.Or(checkClaims(or(o.Locks, nil), or(o.Paths, nil), or(o.Tags, nil), or(o.Proves, nil)), checkMayChange(or(o.MayChange, nil))); err != nil {
		return err
	}
	if err := cmp.Or(checkEffort(or(o.Effort, "")), checkOnFail(o.OnFail)); err != nil || o.Kind == nil {
		return err
	}
	return checkChoice("kind", *o.Kind, dag.Work, dag.Check)
}

// checkExpected refuses a gate that is to fail and is none of the task's.
func checkExpected(s *session, g *dag.Graph, t dag.Task) error {
	shared, err := g.FeatureGates(t.Feature)
	gates := slices.Concat(s.config.Verify.Commands, shared, t.Gates)
	if err != nil || t.ExpectRed == "" || slices.Contains(gates, t.ExpectRed) {
		return err
	}
	return usagef("expect-red: %s", verify.UnknownGate(t.ExpectRed, gates))
}

// checkCriteria warns of criteria that a task is to prove and that its specification does not have, or not yet.
func checkCriteria(a *app, s *session, t dag.Task) error {
	if len(t.Proves) == 0 {
		return nil
	}
	if t.Feature == "" {
		return usagef("--proves: the task belongs to no feature, so there is no specification")
	}
	if unknown := proof.Unknown(t.Proves, proof.Criteria(s.spec(t.Feature))); len(unknown) > 0 {
		a.note("warning: the specification of %s has no criterion %s; see: ralph feature proof %s", t.Feature, strings.Join(unknown, ", "), t.Feature)
	}
	return nil
}

// emptied is a list as it was typed, where one empty text stands for nothing.
func emptied(typed *[]string) *[]string {
	if typed != nil && len(*typed) == 1 && strings.TrimSpace((*typed)[0]) == "" {
		return new([]string)
	}
	return typed
}

func runTaskUpdate(ctx context.Context, a *app, o taskUpdateOptions) (err error) {
	if given := o.Description; given != nil {
		if *given, err = readText(a, *given); err != nil {
			return err
		}
	}
	var after []report.TaskView
	var open []string
	err = a.update(ctx, func(s *session, g *dag.Graph) error {
		tasks, err := resolveTasks(g, o.Args)
		if err != nil {
			return err
		}
		for i, t := range tasks {
			lifts := o.lifts(s, g, t)
			err := o.apply(g, t.ID)
			if err == nil && lifts {
				open, err = append(open, t.ID), g.Reset(t.ID)
			}
			if err != nil {
				return fmt.Errorf("update %s: %w", t.ID, err)
			}
			if tasks[i], err = g.Task(t.ID); err == nil && (o.ExpectRed != nil || o.Gates != nil) {
				err = checkExpected(s, g, tasks[i])
			}
			if err == nil && o.Proves != nil {
				err = checkCriteria(a, s, tasks[i])
			}
			if err != nil {
				return err
			}
		}
		after, err = viewTasks(a, s, g, tasks...)
		return err
	})
	switch {
	case err != nil:
		return err
	case o.JSON && len(o.Args) == 1:
		err = a.printJSON(after[0])
	case o.JSON:
		err = a.printJSON(after)
	default:
		for _, t := range after {
			a.note("%s updated: %s", t.ID, t.Title)
			if slices.Contains(open, t.ID) {
				a.note("%s is open again, as it failed for that: %s", t.ID, t.Title)
			}
		}
	}
	return err
}

// lifts reports whether an update removes what a task failed for, as the error of the failure names it.
func (o taskUpdateOptions) lifts(s *session, g *dag.Graph, t dag.Task) bool {
	attempts, err := g.Attempts(t)
	if err != nil || t.Status != dag.Failed || len(attempts) == 0 {
		return false
	}
	rejected := attempts[len(attempts)-1].Rejected
	if rejected == event.RejectedUnchanged {
		return t.Kind != dag.Check && or(o.Kind, t.Kind) == dag.Check
	}
	return rejected == "" && (o.ExpectRed != nil || o.Gates != nil) && checkExpected(s, g, t) != nil
}

func (o taskUpdateOptions) apply(g *dag.Graph, id string) error {
	if err := g.Edit(id, o.Edit); err != nil {
		return err
	}
	if o.Parent != nil {
		parent := ""
		if typed := *o.Parent; typed != "" && typed != "none" {
			p, err := g.Resolve(typed)
			if err != nil {
				return fmt.Errorf("parent: %w", err)
			}
			parent = p.ID
		}
		if err := g.Move(id, parent); err != nil {
			return err
		}
	}
	if o.Feature == nil {
		return nil
	}
	name := ""
	if *o.Feature != "none" {
		var err error
		if name, err = featureByName(g, *o.Feature); err != nil {
			return err
		}
	}
	return g.SetFeature(id, name)
}
