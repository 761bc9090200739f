// Package featurecmd has the commands about features.
package featurecmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"ralph/dag"
	"ralph/features"
	"ralph/internal/cli"
	"ralph/internal/cli/planning"
	"ralph/internal/cli/show"
	"ralph/internal/cli/wiring"
	"ralph/internal/human"
	"ralph/internal/jsonval"
	"ralph/internal/proof"
	"ralph/internal/render/draw"
	"ralph/internal/report"
	"ralph/internal/term"
)

// Feature is the command "ralph feature".
var Feature = cli.Command{
	Name: "feature", Short: "plan a feature with an agent, from an idea to tasks; or group tasks under a name",
	Example: "ralph feature create login --from idea.md\nralph task add \"Form\" --feature login", Exits: "1 refused, 3 not found, 5 no usable agent",
	Sub: []cli.Command{
		featureCreateCommand, featureSpecCommand, featurePlanCommand, featureBuildCommand, featureApproveCommand, featureRunCommand, featureProofCommand, featureProveCommand,
		{
			Name: "list", Bare: true, Short: "list features with their progress", Flags: []cli.Flag{cli.JSONFlag},
			Example: "ralph feature list", Run: cli.OnGraph(runFeatureList),
		},
		{
			Name: "show", Args: "NAME", Short: "show a feature with its tasks", Flags: []cli.Flag{cli.JSONFlag},
			Example: "ralph feature show login", Exits: "3 not found", Run: cli.OnGraph(runFeatureShow),
		},
		{
			Name: "gate", Args: "NAME [CMD...]", Short: "show or set the commands that check every task of a feature",
			Long:    "They run after the project's gates and before a task's own. Without CMD they are shown.",
			Flags:   []cli.Flag{cli.Bool("none", "remove all of them"), cli.JSONFlag},
			Example: "ralph feature gate login \"go test ./login\" \"npm run lint\"\nralph feature gate login --none",
			Exits:   "1 refused, 3 not found", Run: cli.Action(runFeatureGate),
		},
		{
			Name: "delete", Args: "NAME", Short: "delete a feature with its tasks and its folder", Flags: []cli.Flag{cli.YesFlag("do not ask")},
			Example: "ralph feature delete login --yes", Exits: "1 refused, 3 not found", Run: cli.InProject(runFeatureDelete),
		},
	},
}

func runFeatureList(a *cli.App, s *cli.Session, g *dag.Graph, o cli.PlainOptions) error {
	known, err := g.Plan.Features()
	if err != nil {
		return err
	}
	if !o.JSON {
		for _, name := range features.Unknown(s.Project, known) {
			a.Note("%s has documents and is not in the database yet; import it with: ralph run --feature %s, or continue with: ralph feature create %s", name, name, name)
		}
	}
	p, view := a.Palette(), func(f dag.Feature) report.FeatureView { return show.ViewFeature(s, f) }
	none := "no features yet; make one with: ralph feature create NAME"
	return cli.PrintList(a, known, o.JSON, view, none, nil, func(f dag.Feature) []term.Cell {
		return []term.Cell{{Text: f.Name, Paint: p.Cyan}, {Text: string(f.Status), Paint: show.StatePaint(p, string(f.Status))}, {Text: show.Progress(f)}}
	})
}

// featureHint says where a feature may be that the database does not know.
func featureHint(a *cli.App, s *cli.Session, name string, err error) error {
	if !errors.Is(err, dag.ErrNotFound) || dag.CheckFeatureName(name) != nil {
		return err
	}
	switch p := planning.NewPlanner(a, s, name, planning.PlannerOptions{}); {
	case p.Saved():
		return cli.Hint(err, "its tasks are in %s; import them with: ralph run --feature %s", p.Path(features.TasksFile), name)
	case p.Documented():
		return cli.Hint(err, "its documents are in %s; continue with: ralph feature create %s", p.Folder(), name)
	}
	return err
}

func runFeatureShow(a *cli.App, s *cli.Session, g *dag.Graph, o cli.PlainOptions) error {
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
	p := planning.NewPlanner(a, s, f.Name, planning.PlannerOptions{})
	if o.JSON {
		return a.PrintJSON(append(show.ViewFeature(s, f).Object(), "cost_usd", used.CostUSD, "cost_estimated", used.Estimated,
			"cost_unknown", used.Unknown, "documents", p.Documents(), "proposed", p.Proposed()))
	}
	rows, err := wiring.ProofsOf(s, g, f.Name)
	if err != nil {
		return err
	}
	return printFeature(a, f, p, show.Summary(tally), report.CostOf(used.Usage), rows, tasks)
}

func printFeature(a *cli.App, f dag.Feature, planner *features.Planner, counts string, cost report.Cost, criteria []proof.Row, tasks []dag.Task) error {
	p := a.Palette()
	line := func(text string) {
		fmt.Fprint(a.Stdout, human.Lead("  ", text), strings.Repeat("\n", min(len(text), 1)))
	}
	fmt.Fprintf(a.Stdout, "%s  %s  %s\n", p.Bold(f.Name), show.StatePaint(p, string(f.Status))(string(f.Status)), p.Dim(f.ID))
	line(show.Progress(f))
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
	return cli.Written(fmt.Fprint(a.Stdout, "\n"+draw.Tree(draw.Nodes(tasks, a.Now()), show.TreeStyle(a))))
}

type featureGateOptions struct {
	Args       []string // the name, then commands
	None, JSON bool
}

func runFeatureGate(ctx context.Context, a *cli.App, o featureGateOptions) error {
	commands := o.Args[1:]
	if o.None && len(commands) > 0 {
		return cli.Usagef("--none goes with no command")
	}
	var gates []string
	err := a.Update(ctx, func(_ *cli.Session, g *dag.Graph) error {
		name, err := cli.FeatureByName(g, o.Args[0])
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
		return a.PrintJSON(jsonval.List(gates))
	}
	for _, gate := range gates {
		if _, err := fmt.Fprintln(a.Stdout, term.Line(gate)); err != nil {
			return err
		}
	}
	if len(gates) == 0 {
		a.Note("no gates")
	}
	return nil
}

func runFeatureDelete(ctx context.Context, a *cli.App, s *cli.Session, o cli.PlainOptions) error {
	name := o.Args[0]
	f, err := cli.Read(ctx, s, func(g *dag.Graph) (dag.Feature, error) { return g.Plan.Feature(name) })
	if err != nil {
		return err
	}
	with := "with " + human.Count(f.Total(), "task")
	if !o.Yes {
		if err := cli.Confirm(ctx, a, fmt.Sprintf("delete feature %s %s and its folder?", f.Name, with)); err != nil {
			return err
		}
	}
	p := planning.NewPlanner(a, s, f.Name, planning.PlannerOptions{})
	// The row goes first: a folder without a feature is only litter.
	err = p.Drop(func() error {
		return cli.ChangeAs(ctx, a, s, func(g *dag.Graph) error { return g.Plan.DeleteFeature(f.Name) })
	})
	if err != nil {
		return fmt.Errorf("delete feature %s: %w", f.Name, err)
	}
	if err := s.Plans.Remove(ctx, f.Name); err != nil {
		return err
	}
	a.Note("feature %s deleted, %s", f.Name, with)
	return nil
}
