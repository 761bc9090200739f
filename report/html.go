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
	"ralph/internal/term"
)

// The page is one file: what it needs is in it, and nothing is fetched.
var (
	//go:embed page/page.html
	pageHTML string
	//go:embed page/style.css
	pageCSS string
	//go:embed page/script.js
	pageJS string
)

// Bounds that keep the page of a large run small: everything is in the JSON.
const (
	pageReasons  = 400 << 10 // of all reasons together
	pageReason   = 4 << 10   // of each, at most
	pageFailures = 100
	pageOpen     = 3 // of the failures
	pageFirst    = 8 // of what waits
	pageWaits    = 200
	pageRows     = 40   // of the timeline
	pageTasks    = 1500 // with all their receipts
	pageAll      = 60   // of them, without folding
	pageNotes    = 600
	lightAbove   = 200 // boxes, which then tell less
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
	page, err := template.New("page").Funcs(template.FuncMap{"line": render.Line[string], "short": short, "long": long, "plural": human.Count}).Parse(pageHTML)
	if err != nil {
		return err
	}
	return page.Execute(w, r.page(o))
}

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
	Policy   string
	CSS      template.CSS
	JS       template.JS
	Sign     string
	Project  string
	Title    string
	Class    string
	Words    string // why it ended
	Facts    []fact
	Parts    []part
	Failed   []failed
	ManyFail bool // otherwise what is next says it
	MoreFail int
	Waiting  []Wait
	Later    []Wait
	MoreWait int
	Focus    *graph
	FocusIs  string
	Groups   bool
	Whole    *graph
	NoWhole  string
	Strip    []strip
	Rows     []row
	RowsAre  string
	Ticks    []string
	Legend   []part
	Spending []spendRow
	Receipts []receipts
	Quiet    []receipts // of a large run, those that tell nothing new
	MoreTask int
}

type fact struct {
	Name, Value string
	More        string // folded below it
}

// part is a piece of the bar that shows how far the run came, of 1,000.
type part struct {
	Class, Word string
	N, X, Width int
}

type failed struct {
	Failure
	Open bool
	Logs []log
}

func (r Run) page(o HTMLOptions) page {
	script := sha256.Sum256([]byte(pageJS))
	p := page{
		Run: r, CSS: template.CSS(pageCSS), JS: template.JS(pageJS), Sign: r.Tone().Sign(), Title: r.Headline(),
		Project: cmp.Or(render.Line(filepath.Base(r.Root)), "ralph"),
		Policy:  "default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-" + base64.StdEncoding.EncodeToString(script[:]) + "'; base-uri 'none'; form-action 'none'",
		Class:   map[render.Tone]string{render.Good: "done", render.Bad: "failed", render.Open: "running"}[r.Tone()],
		Parts:   r.parts(), Facts: r.facts(),
	}
	p.Words, _ = head(r.Reason)
	p.Words = shorten(p.Words, 1000)
	limit := pageReason
	if n := len(r.Attempts) + len(r.Failures); n > 0 {
		limit = min(max(pageReasons/n, 200), pageReason)
	}
	logs := r.embed(o)
	for _, f := range r.Failures[:min(len(r.Failures), pageFailures)] {
		f.Reason, f.Detail = shorten(f.Reason, 500), ending(f.Detail, limit)
		p.Failed = append(p.Failed, failed{f, len(p.Failed) < pageOpen, logs[f.Attempt]})
	}
	p.ManyFail = len(p.Failed) > 1
	p.MoreFail = len(r.Failures) - len(p.Failed)
	p.Waiting = r.Waits[:min(len(r.Waits), pageFirst)]
	p.Later = r.Waits[len(p.Waiting):min(len(r.Waits), pageWaits)]
	p.MoreWait = len(r.Waits) - len(p.Waiting) - len(p.Later)
	r.pictures(&p)
	r.timeline(&p)
	p.Spending = r.spendRows()
	p.Receipts, p.MoreTask = r.receipts(logs, limit)
	if len(p.Receipts) > pageAll {
		all := p.Receipts
		quiet := func(e receipts) bool { return rank(e.Task) == 2 && e.Task.Status == dag.Done }
		p.Receipts = slices.DeleteFunc(slices.Clone(all), quiet)
		p.Quiet = slices.DeleteFunc(all, func(e receipts) bool { return !quiet(e) })
	}
	return p
}

func (r Run) facts() []fact {
	cost := r.Usage.CostWords()
	if r.Usage.Cost() == 0 && r.Usage.Silent > 0 {
		cost += ": no agent reported its cost"
	}
	facts := []fact{
		{"took", human.Span(r.Duration), ""},
		{"cost", cost, ""},
		{"tokens", r.Usage.TokenWords(), ""},
		{"attempts", fmt.Sprint(len(r.Attempts)), ""},
		{"verified", r.verifiedWords(), ""},
		{"began", r.when(r.StartedAt), ""},
		{"scope", short(r.Scope), ""},
		{"continues", r.Together.words(), ""},
	}
	if r.Setup != nil {
		level, covers, _ := strings.Cut(render.Line(r.Setup.Sandbox), ": ")
		facts = append(facts, fact{"agent", render.Line(r.Setup.Agent), ""}, fact{"checked by", render.Line(r.Setup.Verify), ""}, fact{"sandbox", level, covers})
	}
	return slices.DeleteFunc(facts, func(f fact) bool { return f.Value == "" })
}

func (r Run) parts() []part {
	var parts []part
	x := 0
	add := func(class, word string, n int) {
		if n > 0 && r.Counts.Total > 0 {
			width := max(n*1000/r.Counts.Total, 4)
			parts = append(parts, part{class, word, n, x, width})
			x += width
		}
	}
	add("done", "done", r.Counts.Done)
	add("failed", "failed", r.Counts.Failed)
	add("open", "remaining", r.Counts.Remaining)
	return parts
}

func (r Run) pictures(p *page) {
	if len(r.Tasks) == 0 {
		return
	}
	f := flowOf(r)
	focus := r.focus(f)
	p.Focus = r.svg(focus, "focus", false)
	p.Groups = slices.ContainsFunc(focus.nodes, func(n node) bool { return n.task.Group })
	if focus.whole {
		return
	}
	p.FocusIs = fmt.Sprintf("%d of %d tasks: %s. +N in a box counts neighbours that are not shown.", len(focus.nodes), len(r.Tasks), focus.words)
	if len(r.Tasks) > wholeAtMost {
		p.NoWhole = fmt.Sprintf("All %d tasks are too many to be drawn here: ralph task graph --format dot", len(r.Tasks))
		return
	}
	p.Whole = r.svg(r.draw(f, r.all()), "whole", len(r.Tasks) > lightAbove)
}

type receipts struct {
	Task  Task
	State state
	Facts string
	List  []receipt
}

type receipt struct {
	Attempt
	Ended string
	Began string
	Facts string   // in one line: a page of a thousand attempts must stay light
	Lines []string // what needs a line of its own
	Why   string
	More  string // the rest of why
	Logs  []log
}

// receipts tells every attempt, by task: those of failed tasks first if there are
// too many.
func (r Run) receipts(logs map[string][]log, limit int) ([]receipts, int) {
	ran := r.ran()
	slices.SortStableFunc(ran, func(a, b Task) int { return a.Attempts[0] - b.Attempts[0] })
	more := max(len(ran)-pageTasks, 0)
	if more > 0 {
		slices.SortStableFunc(ran, func(a, b Task) int { return rank(a) - rank(b) })
		ran = ran[:pageTasks]
	}
	list := make([]receipts, 0, len(ran))
	for _, t := range ran {
		s := r.state(t)
		entry := receipts{Task: t, State: s, Facts: strings.Join(r.boxFacts(t, s), " · ")}
		for _, i := range t.Attempts {
			entry.List = append(entry.List, r.receipt(r.Attempts[i], logs[r.Attempts[i].ID], limit))
		}
		list = append(list, entry)
	}
	return list, more
}

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

func (r Run) receipt(a Attempt, logs []log, limit int) receipt {
	out := receipt{Attempt: a, Ended: a.State(), Began: r.clock(a.StartedAt), Logs: logs}
	facts := []string{human.Span(a.Duration), render.Line(a.Agent), a.ModelWords(), a.Usage.TokenWords()}
	if cost := a.Usage.CostWords(); cost != "nothing" {
		facts = append(facts, "cost "+cost)
	}
	if a.StopReason != "" {
		facts = append(facts, "stop reason "+render.Line(a.StopReason))
	}
	if a.Sandbox != "" {
		facts = append(facts, "sandbox "+render.Line(a.Sandbox))
	}
	facts = slices.DeleteFunc(facts, func(f string) bool { return f == "" })
	out.Facts = shorten(strings.Join(facts, " · "), pageNotes)
	add := func(name, value string) {
		if value != "" {
			out.Lines = append(out.Lines, name+": "+shorten(value, pageNotes))
		}
	}
	for _, g := range a.Gates {
		result, aside, _ := render.Gate(g)
		add("gate", render.Line(g.Command)+": "+result+aside)
	}
	add("verdict", render.Line(a.Verdict))
	add("files", render.Line(strings.Join(a.Files, ", ")))
	add("notes", render.Line(a.Notes))
	out.Why, out.More = head(a.Reason)
	out.Why, out.More = shorten(out.Why, 500), ending(out.More, limit)
	return out
}

// spendRow is a line of the cost by model, with a bar of 100.
type spendRow struct {
	Spending
	Name   string
	Cost   string
	Tokens string
	Bar    int
}

func (r Run) spendRows() []spendRow {
	if r.Usage.Told == 0 && r.Usage.TokensIn == 0 {
		return nil
	}
	most := 0.0
	for _, s := range r.Models {
		most = max(most, s.Usage.Cost())
	}
	var rows []spendRow
	for _, s := range r.Models {
		row := spendRow{Spending: s, Name: shorten(render.Line(s.Key), 100), Cost: s.Usage.CostWords(), Tokens: s.Usage.TokenWords()}
		if most > 0 {
			row.Bar = int(100 * s.Usage.Cost() / most)
		}
		rows = append(rows, row)
	}
	return rows
}
