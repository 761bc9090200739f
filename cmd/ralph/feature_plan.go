package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/urfave/cli/v2"

	"ralph/dag"
	"ralph/features"
	"ralph/internal/term"
)

// sourceFlags say what a document is written from.
func sourceFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "from", Usage: "say what is wanted with the text of `FILE`; - for stdin"},
		&cli.BoolFlag{DisableDefaultText: true, Name: "no-input", Usage: "ask nothing: the agent decides and lists its assumptions"},
	}
}

func replaceFlag(what string) cli.Flag {
	return &cli.BoolFlag{DisableDefaultText: true, Name: "replace", Usage: what}
}

func (a *app) featureSpec() command {
	return command{
		name: "spec", args: "NAME", short: "write spec.md with an agent: what the feature must do",
		long: `On a terminal the agent asks and you answer, in as many lines as you like; Ctrl-D ends an
answer, and alone it ends the interview. Elsewhere --from says what is wanted. The draft is
reviewed in up to five passes before it is put in place. The agent works on a copy in
.ralph/staging; nothing else that it writes is kept. An interrupted step goes on where it was.`,
		flags:   append(append(sourceFlags(), replaceFlag("start over, and replace the spec.md that exists")), plannerFlags()...),
		example: "ralph feature spec login\nralph feature spec login --from idea.md --no-input",
		exits:   "1 refused (it exists, nobody can be asked), 3 no such feature, 5 no usable agent, " + interrupted,
		run:     func(c *cli.Context) error { return a.runDocument(c, features.Spec) },
	}
}

func (a *app) featurePlan() command {
	return command{
		name: "plan", args: "NAME", short: "write plan.md with an agent, from spec.md: how it will be built",
		long: `As "ralph feature spec", but from the specification; --from adds what you have to say about the way.`,
		flags: append(append(sourceFlags(), replaceFlag("start over, and replace the plan.md that exists")),
			plannerFlags()...),
		example: "ralph feature plan login --no-input",
		exits:   "1 refused (it exists, there is no spec.md), 3 no such feature, 5 no usable agent, " + interrupted,
		run:     func(c *cli.Context) error { return a.runDocument(c, features.Plan) },
	}
}

// plannedJSON is what the commands that plan print.
type plannedJSON struct {
	Feature featureJSON       `json:"feature"`
	Steps   []plannedStepJSON `json:"steps"`
	Next    string            `json:"next"`
}

type plannedStepJSON struct {
	Step     string             `json:"step"`
	Did      string             `json:"did"`
	Path     *string            `json:"path"`
	Passes   int                `json:"passes"`
	Settled  bool               `json:"settled"`
	Findings []string           `json:"findings"`
	Warnings []features.Finding `json:"warnings"`
	Tasks    []string           `json:"tasks"`
}

func (a *app) runDocument(c *cli.Context, kind features.Kind) error {
	name, err := oneArg(c, "NAME")
	if err != nil {
		return err
	}
	idea, from, err := a.idea(c)
	if err != nil {
		return err
	}
	return a.planning(c, name, func(ctx context.Context, s *session, d *features.Planner) error {
		step, err := a.document(ctx, d, features.Request{Kind: kind, Idea: idea, From: from, Replace: c.Bool("replace")})
		if err != nil {
			return err
		}
		next := "ralph feature plan " + d.Name
		if kind == features.Plan {
			next = "ralph feature build " + d.Name
		}
		return a.printPlanned(c, s, d, next, step)
	})
}

// planning opens the project and the feature and does a step of planning.
func (a *app) planning(c *cli.Context, name string, fn func(context.Context, *session, *features.Planner) error) error {
	a.log = a.logger()
	if _, err := parseOpener(c); err != nil {
		return err
	}
	s, err := a.open(c.Context)
	if err != nil {
		return err
	}
	defer s.Close()
	f, err := a.planner(c, s, name).Enter(c.Context)
	if err != nil {
		return a.suggestIn(c.Context, s, name, makeIt(err, name))
	}
	d := a.planner(c, s, f.Name)
	return a.attended(c.Context, func(ctx context.Context) error {
		return agentTrouble(fn(ctx, s, d), "the same command")
	})
}

// idea reads what --from names.
func (a *app) idea(c *cli.Context) (text, from string, err error) {
	from = c.String("from")
	if from == "" {
		return "", "", nil
	}
	r := a.stdin
	if from != "-" {
		f, err := os.Open(from)
		if err != nil {
			return "", "", usagef("--from: %v", err)
		}
		defer f.Close()
		if info, err := f.Stat(); err == nil && info.IsDir() {
			return "", "", usagef("--from: %s is a folder", from)
		}
		r = f
	}
	text, err = features.ReadText(r, from)
	return text, from, err
}

// document writes one and tells what came of it.
func (a *app) document(ctx context.Context, d *features.Planner, r features.Request) (plannedStepJSON, error) {
	step := plannedStepJSON{Step: string(r.Kind), Did: "written", Findings: []string{}, Warnings: []features.Finding{}, Tasks: []string{}}
	w, err := d.Write(ctx, r)
	if err != nil {
		return step, documentHint(fmt.Errorf("feature %s: %w", d.Name, err), d, r.Kind)
	}
	step.Path, step.Passes, step.Settled = &w.Path, w.Passes, w.Settled
	step.Findings = append(step.Findings, w.Findings...)
	if !w.Settled {
		d.Warn("the last pass of the review still found something: look at %s", w.Path)
	}
	return step, nil
}

func documentHint(err error, d *features.Planner, kind features.Kind) error {
	command := fmt.Sprintf("ralph feature %s %s", kind, d.Name)
	switch {
	case errors.Is(err, features.ErrExists):
		return hint(err, "start over with: %s --replace; or edit it: it is yours", command)
	case errors.Is(err, features.ErrMissing):
		return hint(err, "write it with: ralph feature spec %s", d.Name)
	case errors.Is(err, features.ErrNobody):
		return hint(err, "say what is wanted with: %s --from FILE", command)
	case errors.Is(err, features.ErrOther):
		return hint(err, "go on with it: %s; or start over: add --replace", command)
	case errors.Is(err, features.ErrNoFile):
		return hint(err, "see what it did instead in %s/%s/logs; try again with: %s", d.Staging, kind, command)
	}
	return err
}

// printPlanned prints what was done and says what comes next.
func (a *app) printPlanned(c *cli.Context, s *session, d *features.Planner, next string, steps ...plannedStepJSON) error {
	if c.Bool("json") {
		var f dag.Feature
		err := s.store.View(c.Context, func(g *dag.Graph) (err error) { f, err = g.Feature(d.Name); return err })
		if err != nil {
			return err
		}
		return a.printJSON(plannedJSON{Feature: featureAsJSON(s, f), Steps: steps, Next: next})
	}
	for _, step := range steps {
		if step.Path != nil && step.Did == "written" {
			fmt.Fprintln(a.stdout, term.Line(*step.Path))
		}
	}
	a.note("next: %s", next)
	return nil
}
