package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ralph/dag"
	"ralph/features"
	"ralph/internal/git"
	"ralph/internal/jsonval"
	"ralph/internal/proof"
	"ralph/internal/report"
	"ralph/internal/seq"
)

var featureProofCommand = command{
	name: "proof", args: "NAME", short: "show what proves each success criterion of a feature's specification",
	long: `Criteria are the items below a heading "Success criteria", "Acceptance criteria" or "Acceptance" of spec.md; each has an ID,
C1, C2 and so on. A criterion is proven by a named test in a gate of a task that says it proves the criterion: the test
ran without the work and failed, and passes with it. A test that does not build without the work has to fail with empty
bodies of what the work adds (Go). Where that cannot be done, or the gate names no tests, it is proven in part, which is
not enough for --require-proof. Or a verifier, or a person, says that it is met.`,
	flags:   []flagSpec{jsonFlag},
	example: "ralph feature proof login\nralph task add \"Lock accounts\" --feature login --proves C3 --gate \"go test ./login\"",
	exits:   "3 not found", run: inProject(runFeatureProof),
}

var featureProveCommand = command{
	name: "prove", args: "NAME CRITERION", short: "say that a success criterion is met, or take that back",
	flags: []flagSpec{
		{name: "message", short: "m", usage: "`TEXT`, @FILE, or - for stdin, that says what shows it"},
		boolFlag("withdraw", "take back what people said of the criterion"),
	},
	example: "ralph feature prove login C3 -m \"tried it with a slow network\"\nralph feature prove login C3 --withdraw",
	exits:   "1 refused, 3 not found", run: action(runFeatureProve),
}

func runFeatureProof(ctx context.Context, a *app, s *session, o plainOptions) error {
	var rows []proof.Row
	name := o.Args[0]
	_, err := look(ctx, s, func(g *dag.Graph) (dag.Feature, error) {
		f, err := g.Plan.Feature(name)
		if err != nil {
			return f, featureHint(a, s, name, err)
		}
		name = f.Name
		rows, err = proofsOf(s, g, name)
		return f, err
	})
	if err != nil {
		return err
	}
	if o.JSON {
		err = a.printJSON(proofJSON(name, rows))
	} else if len(rows) > 0 {
		_, err = fmt.Fprintf(a.stdout, "%s%s\n", report.CriteriaTable(rows, a.palette(), a.width), proof.Summary(rows))
	}
	switch {
	case err != nil:
		return unwritten(err)
	case len(rows) == 0:
		a.note("%s has no success criteria: %s", name, noCriteria(s, name))
	}
	return nil
}

func proofJSON(feature string, rows []proof.Row) jsonval.Object {
	return jsonval.Object{"feature", feature, "proven", len(rows) > 0 && len(proof.Unproven(rows)) == 0, "criteria", jsonval.List(rows)}
}

// specFile is where the specification of a feature is.
func specFile(s *session, feature string) string {
	return filepath.Join(s.project.Feature(feature), features.Spec.File())
}

// specOf is the text of a feature's specification; "" if it has none that can be read.
func specOf(s *session, feature string) string {
	text, _ := features.ReadDocument(specFile(s, feature)) // criteria that tasks are to prove are missed then
	return text
}

// proofsOf hold the criteria of a feature against what was seen of them.
func proofsOf(s *session, g *dag.Graph, feature string) ([]proof.Row, error) {
	tasks, _ := g.Tasks.List(dag.Filter{Feature: feature}) // the first error of the database is that of what follows
	proofs, err := g.Plan.Proofs(feature)
	return proof.Table(specOf(s, feature), tasks, proofs), err
}

// noCriteria says why a feature has none.
func noCriteria(s *session, feature string) string {
	_, err := features.ReadDocument(specFile(s, feature))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "it has no " + features.Spec.File()
	case err != nil:
		return err.Error()
	}
	return "its " + features.Spec.File() + " has none: write them as a list below a heading \"Success criteria\""
}

// unproven lists the criteria in scope that nothing shows to be met, by feature. In the scope of a task or a tag these are the ones that
// its tasks are to prove.
func unproven(a *app, s *session, g *dag.Graph, scope dag.Scope) (list []string, err error) {
	all, err := g.Plan.Features()
	if err != nil {
		return nil, err
	}
	var only []dag.Task
	if scope.Task != "" || scope.Tag != "" {
		if only, err = g.Tasks.In(scope); err != nil {
			return nil, err
		}
	}
	criteria := 0
	for _, f := range all {
		if scope.Feature != "" && scope.Feature != f.Name {
			continue
		}
		rows, err := proofsOf(s, g, f.Name)
		if err != nil {
			return nil, err
		}
		criteria += len(rows)
		if by := specWriter(a, s, f.Name); by != "" {
			list = append(list, f.Name+": "+features.Spec.File()+" may have been changed by "+by+" (ralph config trust)")
		}
		if len(rows) == 0 && scope.Feature != "" {
			list = append(list, f.Name+" has no success criteria: "+noCriteria(s, f.Name))
		}
		rows = slices.DeleteFunc(proof.Unproven(rows), func(r proof.Row) bool {
			return only != nil && !slices.ContainsFunc(only, func(t dag.Task) bool { return slices.Contains(r.Tasks, t.ID) })
		})
		if len(rows) > 0 {
			names := seq.Map(rows, func(r proof.Row) string { return cmp.Or(r.ID, "a criterion without an ID") })
			list = append(list, f.Name+" "+strings.Join(names, ", ")+" (ralph feature proof "+f.Name+")")
		}
	}
	if criteria == 0 && len(list) == 0 {
		list = append(list, "there are no success criteria in scope")
	}
	return list, nil
}

type featureProveOptions struct {
	Args     []string
	Message  string
	Withdraw bool
}

func (o *featureProveOptions) parse(commandLine) error {
	if err := dag.CheckProves(o.Args[1:2]); err != nil {
		return usagef("%v", err)
	}
	if o.Withdraw && o.Message != "" {
		return usagef("--withdraw goes with no message")
	}
	return nil
}

func runFeatureProve(ctx context.Context, a *app, o featureProveOptions) error {
	why, err := readText(a, o.Message)
	if err != nil {
		return err
	}
	name, id := o.Args[0], strings.ToUpper(o.Args[1])
	err = a.update(ctx, func(s *session, g *dag.Graph) error {
		f, err := g.Plan.Feature(name)
		if err != nil {
			return featureHint(a, s, name, err)
		}
		name = f.Name
		criteria := proof.Criteria(specOf(s, name))
		i := slices.IndexFunc(criteria, func(c proof.Criterion) bool { return c.ID == id })
		if i < 0 && !o.Withdraw {
			err := fmt.Errorf("%s: criterion %s: %w", name, id, dag.ErrNotFound)
			if len(criteria) == 0 {
				return hint(err, "%s", noCriteria(s, name))
			}
			return hint(err, "see them: ralph feature proof %s", name)
		}
		if o.Withdraw {
			had, err := g.Plan.WithdrawProof(name, id)
			if err == nil && !had {
				err = fmt.Errorf("%w: nobody said that %s is met", dag.ErrRefused, id)
			}
			return errors.Join(err, g.History.Audit("", "", name+" "+id+" withdrawn"))
		}
		return g.Plan.Prove(name, dag.Proof{
			Criterion: id, Text: criteria[i].Text, Author: g.Actor().Who, Shown: why, Commit: git.Head(ctx, s.project.Root),
		})
	})
	if err != nil {
		return err
	}
	if o.Withdraw {
		a.note("%s %s: what people said of it is taken back", name, id)
		return nil
	}
	a.note("%s %s is proven, as you say", name, id)
	return nil
}
