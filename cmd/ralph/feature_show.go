package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"ralph/dag"
	"ralph/features"
	"ralph/internal/render/draw"
	"ralph/report"
)

func featureShowCommand(a *app) command {
	return command{
		name: "show", args: "NAME", short: "show a feature with its tasks",
		flags:   []cli.Flag{jsonFlag()},
		example: "ralph feature show login", exits: "3 not found",
		run: action(a, parsePlain, runFeatureShow),
	}
}

type featureShownJSON struct {
	report.FeatureView
	report.Cost
	Documents []string `json:"documents"`
	Proposed  bool     `json:"proposed"`
}

func runFeatureShow(ctx context.Context, a *app, o plainOptions) error {
	return a.view(ctx, func(s *session, g *dag.Graph) error {
		f, err := g.Feature(o.args[0])
		if err != nil {
			return featureHint(a, s, g, o.args[0], err)
		}
		used, err := g.UsageOfFeature(f.Name, "")
		if err != nil {
			return err
		}
		tasks, err := g.List(dag.Filter{Feature: f.Name})
		if err != nil {
			return err
		}
		p := newPlanner(a, s, f.Name, plannerOptions{})
		if o.json {
			return a.printJSON(featureShownJSON{viewFeature(s, f), report.CostOf(used.Usage), p.Documents(), p.Proposed()})
		}
		return printFeature(a, f, p, report.CostOf(used.Usage), tasks)
	})
}

func printFeature(a *app, f dag.Feature, planner *features.Planner, cost report.Cost, tasks []dag.Task) error {
	p := a.palette()
	line := func(text string) {
		if text != "" {
			fmt.Fprintf(a.stdout, "  %s\n", text)
		}
	}
	fmt.Fprintf(a.stdout, "%s  %s  %s\n", p.Bold(f.Name), featurePaint(p, f.Status)(string(f.Status)), p.Dim(f.ID))
	line(progress(f))
	line(byState(draw.Nodes(tasks, a.now())))
	if words := cost.String(); words != "" {
		line("cost " + words)
	}
	documents := "no documents"
	if list := planner.Documents(); len(list) > 0 {
		documents = strings.Join(list, ", ")
	}
	line(p.Dim(documents + " in " + planner.Folder()))
	if planner.Proposed() {
		line(p.Yellow("proposed tasks wait for: ralph feature approve " + f.Name))
	}
	if len(tasks) == 0 {
		return nil
	}
	fmt.Fprintln(a.stdout)
	return draw.Tree(a.stdout, draw.Nodes(tasks, a.now()), treeStyle(a))
}

// byState counts tasks by the words that the tree uses for them; groups are left out.
func byState(nodes []draw.Node) string {
	groups, count := map[string]bool{}, map[string]int{}
	for _, n := range nodes {
		groups[n.Parent] = true
	}
	for _, n := range nodes {
		if !groups[n.ID] {
			count[n.State]++
		}
	}
	var parts []string
	first := []string{"done", "running", "unverified", "ready", "waiting", "blocked", "failed"}
	for _, state := range append(first, slices.Sorted(maps.Keys(count))...) {
		if count[state] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count[state], state))
		}
		delete(count, state)
	}
	return strings.Join(parts, ", ")
}
