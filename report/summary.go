package report

import (
	"fmt"

	"ralph/internal/human"
	"ralph/internal/render"
)

// Bounds of a summary: it is read in ten seconds, above the log of a pipeline.
const (
	summaryFailures = 5
	summaryWaits    = 10
)

// Summary is the report in short, as Markdown for the page of a pipeline: how it
// ended, each failed task with its gate and the next command, and what waits. What
// a task or a gate said cannot become markup in it.
func Summary(r Run) string {
	m := marker{Run: r}
	m.f("## %s ralph: %s\n\n", r.Tone().Sign(), mark(r.Headline()))
	m.f("%s in %s, cost %s", render.Counts(r.Counts), human.Span(r.Duration), r.Usage.CostWords())
	if r.Verified > 0 {
		m.f(", %s", r.verifiedWords())
	}
	m.f("\n")
	if reason, _ := head(r.Reason); reason != "" {
		m.f("\n%s\n", mark(shorten(reason, 500)))
	}
	m.failures(summaryFailures, true)
	if len(r.Waits) > 0 {
		m.waits(summaryWaits)
	}
	if len(r.Failures) == 0 || len(r.Failures) > 1 {
		m.next()
	}
	if r.ID == "" {
		return m.b.String()
	}
	m.f("\n<sub>run `%s`, %s</sub>\n", r.ID, fmt.Sprintf("the whole story: `ralph report %s`", r.ID))
	return m.b.String()
}
