package report

import (
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"ralph/dag"
	"ralph/internal/human"
	"ralph/internal/render"
	"ralph/internal/seq"
	"ralph/internal/term"
)

// The page is one file: what it needs is in it, and nothing is fetched.
var (
	//go:embed page/page.html
	pageHTML string
	//go:embed page/style.css
	pageCSS string
	//go:embed page/script.js
	foldJS string
	//go:embed page/pan.js
	panJS string

	pageJS = panJS + foldJS
)

// Style is the style sheet of reports, for pages that show the same pictures.
func Style() string { return pageCSS }

// Pan is the script that moves and zooms a graph, for the same pages.
func Pan() string { return panJS }

// Bounds that keep the page of a large run small: everything is in the JSON.
const (
	pageReasons  = 400 << 10 // of all reasons together
	pageReason   = 4 << 10   // of each, at most
	pageFailures = 100
	pageFirst    = 8 // of what waits
	pageWaits    = 200
	pageRows     = 40   // of the timeline
	pageTasks    = 1500 // with all their receipts
	pageAll      = 60   // of them, without folding
	pageNotes    = 600
	pageWhy      = 500
	lightAbove   = 200 // boxes, which then show less
)

// HTMLOptions are what a page needs beside the run.
type HTMLOptions struct {
	Hide func(string) string // removes secrets from logs and diffs; nil means that there are none
	// Diff returns at most limit bytes of the difference between two trees, and whether
	// there is more; nil means that no diffs are shown.
	Diff func(before, after string, limit int) (text string, cut bool, err error)
}

// HTML writes the report as a page that needs no network. Nothing that agents,
// gates or people wrote can become markup or script in it, and the page forbids
// every script but its own.
func HTML(w io.Writer, r Run, o HTMLOptions) error {
	p := r.page(nil)
	p.logs = r.embed(o)
	p.pictures()
	tmpl, err := p.template()
	if err != nil {
		return err
	}
	return tmpl.Execute(w, p)
}

// Fragments are parts of the page of a report, for pages that show the same. html/template has made them.
type Fragments struct{ Head, Next, Timeline template.HTML }

// Fragments makes them. href is where a task is told about.
func (r Run) Fragments(href func(task string) string) (f Fragments, err error) {
	p := r.page(href)
	tmpl, err := p.template()
	if err != nil {
		return f, err
	}
	for name, to := range map[string]*template.HTML{"head": &f.Head, "next": &f.Next, "timeline": &f.Timeline} {
		var b strings.Builder
		if err := tmpl.ExecuteTemplate(&b, name, p); err != nil {
			return f, err
		}
		*to = template.HTML(b.String())
	}
	return f, nil
}

func (p *page) template() (*template.Template, error) {
	r := p.Run
	return template.New("page").Funcs(template.FuncMap{
		"line": render.Line[string], "short": short, "long": long, "shorten": shorten, "ending": func(s string) string { return ending(s, p.limit) },
		"plural": human.Count, "minus": minus, "state": r.state, "took": r.took, "span": human.Span, "clock": r.clock,
		"boxFacts": func(t Task) string { return strings.Join(r.boxFacts(t, r.state(t)), " · ") },
		"attempts": func(t Task) []Attempt { return pick(r.Attempts, t.Attempts) },
		"bars":     func(t Task) []bar { return pick(p.bars, t.Attempts) },
		"logs":     func(attempt string) []log { return p.logs[attempt] },
		"why":      func(a Attempt) string { first, _ := head(a.Reason); return shorten(first, pageWhy) },
		"more":     func(a Attempt) string { _, rest := head(a.Reason); return ending(rest, p.limit) },
	}).Parse(pageHTML)
}

func pick[T any](list []T, at []int) []T { return seq.Map(at, func(i int) T { return list[i] }) }

// pageTitle is how many columns of a title are shown where there are many of them.
const pageTitle = 80

// short is as much of a title as fits into a list, and long the whole of it, if that is more.
func short(title string) string { return term.Cut(title, pageTitle) }

func long(title string) string {
	if short(title) == title {
		return ""
	}
	return shorten(title, pageNotes)
}

// page is the data of the template. Only files of ours have a type that html/template does not escape.
type page struct {
	Run
	CSS template.CSS
	JS  template.JS

	Focus   *graph
	FocusIs string
	Groups  bool
	Whole   *graph
	NoWhole string

	Strip   []strip
	Rows    []Task
	RowsAre string
	Ticks   []string
	bars    []bar // of each attempt

	Receipts []Task
	Quiet    []Task // of a large run, those without news
	limit    int    // of a reason
	logs     map[string][]log
	href     func(task string) string // nil for a page of its own
}

// Href is where a task is told about.
func (p *page) Href(task string) string {
	if p.href != nil {
		return p.href(task)
	}
	return "#task-" + task
}

func (r Run) page(href func(task string) string) *page {
	p := &page{Run: r, CSS: template.CSS(pageCSS), JS: template.JS(pageJS), limit: pageReason, href: href}
	if n := len(r.Attempts) + len(r.Failures); n > 0 {
		p.limit = min(max(pageReasons/n, 200), pageReason)
	}
	p.timeline()
	p.receipts()
	return p
}

// Policy forbids everything that is not in the page itself.
func (p *page) Policy() string { return Policy() }

// Policy is the content security policy of a report: only what is in the page itself, for whoever serves it.
func Policy() string {
	script := sha256.Sum256([]byte(pageJS))
	return "default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-" +
		base64.StdEncoding.EncodeToString(script[:]) + "'; base-uri 'none'; form-action 'none'"
}

func (p *page) Project() string { return cmp.Or(render.Line(filepath.Base(p.Root)), "ralph") }

func (p *page) Class() string {
	return map[render.Tone]string{render.Good: "done", render.Bad: "failed", render.Open: "running"}[p.Tone()]
}

func (p *page) Why() string {
	first, _ := head(p.Reason)
	return shorten(first, 1000)
}

func (p *page) Failed() []Failure { return p.Failures[:min(len(p.Failures), pageFailures)] }

// Waiting are those that wait, and Later those of them that are folded.
func (p *page) Waiting() []Wait { return p.Waits[:min(len(p.Waits), pageFirst)] }

func (p *page) Later() []Wait { return p.Waits[len(p.Waiting()):min(len(p.Waits), pageWaits)] }

func (p *page) Facts() []fact {
	cost := p.Usage.CostWords()
	if p.Usage.Cost() == 0 && p.Usage.Silent > 0 {
		cost += ": no agent reported its cost"
	}
	facts := factsOf("took", human.Span(p.Duration), "cost", cost, "tokens", p.Usage.TokenWords(), "attempts", fmt.Sprint(len(p.Attempts)),
		"forecast", p.Forecast.words(), "verified", p.verifiedWords(), "began", p.when(p.StartedAt), "scope", short(p.Scope), "continues", p.Together.words(),
		"work", strings.Join(render.Landed(p.Work), "; "))
	if p.Setup != nil {
		level, covers, _ := strings.Cut(render.Line(p.Setup.Sandbox), ": ")
		facts = append(facts, factsOf("agent", render.Line(p.Setup.Agent), "checked by", render.Line(p.Setup.Verify), "sandbox", level)...)
		facts[len(facts)-1].More = covers // "" without a sandbox
	}
	return facts
}

// part is a piece of the bar that shows how far the run came, of 1,000.
type part struct {
	Class, Word string
	N, X, Width int
}

func (p *page) Parts() []part {
	var parts []part
	x := 0
	for _, c := range []part{
		{Class: "done", Word: "done", N: p.Counts.Done},
		{Class: "failed", Word: "failed", N: p.Counts.Failed},
		{Class: "open", Word: "remaining", N: p.Counts.Remaining},
		{Class: "old", Word: "cancelled", N: p.Counts.Cancelled},
	} {
		if c.N > 0 && p.Counts.Total > 0 {
			c.X, c.Width = x, max(c.N*1000/p.Counts.Total, 4)
			x += c.Width
			parts = append(parts, c)
		}
	}
	return parts
}

func (p *page) pictures() {
	if len(p.Tasks) == 0 {
		return
	}
	f := flowOf(p.Run)
	focus := p.focus(f)
	p.Focus = p.svg(focus, "focus", false)
	p.Groups = slices.ContainsFunc(focus.nodes, func(n node) bool { return n.task.Group })
	if focus.whole {
		return
	}
	p.FocusIs = fmt.Sprintf("%d of %d tasks: %s. +N in a box counts neighbours that are not shown.", len(focus.nodes), len(p.Tasks), focus.words)
	if len(p.Tasks) > wholeAtMost {
		p.NoWhole = fmt.Sprintf("All %d tasks are too many to be drawn here: ralph task graph --format dot", len(p.Tasks))
		return
	}
	p.Whole = p.svg(p.draw(f, p.all()), "whole", len(p.Tasks) > lightAbove)
}

// receipts chooses the tasks whose attempts are shown: failed ones first if there are too many.
func (p *page) receipts() {
	p.Receipts = p.ran()
	slices.SortStableFunc(p.Receipts, func(a, b Task) int { return a.Attempts[0] - b.Attempts[0] })
	if len(p.Receipts) > pageTasks {
		slices.SortStableFunc(p.Receipts, func(a, b Task) int { return rank(a) - rank(b) })
		p.Receipts = p.Receipts[:pageTasks]
	}
	if len(p.Receipts) > pageAll {
		quiet := func(t Task) bool { return rank(t) == 2 && t.Status == dag.Done }
		p.Quiet = slices.DeleteFunc(slices.Clone(p.Receipts), func(t Task) bool { return !quiet(t) })
		p.Receipts = slices.DeleteFunc(p.Receipts, quiet)
	}
}

// MoreTasks counts the tasks that ran and are not in the page.
func (p *page) MoreTasks() int { return len(p.ran()) - len(p.Receipts) - len(p.Quiet) }

func rank(t Task) int {
	switch {
	case t.Status == dag.Failed:
		return 0
	case len(t.Attempts) > 1:
		return 1
	default:
		return 2
	}
}

// Line is what an attempt took, in one line: a page of a thousand attempts must stay light.
func (a Attempt) Line() string {
	cost := "cost " + a.Usage.CostWords()
	if cost == "cost nothing" {
		cost = ""
	}
	facts := human.Parts(human.Span(a.Duration), render.Line(a.Agent), a.ModelWords(), a.Usage.TokenWords(), cost,
		human.Lead("stop reason ", render.Line(a.StopReason)), human.Lead("sandbox ", render.Line(a.Sandbox)))
	return shorten(strings.Join(facts, " · "), pageNotes)
}

// Lines are what needs a line of its own.
func (a Attempt) Lines() (lines []string) {
	named := func(name, value string) string { return human.Lead(name+": ", shorten(value, pageNotes)) }
	for _, g := range a.Gates {
		result, aside, _ := render.Gate(g)
		lines = append(lines, named("gate", render.Line(g.Command)+": "+result+aside))
	}
	return human.Parts(append(lines, named("verdict", render.Line(a.Verdict)),
		named("files", render.Line(strings.Join(a.Files, ", "))), named("notes", render.Line(a.Notes)))...)
}

// Spends says whether there is a cost to be shown by model.
func (r Run) Spends() bool { return r.Usage.Known > 0 || r.Usage.TokensIn > 0 }

// Share is what a model cost of the dearest, of 100.
func (p *page) Share(s Spending) int {
	if most := p.Models[0].Usage.Cost(); most > 0 {
		return int(100 * s.Usage.Cost() / most)
	}
	return 0
}
