package planning

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"ralph/features"
	"ralph/internal/atomicfile"
	"ralph/internal/cli"
	"ralph/internal/cli/show"
	"ralph/internal/human"
	"ralph/internal/render/draw"
	"ralph/internal/seq"
	"ralph/internal/taskfile"
	"ralph/internal/term"
)

// tasksConfirmer shows proposed tasks and asks whether to keep them. Where nobody can be
// asked they wait.
func tasksConfirmer(a *cli.App, o PlannerOptions) func(context.Context, *features.Proposal) (bool, error) {
	return func(ctx context.Context, p *features.Proposal) (bool, error) {
		if err := showProposal(a, o, p); err != nil || o.Yes || !a.Asks || o.NoInput {
			return o.Yes, err
		}
		question := "Keep " + human.Count(len(p.Tasks), "task")
		if gone := replaced(p); gone != "" {
			question += ", and delete " + gone
		}
		return cli.Yes(ctx, a, question+"?")
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
func showProposal(a *cli.App, o PlannerOptions, p *features.Proposal) error {
	for _, f := range p.Findings {
		a.Note("%s: %s", f.Level, f)
	}
	nodes := proposedNodes(p.Tasks)
	file := filepath.Join(filepath.Dir(p.Path), "graph.mmd")
	if err := atomicfile.Write(file, []byte(draw.Mermaid(nodes))); err != nil {
		return err
	}
	if o.JSON {
		return nil
	}
	style := show.TreeStyle(a)
	style.After = true
	_, err := fmt.Fprintf(a.Stdout, "%s\nwhat can run in parallel:\n%s", draw.Tree(nodes, style), draw.Waves(nodes, style))
	if err != nil {
		return err
	}
	showCommands(a, p.Tasks)
	if gone := replaced(p); gone != "" {
		a.Note("they replace %s", gone)
	}
	if !o.Yes { // kept tasks leave nothing behind in staging
		a.Note("the picture, for a Mermaid viewer: %s", file)
	}
	return nil
}

// showCommands lists what ralph itself would run for the tasks, and what checks they may change: an agent thought of it.
func showCommands(a *cli.App, tasks []taskfile.Item) {
	p := a.Palette()
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
			fmt.Fprintf(a.Stdout, "%s    │ %s  %s\n", title, p.Cyan(t.ID), term.Line(line))
			title = ""
		}
	}
	title = "\nwhich of the files that check them they may change:\n"
	for _, t := range tasks {
		if len(t.MayChange) > 0 {
			fmt.Fprintf(a.Stdout, "%s    │ %s  %s\n", title, p.Cyan(t.ID), term.Line(strings.Join(t.MayChange, ", ")))
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
