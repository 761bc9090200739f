package report

import (
	"fmt"
	"io"
	"strings"

	"ralph/internal/human"
	"ralph/internal/render"
	"ralph/internal/term"
)

// Bounds of what Markdown tells: pages that show it refuse what is too large.
const (
	markdownDetail   = 4 << 10
	markdownFailures = 50
	markdownRows     = 500
)

// Markdown writes the whole report for a page that renders Markdown.
func Markdown(w io.Writer, r Run) error {
	m := marker{Run: r}
	m.f("# %s %s: %s\n\n", r.Tone().Sign(), r.ID, mark(r.Headline()))
	m.facts()
	m.failures(markdownFailures, len(r.Failures) > 1)
	m.waits(markdownRows)
	m.attempts()
	m.spending()
	m.next()
	for _, w := range r.Warnings {
		m.f("\n> **warning:** %s\n", mark(w))
	}
	_, err := io.WriteString(w, m.b.String())
	return err
}

type marker struct {
	Run
	b strings.Builder
}

func (m *marker) f(format string, args ...any) { fmt.Fprintf(&m.b, format, args...) }

// facts are a table of two columns: it stays readable where lists run together.
func (m *marker) facts() {
	m.f("| | |\n|---|---|\n")
	row := func(name, value string) {
		if value != "" {
			m.f("| %s | %s |\n", name, value)
		}
	}
	row("Tasks", render.Counts(m.Counts))
	reason, _ := head(m.Reason)
	row("Why", mark(reason))
	row("Scope", mark(m.Scope))
	row("Continues", m.Together.words())
	row("Began", m.when(m.StartedAt))
	row("Took", human.Span(m.Duration)+", "+human.Count(len(m.Attempts), "attempt"))
	row("Cost", m.Usage.CostWords())
	row("Tokens", m.Usage.TokenWords())
	row("Verified", m.verifiedWords())
}

func (m *marker) failures(most int, steps bool) {
	if len(m.Failures) == 0 {
		return
	}
	m.f("\n## Failed\n")
	for _, f := range m.Failures[:min(len(m.Failures), most)] {
		m.f("\n### ✗ %s\n\n", mark(f.Title))
		m.f("`%s`: %s\n", f.Task, mark(shorten(f.Reason, 500)))
		if f.Gate != nil {
			m.f("\n- gate: %s, %s\n", code(f.Gate.Command), mark(f.Gate.Exit))
		}
		if f.Holds > 0 {
			m.f("\n- %s cannot run before it is done\n", human.Count(f.Holds, "task"))
		}
		if f.Detail != "" {
			m.f("\n%s\n", fence(ending(strings.Join(term.MarkedTail(f.Detail, term.GateLines), "\n"), markdownDetail), ""))
		}
		if steps && len(f.Next) > 0 {
			m.f("\n%s\n", fence(stepLines(f.Next), "sh"))
		}
	}
	if more := len(m.Failures) - most; more > 0 {
		m.f("\nand %d more: `ralph task list --status failed`\n", more)
	}
}

func (m *marker) waits(most int) {
	if len(m.Waits) == 0 {
		return
	}
	m.f("\n## Waiting\n\n| task | | waits for |\n|---|---|---|\n")
	for _, w := range m.Waits[:min(len(m.Waits), most)] {
		m.f("| `%s` | %s | %s |\n", w.Task, mark(w.Title), mark(w.Why))
	}
	if more := len(m.Waits) - most; more > 0 {
		m.f("\nand %d more\n", more)
	}
}

func (m *marker) attempts() {
	if len(m.Attempts) == 0 {
		return
	}
	m.f("\n## Attempts\n\n| began | task | | ended as | took | cost | |\n|---|---|---|---|---|---|---|\n")
	for _, a := range m.Attempts[:min(len(m.Attempts), markdownRows)] {
		m.f("| %s | `%s` | %s | %s | %s | %s | %s |\n", m.clock(a.StartedAt), a.Task, mark(shorten(a.Title, 200)), mark(a.State()),
			human.Span(a.Duration), a.Usage.CostWords(), mark(strings.Join(a.facts(), ", ")))
	}
	if more := len(m.Attempts) - markdownRows; more > 0 {
		m.f("\nand %d more: `ralph report %s --format json`\n", more, m.ID)
	}
}

func (m *marker) spending() {
	if m.Usage.Told == 0 && m.Usage.TokensIn == 0 {
		return
	}
	m.f("\n## Cost by model\n\n| model | attempts | cost | tokens |\n|---|---|---|---|\n")
	for _, s := range m.Models {
		m.f("| %s | %d | %s | %s |\n", mark(s.Key), s.Usage.Attempts, s.Usage.CostWords(), s.Usage.TokenWords())
	}
}

func (m *marker) next() {
	if len(m.Next) > 0 {
		m.f("\n## Next\n\n%s\n", fence(stepLines(m.Next), "sh"))
	}
}

func stepLines(steps []render.Step) string {
	lines := make([]string, len(steps))
	for i, s := range steps {
		lines[i] = s.Command + "  # " + s.Why
	}
	return strings.Join(lines, "\n")
}

// mark keeps foreign text from being Markdown, HTML, a link or a mention.
func mark(s string) string {
	s = render.Line(s)
	return strings.NewReplacer(
		`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "|", `\|`, "~", `\~`, "$", `\$`, "!", `\!`,
		"<", "&lt;", ">", "&gt;", "&", "&amp;", "#", `\#`, "@", "@\u200b", "://", ":\u200b//", "www.", "www\u200b.",
	).Replace(s)
}

// code is foreign text as a code span, also inside a table.
func code(s string) string {
	s = strings.ReplaceAll(render.Line(s), "|", "¦")
	ticks := strings.Repeat("`", longest(s, '`')+1)
	if len(ticks) > 1 || strings.HasPrefix(s, " ") {
		return ticks + " " + s + " " + ticks
	}
	return ticks + s + ticks
}

// fence is foreign text as a block that nothing in it can end.
func fence(s, language string) string {
	ticks := strings.Repeat("`", max(longest(s, '`')+1, 3))
	return ticks + language + "\n" + strings.TrimRight(render.Block(s), "\n") + "\n" + ticks
}

// longest is the length of the longest run of a byte.
func longest(s string, of byte) int {
	most, run := 0, 0
	for i := range len(s) {
		if s[i] != of {
			run = 0
			continue
		}
		run++
		most = max(most, run)
	}
	return most
}

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
