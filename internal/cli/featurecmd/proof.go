package featurecmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"ralph/dag"
	"ralph/internal/cli"
	"ralph/internal/cli/wiring"
	"ralph/internal/git"
	"ralph/internal/jsonval"
	"ralph/internal/proof"
	"ralph/internal/report"
)

var featureProofCommand = cli.Command{
	Name: "proof", Args: "NAME", Short: "show what proves each success criterion of a feature's specification",
	Long: `Criteria are the items below a heading "Success criteria", "Acceptance criteria" or "Acceptance" of spec.md; each has an ID,
C1, C2 and so on. A criterion is proven by a named test in a gate of a task that says it proves the criterion: the test
ran without the work and failed, and passes with it. A test that does not build without the work has to fail with empty
bodies of what the work adds (Go). Where that cannot be done, or the gate names no tests, it is proven in part, which is
not enough for --require-proof. Or a verifier, or a person, says that it is met.`,
	Flags:   []cli.Flag{cli.JSONFlag},
	Example: "ralph feature proof login\nralph task add \"Lock accounts\" --feature login --proves C3 --gate \"go test ./login\"",
	Exits:   "3 not found", Run: cli.InProject(runFeatureProof),
}

var featureProveCommand = cli.Command{
	Name: "prove", Args: "NAME CRITERION", Short: "say that a success criterion is met, or take that back",
	Flags: []cli.Flag{
		{Name: "message", Short: "m", Usage: "`TEXT`, @FILE, or - for stdin, that says what shows it"},
		cli.Bool("withdraw", "take back what people said of the criterion"),
	},
	Example: "ralph feature prove login C3 -m \"tried it with a slow network\"\nralph feature prove login C3 --withdraw",
	Exits:   "1 refused, 3 not found", Run: cli.Action(runFeatureProve),
}

func runFeatureProof(ctx context.Context, a *cli.App, s *cli.Session, o cli.PlainOptions) error {
	var rows []proof.Row
	name := o.Args[0]
	_, err := cli.Read(ctx, s, func(g *dag.Graph) (dag.Feature, error) {
		f, err := g.Plan.Feature(name)
		if err != nil {
			return f, featureHint(a, s, name, err)
		}
		name = f.Name
		rows, err = wiring.ProofsOf(s, g, name)
		return f, err
	})
	if err != nil {
		return err
	}
	if o.JSON {
		err = a.PrintJSON(ProofJSON(name, rows))
	} else if len(rows) > 0 {
		_, err = fmt.Fprintf(a.Stdout, "%s%s\n", report.CriteriaTable(rows, a.Palette(), a.Width), proof.Summary(rows))
	}
	switch {
	case err != nil:
		return cli.Unwritten(err)
	case len(rows) == 0:
		a.Note("%s has no success criteria: %s", name, wiring.NoCriteria(s, name))
	}
	return nil
}

// ProofJSON is what was seen of the criteria of a feature.
func ProofJSON(feature string, rows []proof.Row) jsonval.Object {
	return jsonval.Object{"feature", feature, "proven", len(rows) > 0 && len(proof.Unproven(rows)) == 0, "criteria", jsonval.List(rows)}
}

type featureProveOptions struct {
	Args     []string
	Message  string
	Withdraw bool
}

func (o *featureProveOptions) Parse(cli.CommandLine) error {
	if err := dag.CheckProves(o.Args[1:2]); err != nil {
		return cli.Usagef("%v", err)
	}
	if o.Withdraw && o.Message != "" {
		return cli.Usagef("--withdraw goes with no message")
	}
	return nil
}

func runFeatureProve(ctx context.Context, a *cli.App, o featureProveOptions) error {
	why, err := cli.ReadText(a, o.Message)
	if err != nil {
		return err
	}
	name, id := o.Args[0], strings.ToUpper(o.Args[1])
	err = a.Update(ctx, func(s *cli.Session, g *dag.Graph) error {
		f, err := g.Plan.Feature(name)
		if err != nil {
			return featureHint(a, s, name, err)
		}
		name = f.Name
		criteria := proof.Criteria(wiring.SpecOf(s, name))
		i := slices.IndexFunc(criteria, func(c proof.Criterion) bool { return c.ID == id })
		if i < 0 && !o.Withdraw {
			err := fmt.Errorf("%s: criterion %s: %w", name, id, dag.ErrNotFound)
			if len(criteria) == 0 {
				return cli.Hint(err, "%s", wiring.NoCriteria(s, name))
			}
			return cli.Hint(err, "see them: ralph feature proof %s", name)
		}
		if o.Withdraw {
			had, err := g.Plan.WithdrawProof(name, id)
			if err == nil && !had {
				err = fmt.Errorf("%w: nobody said that %s is met", dag.ErrRefused, id)
			}
			return errors.Join(err, g.History.Audit("", "", name+" "+id+" withdrawn"))
		}
		return g.Plan.Prove(name, dag.Proof{
			Criterion: id, Text: criteria[i].Text, Author: g.Actor().Who, Shown: why, Commit: git.Head(ctx, s.Project.Root),
		})
	})
	if err != nil {
		return err
	}
	if o.Withdraw {
		a.Note("%s %s: what people said of it is taken back", name, id)
		return nil
	}
	a.Note("%s %s is proven, as you say", name, id)
	return nil
}
