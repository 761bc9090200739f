package report_test

import (
	"fmt"
	"strings"
	"testing"

	"ralph/dag"
	"ralph/internal/proof"
	"ralph/internal/report"
	"ralph/internal/testing/check"
)

// TestAFeatureOnAPage: what others wrote is no markup, and the page that shows it takes it.
func TestAFeatureOnAPage(t *testing.T) {
	t.Parallel()
	f := report.Feature{Name: "login", Criteria: []report.Criteria{{Feature: "login", Rows: proof.Table("# Acceptance\n- C1: <b>one</b>\n", nil, nil)}}, Tasks: []report.FeatureTask{
		{ID: "t-00000001", Title: "Say | <b>hello</b> to @ann\n# again", State: "done", Commit: "3f2a1bc0123456789", Gates: "2 gates passed", Verdict: "passed"},
		{ID: "t-00000002", Title: "Next", State: "ready"},
	}}
	text, err := f.Markdown()
	check.OK(t, err)
	check.Contains(t, "text", "1 of 2 tasks done", text)
	check.Contains(t, "text", "| ✗ | **C1** &lt;b&gt;one&lt;/b&gt; | **not proven:** no task proves it |  |\n", text)
	check.Contains(t, "text", "| `t-00000001` | Say \\| &lt;b&gt;hello&lt;/b&gt; to @\u200bann \\# again | done | 2 gates passed; passed | 3f2a1bc |", text)
	check.Contains(t, "text", "| `t-00000002` | Next | ready |  |  |\n", text)

	for i := range 2000 {
		f.Tasks = append(f.Tasks, report.FeatureTask{ID: fmt.Sprintf("t-%08d", i), Title: strings.Repeat("*", 1000), State: "done"})
	}
	text, err = f.Markdown()
	check.OK(t, err)
	check.That(t, len(text) <= 60_000, "it has %d bytes", len(text))
	check.Contains(t, "text", "2001 of 2002 tasks done", text)
	check.Contains(t, "text", "more tasks\n", text)

	f.Criteria[0].Rows = proof.Table("# Acceptance\n"+strings.Repeat("- one\n", 5000), nil, nil)
	text, err = f.Markdown()
	check.OK(t, err)
	check.That(t, len(text) <= 60_000, "it has %d bytes", len(text))

	proven := proof.Row{Proven: true, Proof: &dag.Proof{Kind: dag.ProofTest}}
	proven.ID, proven.Text = "C1", "the first"
	rows := []proof.Row{proven}
	for i := range 500 {
		row := proof.Row{Why: "it waits"}
		row.ID, row.Text = fmt.Sprintf("C%d", i+2), strings.Repeat("long ", 80)
		rows = append(rows, row)
	}
	f.Criteria[0].Rows, f.Tasks = rows, f.Tasks[:2]
	text, err = f.Markdown()
	check.OK(t, err)
	check.That(t, len(text) <= 60_000, "it has %d bytes", len(text))
	check.Contains(t, "text", "1 of 501 criteria proven", text)
	check.Contains(t, "text", "more\n", text)
	check.Contains(t, "text", "| `t-00000001` |", text)
	check.Contains(t, "text", "| `t-00000002` |", text)
	check.Contains(t, "text", "**C2**", text)
	check.That(t, !strings.Contains(text, "the first"), "what is proven stands before what is not")
}
