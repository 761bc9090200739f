package report

import (
	_ "embed"
	"strings"
	"text/template"
	"time"

	"ralph/dag"
	"ralph/internal/human"
	"ralph/internal/render"
	"ralph/internal/seq"
)

// Feature is what became of a feature, over all runs: the description of its pull request.
type Feature struct {
	Name  string
	Tasks []FeatureTask // in the order of their creation, without groups
	Usage Usage

	Criteria []Criteria // of its specification, and what proves each; empty if there are none
}

// FeatureTask is one of its tasks, with the evidence for its work.
type FeatureTask struct {
	ID, Title, State string
	Commit           string // that landed; "" if none did
	Gates            string // in words, of the attempt whose work counts
	Verdict          string // of the verifier, or of a person
}

// LoadFeature reads what became of a feature. Spec reads its specification.
func LoadFeature(g *dag.Graph, name string, spec func(feature string) string, now time.Time) (Feature, error) {
	f := Feature{Name: name}
	tasks, err := g.Tasks.List(dag.Filter{Feature: name})
	if err != nil {
		return f, err
	}
	f.Criteria = criteriaOf(g, tasks, spec)
	for _, t := range tasks {
		if t.Children > 0 || t.Emptied {
			continue
		}
		work, _ := g.Queue.LandedWork(t) // the first error of the database is that of all that follow
		receipts, err := g.History.Receipts(dag.ReceiptFilter{Task: t.ID})
		if err != nil {
			return f, err
		}
		row := FeatureTask{ID: t.ID, Title: t.Title, State: t.State(now), Commit: work.Candidate}
		for _, r := range receipts {
			f.Usage = f.Usage.plus(usageOf(r))
			if work.Attempt == "" || r.ID == work.Attempt {
				row.Gates, row.Verdict = gateWords(gatesOf(r.GatesJSON)), r.Verdict
			}
		}
		f.Tasks = append(f.Tasks, row)
	}
	return f, nil
}

// Done is how many of its tasks are done.
func (f Feature) Done() (n int) {
	for _, t := range f.Tasks {
		if t.State == string(dag.Done) {
			n++
		}
	}
	return n
}

//go:embed page/feature.tmpl
var pageFeature string

// maxBody is how long the description of a pull request may be: GitHub takes 65,536 characters, and people write some, too.
const maxBody = 60_000

// Markdown is the report for a page that renders Markdown. As many criteria and tasks are listed as such a page has space
// for.
func (f Feature) Markdown() (string, error) {
	for rows := markdownRows; ; rows /= 2 {
		text, err := f.markdown(rows)
		if err != nil || len(text) <= maxBody {
			return text, err
		}
		if rows == 0 {
			const cut = "\nThe rest has no space here.\n"
			return text[:strings.LastIndexByte(text[:maxBody-len(cut)], '\n')+1] + cut, nil
		}
	}
}

func (f Feature) markdown(rows int) (string, error) {
	shown := f
	shown.Criteria = seq.Map(f.Criteria, func(c Criteria) Criteria { return c.cut(rows) })
	shown.Tasks = f.Tasks[:min(len(f.Tasks), rows)]
	t, err := template.New("feature").Funcs(template.FuncMap{
		"mark": mark, "shorten": shorten, "plural": human.Count, "commit": render.Commit,
		"evidence": func(t FeatureTask) string { return strings.Join(human.Parts(t.Gates, shorten(t.Verdict, 120)), "; ") },
	}).Parse(pageFeature + pageCriteria)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	err = t.Execute(&b, struct {
		Feature
		Total, DoneTasks, More int
	}{shown, len(f.Tasks), f.Done(), len(f.Tasks) - len(shown.Tasks)})
	return b.String(), err
}
