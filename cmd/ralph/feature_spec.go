package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"ralph/dag"
	"ralph/features"
	"ralph/internal/agents"
	"ralph/internal/report"
	"ralph/internal/term"
)

// sourceFlags say what a document is written from.
func sourceFlags() []flagSpec {
	return []flagSpec{
		{name: "from", usage: "read what is wanted from `FILE`; - for stdin"},
		boolFlag("no-input", "ask nothing: the agent decides and lists its assumptions"),
	}
}

func replaceFlag(what string) flagSpec { return boolFlag("replace", what) }

var featureSpecCommand = command{
	name: "spec", args: "NAME", short: "write spec.md with an agent: what the feature must do",
	long: `On a terminal the agent asks and you answer, in as many lines as you like; Ctrl-D ends an
answer, and alone it ends the interview. Elsewhere, use --from. The draft is reviewed in up to
five passes before it is put in place. The agent works on a copy in .ralph/staging; nothing
else that it writes is kept. An interrupted step continues where it was.`,
	flags:   append(append(sourceFlags(), replaceFlag("start over, and replace the spec.md that exists")), plannerFlags()...),
	example: "ralph feature spec login\nralph feature spec login --from idea.md --no-input",
	exits:   "1 refused (it exists, nobody can be asked), 3 no such feature, 5 no usable agent, " + interrupted,
	run:     planStep(writeDocument(features.Spec)),
}

var featurePlanCommand = command{
	name: "plan", args: "NAME", short: "write plan.md with an agent, from spec.md: how to build it",
	long: `Like "ralph feature spec", but from the specification; --from adds what you have to say about the way.`,
	flags: append(append(sourceFlags(), replaceFlag("start over, and replace the plan.md that exists")),
		plannerFlags()...),
	example: "ralph feature plan login --no-input",
	exits:   "1 refused (it exists, there is no spec.md), 3 no such feature, 5 no usable agent, " + interrupted,
	run:     planStep(writeDocument(features.Plan)),
}

// writeDocument makes the step that writes a document.
func writeDocument(kind features.Kind) func(context.Context, *features.Planner, plannerOptions) (features.Step, error) {
	return func(ctx context.Context, p *features.Planner, o plannerOptions) (features.Step, error) {
		return p.Write(ctx, features.Request{Kind: kind, Idea: o.idea, From: o.From, Replace: o.Replace})
	}
}

// readIdea reads what --from names.
func readIdea(a *app, from string) (string, error) {
	if from == "" {
		return "", nil
	}
	r, err := a.openInput(from)
	if err != nil {
		return "", usagef("--from: %v", err)
	}
	defer r.Close()
	return features.ReadText(r, from)
}

// plannedJSON is what the commands that plan print.
type plannedJSON struct {
	Feature report.FeatureView `json:"feature"`
	Steps   []features.Step    `json:"steps"`
	Next    string             `json:"next"`
}

// printPlanned prints what was done, and the command to type next.
func printPlanned(ctx context.Context, a *app, s *session, planned plannedJSON, feature string, json bool) error {
	if json {
		f, err := look(ctx, s, func(g *dag.Graph) (dag.Feature, error) { return g.Plan.Feature(feature) })
		if err != nil {
			return err
		}
		planned.Feature = viewFeature(s, f)
		return a.printJSON(planned)
	}
	for _, step := range planned.Steps {
		if step.Did == features.DidWrite {
			fmt.Fprintln(a.stdout, term.Line(step.Path))
		}
	}
	a.note("next: %s", planned.Next)
	return nil
}

var featureCreateCommand = command{
	name: "create", args: "NAME", short: "take a feature from an idea to tasks that can run: spec, plan, build",
	long: `Does "spec", "plan" and "build" in order and skips what exists. Without a terminal and
without --from it only makes a draft, a row and a folder, and prints what to do next; so does
--draft. A feature needs no documents: you can add tasks by hand.`,
	flags: append(append([]flagSpec{
		boolFlag("draft", "only make a draft"),
		yesFlag("keep the tasks without asking"),
	}, sourceFlags()...), plannerFlags()...),
	example: "ralph feature create login\nralph feature create login --from idea.md --yes --no-input",
	exits:   "1 refused (the name exists, or could be a path or an ID), 5 no usable agent, " + interrupted,
	run:     planning(runFeatureCreate),
}

func runFeatureCreate(ctx context.Context, a *app, s *session, p *features.Planner, o plannerOptions) error {
	if o.Draft || o.idea == "" && !a.asks && !o.NoInput {
		return createDraft(ctx, a, s, p, o.JSON)
	}
	_, err := p.Enter(ctx)
	if errors.Is(err, dag.ErrNotFound) {
		var f dag.Feature
		err = changeAs(ctx, a, s, func(g *dag.Graph) (err error) { f, err = p.Add(g); return err })
		if err == nil && !o.JSON {
			_, err = fmt.Fprintln(a.stdout, f.ID)
		}
	}
	if err != nil {
		return err
	}
	var planned plannedJSON
	err = attended(ctx, a, func(ctx context.Context) (err error) {
		planned.Steps, planned.Next, err = p.Create(ctx, features.Request{Idea: o.idea, From: o.From})
		err = planningHint(p, err, "ralph feature create "+p.Name)
		if errors.Is(err, agents.ErrUnavailable) && !errors.As(err, new(*agents.UnknownError)) { // the feature is there, and needs no agent
			return hint(err, "%s%s", strings.TrimPrefix(hintFor(err)+"; or ", "; or "), byHand(p.Name))
		}
		return err
	})
	if err != nil {
		return err
	}
	return printPlanned(ctx, a, s, planned, p.Name, o.JSON)
}

// createDraft makes a row and a folder.
func createDraft(ctx context.Context, a *app, s *session, p *features.Planner, json bool) error {
	var f dag.Feature
	err := change(ctx, a, s, func(g *dag.Graph) (err error) { f, err = p.Add(g); return err })
	switch {
	case err != nil:
		return err
	case json:
		return a.printJSON(viewFeature(s, f))
	}
	if _, err := fmt.Fprintln(a.stdout, f.ID); err != nil {
		return err
	}
	a.note("feature %s created, as a draft", f.Name)
	next := fmt.Sprintf("ralph feature spec %s --from FILE", f.Name)
	if features.Exists(p.Path(features.Spec.File())) { // a person wrote it first
		next = "ralph feature plan " + f.Name
	}
	a.note("next: %s; or %s", next, byHand(f.Name))
	return nil
}

// byHand says how a feature gets tasks without an agent that plans.
func byHand(feature string) string {
	return fmt.Sprintf("add tasks by hand: ralph task add \"TITLE\" --feature %s", feature)
}
