package wiring

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ralph/dag"
	"ralph/features"
	"ralph/internal/cli"
	"ralph/internal/proof"
	"ralph/internal/seq"
)

// SpecWriter says which attempt may have left the specification of a feature as it is, without a person's consent. Where the project lets
// agents write specifications, it has consented.
func SpecWriter(a *cli.App, s *cli.Session, feature string) string {
	file := filepath.Join(s.Project.Feature(feature), features.Spec.File())
	for _, path := range s.Config.Sandbox.Write {
		if !filepath.IsAbs(path) {
			path = filepath.Join(s.Project.Root, path)
		}
		if rel, err := filepath.Rel(path, file); err == nil && filepath.IsLocal(rel) {
			return ""
		}
	}
	rel, err := filepath.Rel(s.Project.Root, file)
	if err != nil {
		return ""
	}
	return cli.HistoryOf(a, s.Project).SpecWriter(filepath.ToSlash(rel))
}

// specFile is where the specification of a feature is.
func specFile(s *cli.Session, feature string) string {
	return filepath.Join(s.Project.Feature(feature), features.Spec.File())
}

// SpecOf is the text of a feature's specification; "" if it has none that can be read.
func SpecOf(s *cli.Session, feature string) string {
	text, _ := features.ReadDocument(specFile(s, feature)) // criteria that tasks are to prove are missed then
	return text
}

// ProofsOf hold the criteria of a feature against what was seen of them.
func ProofsOf(s *cli.Session, g *dag.Graph, feature string) ([]proof.Row, error) {
	tasks, _ := g.Tasks.List(dag.Filter{Feature: feature}) // the first error of the database is that of what follows
	proofs, err := g.Plan.Proofs(feature)
	return proof.Table(SpecOf(s, feature), tasks, proofs), err
}

// NoCriteria says why a feature has none.
func NoCriteria(s *cli.Session, feature string) string {
	_, err := features.ReadDocument(specFile(s, feature))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "it has no " + features.Spec.File()
	case err != nil:
		return err.Error()
	}
	return "its " + features.Spec.File() + " has none: write them as a list below a heading \"Success criteria\""
}

// Unproven lists the criteria in scope that nothing shows to be met, by feature. In the scope of a task or a tag these are the ones that
// its tasks are to prove.
func Unproven(a *cli.App, s *cli.Session, g *dag.Graph, scope dag.Scope) (list []string, err error) {
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
		rows, err := ProofsOf(s, g, f.Name)
		if err != nil {
			return nil, err
		}
		criteria += len(rows)
		if by := SpecWriter(a, s, f.Name); by != "" {
			list = append(list, f.Name+": "+features.Spec.File()+" may have been changed by "+by+" (ralph config trust)")
		}
		if len(rows) == 0 && scope.Feature != "" {
			list = append(list, f.Name+" has no success criteria: "+NoCriteria(s, f.Name))
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
