package featurecmd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"ralph/dag"
	"ralph/features"
	"ralph/internal/agents"
	"ralph/internal/cli"
	"ralph/internal/cli/planning"
	"ralph/internal/cli/show"
)

// sourceFlags say what a document is written from.
func sourceFlags() []cli.Flag {
	return []cli.Flag{
		{Name: "from", Usage: "read what is wanted from `FILE`; - for stdin"},
		cli.Bool("no-input", "ask nothing: the agent decides and lists its assumptions"),
	}
}

func replaceFlag(what string) cli.Flag { return cli.Bool("replace", what) }

var featureSpecCommand = cli.Command{
	Name: "spec", Args: "NAME", Short: "write spec.md with an agent: what the feature must do",
	Long: `On a terminal the agent asks and you answer, in as many lines as you like; Ctrl-D ends an
answer, and alone it ends the interview. Elsewhere, use --from. The draft is reviewed in up to
five passes before it is put in place. The agent works on a copy in .ralph/staging; nothing
else that it writes is kept. An interrupted step continues where it was.`,
	Flags:   append(append(sourceFlags(), replaceFlag("start over, and replace the spec.md that exists")), planning.PlannerFlags()...),
	Example: "ralph feature spec login\nralph feature spec login --from idea.md --no-input",
	Exits:   "1 refused (it exists, nobody can be asked), 3 no such feature, 5 no usable agent, " + cli.Interrupted,
	Run:     planning.PlanStep(writeDocument(features.Spec)),
}

var featurePlanCommand = cli.Command{
	Name: "plan", Args: "NAME", Short: "write plan.md with an agent, from spec.md: how to build it",
	Long: `Like "ralph feature spec", but from the specification; --from adds what you have to say about the way.`,
	Flags: append(append(sourceFlags(), replaceFlag("start over, and replace the plan.md that exists")),
		planning.PlannerFlags()...),
	Example: "ralph feature plan login --no-input",
	Exits:   "1 refused (it exists, there is no spec.md), 3 no such feature, 5 no usable agent, " + cli.Interrupted,
	Run:     planning.PlanStep(writeDocument(features.Plan)),
}

// writeDocument makes the step that writes a document.
func writeDocument(kind features.Kind) func(context.Context, *features.Planner, planning.PlannerOptions) (features.Step, error) {
	return func(ctx context.Context, p *features.Planner, o planning.PlannerOptions) (features.Step, error) {
		return p.Write(ctx, features.Request{Kind: kind, Idea: o.Idea, From: o.From, Replace: o.Replace})
	}
}

var featureCreateCommand = cli.Command{
	Name: "create", Args: "NAME", Short: "take a feature from an idea to tasks that can run: spec, plan, build",
	Long: `Does "spec", "plan" and "build" in order and skips what exists. Without a terminal and
without --from it only makes a draft, a row and a folder, and prints what to do next; so does
--draft. A feature needs no documents: you can add tasks by hand.`,
	Flags: append(append([]cli.Flag{
		cli.Bool("draft", "only make a draft"),
		cli.YesFlag("keep the tasks without asking"),
	}, sourceFlags()...), planning.PlannerFlags()...),
	Example: "ralph feature create login\nralph feature create login --from idea.md --yes --no-input",
	Exits:   "1 refused (the name exists, or could be a path or an ID), 5 no usable agent, " + cli.Interrupted,
	Run:     planning.InPlanning(runFeatureCreate),
}

func runFeatureCreate(ctx context.Context, a *cli.App, s *cli.Session, p *features.Planner, o planning.PlannerOptions) error {
	if o.Draft || o.Idea == "" && !a.Asks && !o.NoInput {
		return createDraft(ctx, a, s, p, o.JSON)
	}
	_, err := p.Enter(ctx)
	if errors.Is(err, dag.ErrNotFound) {
		var f dag.Feature
		err = cli.ChangeAs(ctx, a, s, func(g *dag.Graph) (err error) { f, err = p.Add(g); return err })
		if err == nil && !o.JSON {
			_, err = fmt.Fprintln(a.Stdout, f.ID)
		}
	}
	if err != nil {
		return err
	}
	var planned planning.PlannedJSON
	err = planning.Attended(ctx, a, func(ctx context.Context) (err error) {
		planned.Steps, planned.Next, err = p.Create(ctx, features.Request{Idea: o.Idea, From: o.From})
		err = planning.HintAgain(p, err, "ralph feature create "+p.Name)
		if errors.Is(err, agents.ErrUnavailable) && !errors.As(err, new(*agents.UnknownError)) { // the feature is there, and needs no agent
			return cli.Hint(err, "%s%s", strings.TrimPrefix(cli.HintFor(err)+"; or ", "; or "), byHand(p.Name))
		}
		return err
	})
	if err != nil {
		return err
	}
	return planning.PrintPlanned(ctx, a, s, planned, p.Name, o.JSON)
}

// createDraft makes a row and a folder.
func createDraft(ctx context.Context, a *cli.App, s *cli.Session, p *features.Planner, json bool) error {
	var f dag.Feature
	err := cli.Change(ctx, a, s, func(g *dag.Graph) (err error) { f, err = p.Add(g); return err })
	switch {
	case err != nil:
		return err
	case json:
		return a.PrintJSON(show.ViewFeature(s, f))
	}
	if _, err := fmt.Fprintln(a.Stdout, f.ID); err != nil {
		return err
	}
	a.Note("feature %s created, as a draft", f.Name)
	next := fmt.Sprintf("ralph feature spec %s --from FILE", f.Name)
	if features.Exists(p.Path(features.Spec.File())) { // a person wrote it first
		next = "ralph feature plan " + f.Name
	}
	a.Note("next: %s; or %s", next, byHand(f.Name))
	return nil
}

// byHand says how a feature gets tasks without an agent that plans.
func byHand(feature string) string {
	return fmt.Sprintf("add tasks by hand: ralph task add \"TITLE\" --feature %s", feature)
}
