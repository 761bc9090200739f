package report

import (
	"slices"

	"ralph/dag"
	"ralph/internal/proof"
	"ralph/internal/term"
)

// Criteria are the success criteria of a feature, and what shows that each is met.
type Criteria struct {
	Feature string      `json:"feature"`
	Rows    []proof.Row `json:"rows"`

	all []proof.Row // if some are left out
}

// cut leaves at most so many of them, first those that are not proven.
func (c Criteria) cut(rows int) Criteria {
	if len(c.Rows) <= rows {
		return c
	}
	isProven := func(r proof.Row) bool { return r.Proven }
	isOpen := func(r proof.Row) bool { return !r.Proven }
	list := append(slices.DeleteFunc(slices.Clone(c.Rows), isProven), slices.DeleteFunc(slices.Clone(c.Rows), isOpen)...)
	return Criteria{Feature: c.Feature, Rows: list[:rows], all: c.Rows}
}

// More is how many are left out.
func (c Criteria) More() int { return max(len(c.all)-len(c.Rows), 0) }

// Summary says in a few words how many are proven.
func (c Criteria) Summary() string {
	if c.all != nil {
		return proof.Summary(c.all)
	}
	return proof.Summary(c.Rows)
}

// criteriaOf reads those of the features that tasks belong to.
func criteriaOf(g *dag.Graph, tasks []dag.Task, spec func(feature string) string) (list []Criteria) {
	list = []Criteria{}
	by := map[string][]dag.Task{}
	var order []string
	for _, t := range tasks {
		if t.Feature != "" && by[t.Feature] == nil {
			order = append(order, t.Feature)
		}
		by[t.Feature] = append(by[t.Feature], t)
	}
	if spec == nil {
		return list
	}
	for _, feature := range order {
		proofs, _ := g.Plan.Proofs(feature) // the first error of the database is that of the transaction
		if rows := proof.Table(spec(feature), by[feature], proofs); len(rows) > 0 {
			list = append(list, Criteria{Feature: feature, Rows: rows})
		}
	}
	return list
}

// CriteriaTable has the criteria of a feature; what is not proven is red, or yellow if it is in part.
func CriteriaTable(rows []proof.Row, p term.Palette, width int) *term.Table {
	table := &term.Table{Width: width, Wrap: true}
	for _, r := range rows {
		paint := p.Green
		switch {
		case r.Partial():
			paint = p.Yellow
		case !r.Proven:
			paint = p.Red
		}
		table.Add(term.Cell{Text: r.Sign(), Paint: paint}, term.Cell{Text: r.ID, Paint: p.Bold}, term.Cell{Text: term.Cut(r.Text, 40)}, term.Cell{Text: r.At(), Paint: p.Dim},
			term.Cell{Text: term.Cut(r.Words(), 160), Paint: paint})
	}
	return table
}

// CriteriaTable has the criteria of one feature.
func (t texter) CriteriaTable(c Criteria) string {
	return CriteriaTable(c.Rows, t.p, t.o.Width).Indented()
}
