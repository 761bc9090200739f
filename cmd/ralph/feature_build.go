package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"ralph/features"
	"ralph/internal/atomicfile"
	"ralph/internal/human"
	"ralph/internal/render/draw"
	"ralph/internal/seq"
	"ralph/internal/taskfile"
	"ralph/internal/term"
)

func yesFlag(what string) flagSpec { return boolFlag("yes", what, "y") }

var featureBuildCommand = command{
	name: "build", args: "NAME", short: "turn plan.md into a graph of tasks, and show it before it counts",
	long: `The agent answers with a task file, or adds tasks by commands in a scratch project. They are
checked without any model: cycles, missing acceptance criteria, vague or oversized tasks, orphan
dependencies, files that do not exist, no gate, a long chain where parallel work is possible.
Errors go back to the agent up to three times; warnings are for you. Nothing is in the graph
until you say yes, here or with "ralph feature approve"; then all tasks are added at once, and
the feature's tasks.jsonl is written, which you can commit.

A template makes the tasks instead, if --template names one or the plan has a line such as
"Template: go-feature; parts = form, session".`,
	flags: append([]flagSpec{
		yesFlag("keep the tasks without asking"),
		replaceFlag("build again; the new tasks replace those of the feature once you keep them"),
		boolFlag("append", "add to the tasks that the feature has"),
		{name: "template", usage: "take the tasks of the template `NAME`, and ask no agent; see ralph template"},
		varFlag(),
	}, plannerFlags()...),
	example: "ralph feature build login\nralph feature build login --yes\nralph feature build login --template go-feature --var parts=form,session",
	exits:   "1 refused (no plan, it has tasks, no usable answer), 3 no such feature, 5 no usable agent, " + interrupted,
	run:     planStep(buildTasks),
}

func buildTasks(ctx context.Context, p *features.Planner, o plannerOptions) (features.Step, error) {
	mode := features.Fresh
	switch {
	case o.Replace:
		mode = features.Replace
	case o.Append:
		mode = features.Append
	}
	return p.Build(ctx, features.Wish{Mode: mode, Template: features.Template{Name: o.Template, Vars: o.Var}})
}

var featureApproveCommand = command{
	name: "approve", args: "NAME", short: "keep the tasks that build proposed", flags: []flagSpec{jsonFlag},
	example: "ralph feature approve login", exits: "1 refused (nothing is proposed), 3 no such feature",
	run: planStep(func(ctx context.Context, p *features.Planner, _ plannerOptions) (features.Step, error) {
		return p.Approve(ctx)
	}),
}

// tasksConfirmer shows proposed tasks and asks whether to keep them. Where nobody can be
// asked they wait.
func tasksConfirmer(a *app, o plannerOptions) func(context.Context, *features.Proposal) (bool, error) {
	return func(ctx context.Context, p *features.Proposal) (bool, error) {
		if err := showProposal(a, o, p); err != nil || o.Yes || !a.asks || o.NoInput {
			return o.Yes, err
		}
		question := "Keep " + human.Count(len(p.Tasks), "task")
		if gone := replaced(p); gone != "" {
			question += ", and delete " + gone
		}
		return yes(ctx, a, question+"?")
	}
}

func replaced(p *features.Proposal) string {
	total, done := 0, p.Replaced["done"]
	for _, n := range p.Replaced {
		total += n
	}
	if total == 0 {
		return ""
	}
	text := human.Count(total, "task") + " that the feature has"
	if done > 0 {
		text += fmt.Sprintf(" (%d of them done)", done)
	}
	return text
}

// showProposal draws the graph as a tree and as waves, and writes a picture next to it.
func showProposal(a *app, o plannerOptions, p *features.Proposal) error {
	for _, f := range p.Findings {
		a.note("%s: %s", f.Level, f)
	}
	nodes := proposedNodes(p.Tasks)
	file := filepath.Join(filepath.Dir(p.Path), "graph.mmd")
	if err := atomicfile.Write(file, []byte(draw.Mermaid(nodes))); err != nil {
		return err
	}
	if o.JSON {
		return nil
	}
	style := treeStyle(a)
	style.After = true
	_, err := fmt.Fprintf(a.stdout, "%s\nwhat can run in parallel:\n%s", draw.Tree(nodes, style), draw.Waves(nodes, style))
	if err != nil {
		return err
	}
	showCommands(a, p.Tasks)
	if gone := replaced(p); gone != "" {
		a.note("they replace %s", gone)
	}
	if !o.Yes { // kept tasks leave nothing behind in staging
		a.note("the picture, for a Mermaid viewer: %s", file)
	}
	return nil
}

// showCommands lists what ralph itself would run for the tasks, and what checks they may change: an agent thought of it.
func showCommands(a *app, tasks []taskfile.Item) {
	p := a.palette()
	title := "\nwhat ralph will run for them:\n"
	for _, t := range tasks {
		lines := slices.Concat(t.Context, t.Gates)
		if t.Agent != "" {
			lines = append([]string{"agent " + t.Agent}, lines...)
		}
		if t.Agent == "shell" {
			lines = append(lines, strings.Split(strings.TrimSpace(t.Description), "\n")...)
		}
		for _, line := range lines {
			fmt.Fprintf(a.stdout, "%s    │ %s  %s\n", title, p.Cyan(t.ID), term.Line(line))
			title = ""
		}
	}
	title = "\nwhich of the files that check them they may change:\n"
	for _, t := range tasks {
		if len(t.MayChange) > 0 {
			fmt.Fprintf(a.stdout, "%s    │ %s  %s\n", title, p.Cyan(t.ID), term.Line(strings.Join(t.MayChange, ", ")))
			title = ""
		}
	}
}

func proposedNodes(tasks []taskfile.Item) []draw.Node {
	groups := seq.Set(tasks, func(t taskfile.Item) string { return t.Parent })
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
