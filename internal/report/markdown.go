package report

import (
	_ "embed"
	"fmt"
	"io"
	"strings"
	"text/template"

	"ralph/internal/human"
	"ralph/internal/render"
	"ralph/internal/seq"
	"ralph/internal/term"
)

//go:embed page/markdown.tmpl
var pageMarkdown string

//go:embed page/criteria.tmpl
var pageCriteria string

// Bounds of Markdown: pages that show it refuse what is too large.
const (
	markdownDetail   = 4 << 10
	markdownFailures = 50
	markdownRows     = 500
)

// Bounds of a summary: it is read in ten seconds, above the log of a pipeline.
const (
	summaryFailures = 5
	summaryWaits    = 10
)

// Markdown writes the whole report for a page that renders Markdown.
func Markdown(w io.Writer, r Run) error {
	return document{r, markdownFailures, markdownRows, len(r.Failures) > 1}.write(w, "report")
}

// Summary writes the report in short, as Markdown for the page of a pipeline: how it
// ended, each failed task with its gate and the next command, and what waits. What
// a task or a gate said cannot become markup in it.
func Summary(w io.Writer, r Run) error {
	return document{r, summaryFailures, summaryWaits, true}.write(w, "summary")
}

// document is the data of the template.
type document struct {
	Run
	failures, waits int  // that are shown
	Steps           bool // for each failure
}

func (d document) write(w io.Writer, name string) error {
	return template.Must(template.New("").Funcs(template.FuncMap{
		"mark": mark, "code": code, "fence": fence, "steps": stepLines, "shorten": shorten, "span": human.Span, "clock": d.clock,
		"plural": human.Count, "minus": minus, "first": func(s string) string { first, _ := head(s); return first },
		"detail": func(s string) string {
			return ending(strings.Join(term.MarkedTail(s, term.GateLines), "\n"), markdownDetail)
		},
	}).Parse(pageMarkdown+pageCriteria)).ExecuteTemplate(w, name, d)
}

func minus(a, b int) int { return a - b }

// Facts are a table of two columns: it stays readable where lists run together.
func (d document) Facts() []fact {
	facts := d.facts()
	for i, f := range facts {
		facts[i].Name = strings.ToUpper(f.Name[:1]) + f.Name[1:]
		if f.Name == "why" || f.Name == "scope" || f.Name == "work" { // what others wrote
			facts[i].Value = mark(f.Value)
		}
	}
	return facts
}

// Tally says in one line how far the run came.
func (d document) Tally() string {
	text := fmt.Sprintf("%s in %s, cost %s", render.Counts(d.Counts), human.Span(d.Duration), d.Usage.CostWords())
	if d.Verified > 0 {
		text += ", " + d.verifiedWords()
	}
	return text + human.Lead(", ", human.Some(d.excused(), "excused gate"))
}

func (d document) Failed() []Failure { return d.Failures[:min(len(d.Failures), d.failures)] }

func (d document) Waiting() []Wait { return d.Waits[:min(len(d.Waits), d.waits)] }

func (d document) Rows() []Attempt { return d.Attempts[:min(len(d.Attempts), markdownRows)] }

func stepLines(steps []render.Step) string {
	return strings.Join(seq.Map(steps, func(s render.Step) string { return s.Command + "  # " + s.Why }), "\n")
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

// longest is the length of the longest run of a sign.
func longest(s string, of rune) (most int) {
	for run := range strings.FieldsFuncSeq(s, func(r rune) bool { return r != of }) {
		most = max(most, len(run))
	}
	return most
}
