package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"ralph/dag"
	"ralph/features"
	"ralph/internal/human"
	"ralph/internal/jsonval"
	"ralph/internal/proof"
	"ralph/internal/render/draw"
	"ralph/internal/report"
	"ralph/internal/term"
)

var featureCommand = command{
	name: "feature", short: "plan a feature with an agent, from an idea to tasks; or group tasks under a name",
	example: "ralph feature create login --from idea.md\nralph task add \"Form\" --feature login", exits: "1 refused, 3 not found, 5 no usable agent",
	sub: []command{
		featureCreateCommand, featureSpecCommand, featurePlanCommand, featureBuildCommand, featureApproveCommand, featureRunCommand, featureProofCommand, featureProveCommand,
		{
			name: "list", bare: true, short: "list features with their progress", flags: []flagSpec{jsonFlag},
			example: "ralph feature list", run: onGraph(runFeatureList),
		},
		{
			name: "show", args: "NAME", short: "show a feature with its tasks", flags: []flagSpec{jsonFlag},
			example: "ralph feature show login", exits: "3 not found", run: onGraph(runFeatureShow),
		},
		{
			name: "gate", args: "NAME [CMD...]", short: "show or set the commands that check every task of a feature",
			long:    "They run after the project's gates and before a task's own. Without CMD they are shown.",
			flags:   []flagSpec{boolFlag("none", "remove all of them"), jsonFlag},
			example: "ralph feature gate login \"go test ./login\" \"npm run lint\"\nralph feature gate login --none",
			exits:   "1 refused, 3 not found", run: action(runFeatureGate),
		},
		{
			name: "delete", args: "NAME", short: "delete a feature with its tasks and its folder", flags: []flagSpec{yesFlag("do not ask")},
			example: "ralph feature delete login --yes", exits: "1 refused, 3 not found", run: inProject(runFeatureDelete),
		},
	},
}

func runFeatureList(a *app, s *session, g *dag.Graph, o plainOptions) error {
	known, err := g.Plan.Features()
	if err != nil {
		return err
	}
	if !o.JSON {
		for _, name := range features.Unknown(s.project, known) {
			a.note("%s has documents and is not in the database yet; import it with: ralph run --feature %s, or continue with: ralph feature create %s", name, name, name)
		}
	}
	p, view := a.palette(), func(f dag.Feature) report.FeatureView { return viewFeature(s, f) }
	none := "no features yet; make one with: ralph feature create NAME"
	return printList(a, known, o.JSON, view, none, nil, func(f dag.Feature) []term.Cell {
		return []term.Cell{{Text: f.Name, Paint: p.Cyan}, {Text: string(f.Status), Paint: statePaint(p, string(f.Status))}, {Text: progress(f)}}
	})
}

// featureHint says where a feature may be that the database does not know.
func featureHint(a *app, s *session, name string, err error) error {
	if !errors.Is(err, dag.ErrNotFound) || dag.CheckFeatureName(name) != nil {
		return err
	}
	switch p := newPlanner(a, s, name, plannerOptions{}); {
	case p.Saved():
		return hint(err, "its tasks are in %s; import them with: ralph run --feature %s", p.Path(features.TasksFile), name)
	case p.Documented():
		return hint(err, "its documents are in %s; continue with: ralph feature create %s", p.Folder(), name)
	}
	return err
}

// progress draws how much is done, and says it in words.
func progress(f dag.Feature) string {
	total, done := f.Total(), f.Tasks[dag.Done]
	if total == 0 {
		return "no tasks"
	}
	const width = 20
	filled := done * width / total
	text := fmt.Sprintf("%s%s %d of %d done", strings.Repeat("█", filled), strings.Repeat("░", width-filled), done, total)
	for _, s := range []dag.Status{dag.InProgress, dag.Failed, dag.Blocked} {
		if n := f.Tasks[s]; n > 0 {
			text += fmt.Sprintf(", %d %s", n, strings.ReplaceAll(string(s), "in_progress", "running"))
		}
	}
	return text
}

func runFeatureShow(a *app, s *session, g *dag.Graph, o plainOptions) error {
	f, err := g.Plan.Feature(o.Args[0])
	if err != nil {
		return featureHint(a, s, o.Args[0], err)
	}
	used, _ := g.History.UsageOfFeature(f.Name, "") // the first error of the database is also that of what follows
	tally, _ := g.Tasks.Tally(dag.Scope{Feature: f.Name})
	tasks, err := g.Tasks.List(dag.Filter{Feature: f.Name})
	if err != nil {
		return err
	}
	p := newPlanner(a, s, f.Name, plannerOptions{})
	if o.JSON {
		return a.printJSON(append(viewFeature(s, f).Object(), "cost_usd", used.CostUSD, "cost_estimated", used.Estimated,
			"cost_unknown", used.Unknown, "documents", p.Documents(), "proposed", p.Proposed()))
	}
	rows, err := proofsOf(s, g, f.Name)
	if err != nil {
		return err
	}
	return printFeature(a, f, p, summary(tally), report.CostOf(used.Usage), rows, tasks)
}

func printFeature(a *app, f dag.Feature, planner *features.Planner, counts string, cost report.Cost, criteria []proof.Row, tasks []dag.Task) error {
	p := a.palette()
	line := func(text string) {
		fmt.Fprint(a.stdout, human.Lead("  ", text), strings.Repeat("\n", min(len(text), 1)))
	}
	fmt.Fprintf(a.stdout, "%s  %s  %s\n", p.Bold(f.Name), statePaint(p, string(f.Status))(string(f.Status)), p.Dim(f.ID))
	line(progress(f))
	line(counts)
	line(human.Lead("cost ", cost.String()))
	if len(criteria) > 0 {
		line(proof.Summary(criteria))
	}
	line(p.Dim(cmp.Or(strings.Join(planner.Documents(), ", "), "no documents") + " in " + planner.Folder()))
	if planner.Proposed() {
		line(p.Yellow("proposed tasks wait for: ralph feature approve " + f.Name))
	}
	if len(tasks) == 0 {
		return nil
	}
	return written(fmt.Fprint(a.stdout, "\n"+draw.Tree(draw.Nodes(tasks, a.now()), treeStyle(a))))
}

type featureGateOptions struct {
	Args       []string // the name, then commands
	None, JSON bool
}

func runFeatureGate(ctx context.Context, a *app, o featureGateOptions) error {
	commands := o.Args[1:]
	if o.None && len(commands) > 0 {
		return usagef("--none goes with no command")
	}
	var gates []string
	err := a.update(ctx, func(_ *session, g *dag.Graph) error {
		name, err := featureByName(g, o.Args[0])
		if err != nil {
			return err
		}
		if len(commands) > 0 || o.None {
			if err := g.Plan.SetFeatureGates(name, commands); err != nil {
				return err
			}
		}
		gates, err = g.Plan.FeatureGates(name)
		return err
	})
	if err != nil {
		return err
	}
	if o.JSON {
		return a.printJSON(jsonval.List(gates))
	}
	for _, gate := range gates {
		if _, err := fmt.Fprintln(a.stdout, term.Line(gate)); err != nil {
			return err
		}
	}
	if len(gates) == 0 {
		a.note("no gates")
	}
	return nil
}

func runFeatureDelete(ctx context.Context, a *app, s *session, o plainOptions) error {
	name := o.Args[0]
	f, err := look(ctx, s, func(g *dag.Graph) (dag.Feature, error) { return g.Plan.Feature(name) })
	if err != nil {
		return err
	}
	with := "with " + human.Count(f.Total(), "task")
	if !o.Yes {
		if err := confirm(ctx, a, fmt.Sprintf("delete feature %s %s and its folder?", f.Name, with)); err != nil {
			return err
		}
	}
	p := newPlanner(a, s, f.Name, plannerOptions{})
	// The row goes first: a folder without a feature is only litter.
	err = p.Drop(func() error {
		return changeAs(ctx, a, s, func(g *dag.Graph) error { return g.Plan.DeleteFeature(f.Name) })
	})
	if err != nil {
		return fmt.Errorf("delete feature %s: %w", f.Name, err)
	}
	if err := s.plans.Remove(ctx, f.Name); err != nil {
		return err
	}
	a.note("feature %s deleted, %s", f.Name, with)
	return nil
}
