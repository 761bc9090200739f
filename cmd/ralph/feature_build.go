package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"ralph/features"
	"ralph/internal/atomicfile"
	"ralph/internal/draw"
	"ralph/internal/human"
	"ralph/internal/taskfile"
	"ralph/internal/term"
)

func yesFlag(what string) cli.Flag {
	return &cli.BoolFlag{DisableDefaultText: true, Name: "yes", Aliases: []string{"y"}, Usage: what}
}

func (a *app) featureBuild() command {
	return command{
		name: "build", args: "NAME", short: "turn plan.md into a graph of tasks, and show it before it counts",
		long: `The agent answers with a task file, or adds tasks by commands in a scratch project. It is
checked without any model: cycles, missing acceptance criteria, vague or oversized tasks, orphan
dependencies, files that do not exist, no gate, a long chain where parallel work is possible.
Errors go back to the agent up to three times; warnings are for you. Nothing is in the graph
until you say yes, here or with "ralph feature approve"; then all of it is, at once, and the
feature's tasks.jsonl is written, which travels in git.`,
		flags: append([]cli.Flag{
			yesFlag("keep the tasks without being asked"),
			replaceFlag("build anew; tasks that the feature has are replaced when the new ones are kept"),
			&cli.BoolFlag{DisableDefaultText: true, Name: "append", Usage: "add to the tasks that the feature has"},
		}, plannerFlags()...),
		example: "ralph feature build login\nralph feature build login --yes",
		exits:   "1 refused (no plan, it has tasks, no usable answer), 3 no such feature, 5 no usable agent, " + interrupted,
		run:     a.runFeatureBuild,
	}
}

func (a *app) featureApprove() command {
	return command{
		name: "approve", args: "NAME", short: "keep the tasks that were proposed by build",
		flags:   []cli.Flag{jsonFlag()},
		example: "ralph feature approve login",
		exits:   "1 refused (nothing is proposed), 3 no such feature",
		run:     a.runFeatureApprove,
	}
}

func (a *app) runFeatureBuild(c *cli.Context) error {
	name, err := oneArg(c, "NAME")
	if err != nil {
		return err
	}
	mode := features.Fresh
	switch {
	case c.Bool("replace") && c.Bool("append"):
		return usagef("--replace or --append, not both")
	case c.Bool("replace"):
		mode = features.Replace
	case c.Bool("append"):
		mode = features.Append
	}
	return a.planning(c, name, func(ctx context.Context, s *session, d *features.Planner) error {
		step, err := a.build(ctx, c, d, mode)
		if err != nil {
			return err
		}
		next := "ralph feature approve " + d.Name
		if step.Did == "approved" {
			next = "ralph run --feature " + d.Name
		}
		return a.printPlanned(c, s, d, next, step)
	})
}

// build takes up the proposal that waits, or has a new one made, shows it, and keeps
// it if that is wished.
func (a *app) build(ctx context.Context, c *cli.Context, d *features.Planner, mode features.Mode) (plannedStepJSON, error) {
	step := plannedStepJSON{Step: "build", Did: "proposed", Findings: []string{}, Warnings: []features.Finding{}, Tasks: []string{}}
	var p *features.Proposal
	var err error
	if mode == features.Fresh {
		if p, err = d.Proposed(ctx); err != nil {
			return step, err
		}
		if p != nil {
			a.note("tasks were proposed before and wait for your word; build anew with --replace")
		}
	}
	if p == nil {
		if p, err = d.Build(ctx, features.Wish{Mode: mode}); err != nil {
			return step, buildHint(fmt.Errorf("feature %s: %w", d.Name, err), d)
		}
	}
	step.Path, step.Warnings = &p.Path, append(step.Warnings, p.Findings...)
	for _, t := range p.Tasks {
		step.Tasks = append(step.Tasks, t.ID)
	}
	if err := a.showProposal(c, p); err != nil {
		return step, err
	}
	keep, err := a.wanted(ctx, c, p)
	if err != nil || !keep {
		return step, err
	}
	if step.Tasks, err = d.Approve(ctx); err != nil {
		return step, fmt.Errorf("feature %s: %w", d.Name, err)
	}
	path := d.Path(features.TasksFile)
	step.Did, step.Path = "approved", &path
	a.note("%s kept, and written to %s", human.Count(len(step.Tasks), "task"), path)
	return step, nil
}

func buildHint(err error, d *features.Planner) error {
	switch {
	case errors.Is(err, features.ErrMissing):
		return hint(err, "write it with: ralph feature plan %s", d.Name)
	case errors.Is(err, features.ErrBuilt):
		return hint(err, "say what should happen to them: --replace or --append")
	case errors.Is(err, features.ErrNoPlan):
		return hint(err, "nothing was changed; see what the agent said in %s, or try again, perhaps with another model", filepath.Join(d.Staging, "build", "logs"))
	}
	return err
}

// wanted asks whether the tasks are to be kept. Where nobody can be asked they wait.
func (a *app) wanted(ctx context.Context, c *cli.Context, p *features.Proposal) (bool, error) {
	if c.Bool("yes") {
		return true, nil
	}
	if !a.asks || c.Bool("no-input") {
		return false, nil
	}
	question := fmt.Sprintf("Keep %s?", human.Count(len(p.Tasks), "task"))
	if gone := replaced(p); gone != "" {
		question = fmt.Sprintf("Keep %s, and delete %s?", human.Count(len(p.Tasks), "task"), gone)
	}
	return a.yes(ctx, question)
}

// yes asks and takes anything but a yes for a no.
func (a *app) yes(ctx context.Context, question string) (bool, error) {
	fmt.Fprintf(a.stderr, "%s [y/N] ", term.Line(question))
	l := a.readLine(ctx)
	answer := strings.ToLower(strings.TrimSpace(l.text))
	return answer == "y" || answer == "yes", l.err
}

func replaced(p *features.Proposal) string {
	total, done := 0, p.Replaced["done"]
	for _, n := range p.Replaced {
		total += n
	}
	switch {
	case total == 0:
		return ""
	case done > 0:
		return fmt.Sprintf("%s that the feature has (%d of them done)", human.Count(total, "task"), done)
	default:
		return human.Count(total, "task") + " that the feature has"
	}
}

// showProposal draws the graph as a tree and as waves, and leaves a picture beside it.
func (a *app) showProposal(c *cli.Context, p *features.Proposal) error {
	for _, f := range p.Findings {
		a.note("%s: %s", f.Level, f)
	}
	nodes := proposedNodes(p.Tasks)
	var picture strings.Builder
	if err := draw.Mermaid(&picture, nodes); err != nil {
		return err
	}
	file := filepath.Join(filepath.Dir(p.Path), "graph.mmd")
	if err := atomicfile.Write(file, []byte(picture.String())); err != nil {
		return err
	}
	if c.Bool("json") {
		return nil
	}
	style := a.treeStyle()
	style.After = true
	if err := draw.Tree(a.stdout, nodes, style); err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "\nwhat can be done side by side:\n")
	if err := draw.Waves(a.stdout, nodes, style); err != nil {
		return err
	}
	a.showCommands(p.Tasks)
	if gone := replaced(p); gone != "" {
		a.note("they replace %s", gone)
	}
	if !c.Bool("yes") { // kept tasks leave nothing behind in staging
		a.note("the picture, for a Mermaid viewer: %s", file)
	}
	return nil
}

// showCommands lists what ralph itself would run for the tasks: an agent thought of it.
func (a *app) showCommands(tasks []taskfile.Item) {
	p := a.palette()
	title := "\nwhat ralph will run for them:\n"
	for _, t := range tasks {
		lines := t.Gates
		if t.Agent != "" {
			lines = append([]string{"agent " + t.Agent}, lines...)
		}
		for _, line := range lines {
			fmt.Fprintf(a.stdout, "%s    │ %s  %s\n", title, p.Cyan(t.ID), term.Line(line))
			title = ""
		}
	}
}

func proposedNodes(tasks []taskfile.Item) []draw.Node {
	groups := map[string]bool{}
	for _, t := range tasks {
		groups[t.Parent] = true
	}
	nodes := make([]draw.Node, len(tasks))
	for i, t := range tasks {
		state := "new"
		if groups[t.ID] {
			state = "group"
		}
		nodes[i] = draw.Node{ID: t.ID, Title: term.Line(t.Title), State: state, Parent: t.Parent, After: t.After}
	}
	return nodes
}

func (a *app) runFeatureApprove(c *cli.Context) error {
	name, err := oneArg(c, "NAME")
	if err != nil {
		return err
	}
	return a.planning(c, name, func(ctx context.Context, s *session, d *features.Planner) error {
		ids, err := d.Approve(ctx)
		if errors.Is(err, features.ErrNoProposal) {
			return hint(fmt.Errorf("feature %s: %w", d.Name, err), "propose some with: ralph feature build %s", d.Name)
		}
		if err != nil {
			return fmt.Errorf("feature %s: %w", d.Name, err)
		}
		path := d.Path(features.TasksFile)
		a.note("%s kept, and written to %s", human.Count(len(ids), "task"), path)
		return a.printPlanned(c, s, d, "ralph run --feature "+d.Name, plannedStepJSON{
			Step: "build", Did: "approved", Path: &path, Findings: []string{}, Warnings: []features.Finding{}, Tasks: ids,
		})
	})
}
