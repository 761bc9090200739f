package render

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"ralph/event"
	"ralph/internal/human"
	"ralph/internal/term"
)

// Bounds of the list of failed tasks.
const (
	maxFailures = 10
	maxTitle    = 40
)

// The footer says at the end of a run what happened, what failed and what to type next.

func (t *Terminal) footer(e event.Event) {
	t.line("")
	for _, line := range t.opts.footer(e, t.tally, t.width(), true) {
		t.line(line)
	}
}

// footer of a log: the same without what only makes it look nice, and without the
// reasons of failures, which stand above it.
func (p *Plain) footer(e event.Event) {
	opts := p.opts
	opts.Palette = term.Palette{}
	for _, line := range opts.footer(e, p.tally, 0, false) {
		if line != "" {
			p.say(e, line)
		}
	}
}

func (o Options) footer(e event.Event, t tally, width int, reasons bool) []string {
	lines := []string{o.headline(e, t)}
	if reason, _ := First(or(e.Reason, e.Text)); reason != "" {
		lines = append(lines, "  "+reason)
	}
	for _, text := range efforts(e) {
		lines = append(lines, "  "+o.Palette.Dim(text))
	}
	lines = append(lines, o.failures(t.failed(), width, reasons)...)
	if !o.Quiet {
		lines = append(lines, o.advice(e, t, width)...)
	}
	if folder := Line(t.setup.Folder); folder != "" {
		lines = append(lines, "", o.Palette.Dim("transcripts: ")+folder)
	}
	return lines
}

func (o Options) headline(e event.Event, t tally) string {
	words, tone := Outcome(e.RunOutcome(), t.countFailed())
	s := tone.Paint(o.Palette, tone.Sign()+" "+words)
	if c := t.counts; c != nil && c.Total > 0 {
		s += ": " + Counts(*c)
	}
	return s
}

// efforts are what the run took, and what it took with those that it continues.
func efforts(e event.Event) []string {
	own := effort(e.Iteration, e.Duration, e.Usage)
	if e.Together == nil {
		return []string{own}
	}
	t := *e.Together
	return []string{"this run: " + own, "with " + Line(t.Continues) + ", which it continues: " + effort(t.Iterations, t.Duration, &t.Usage)}
}

// effort is what was taken. A cost that no agent reported is unknown, not nothing.
func effort(iterations int, ms int64, u *event.Usage) string {
	parts := []string{human.Count(iterations, "iteration")}
	if ms > 0 {
		parts[0] += " in " + Took(ms)
	}
	if u != nil {
		parts = append(parts, Used(*u)...)
	}
	if u == nil && iterations > 0 || u != nil && u.CostUSD == nil && u.Unknown {
		parts = append(parts, "cost unknown")
	}
	return strings.Join(parts, ", ")
}

func (o Options) failures(list []failure, width int, reasons bool) []string {
	if len(list) == 0 {
		return nil
	}
	table := &term.Table{Width: width, Wrap: true}
	for _, f := range list[:min(len(list), maxFailures)] {
		row := []term.Cell{{Text: f.task, Paint: o.Palette.Red}, {Text: term.Cut(f.title, maxTitle)}}
		if reasons {
			row = append(row, term.Cell{Text: f.reason})
		}
		table.Add(row...)
	}
	lines := append([]string{"", o.Palette.Bold("failed")}, rows(table)...)
	if more := len(list) - maxFailures; more > 0 {
		lines = append(lines, fmt.Sprintf("  and %d more: ralph task list --status failed", more))
	}
	return lines
}

// indent sets a list off from its heading.
const indent = "  "

func (o Options) advice(e event.Event, t tally, width int) []string {
	var list []Failed
	for _, f := range t.failed() {
		list = append(list, Failed{Task: f.task, Reason: f.reason, Ran: true})
	}
	steps := Next(e.Run, e.RunOutcome(), list, t.countFailed() > len(list))
	if len(steps) == 0 {
		return nil
	}
	table := &term.Table{Width: width, Wrap: true}
	for _, s := range steps {
		table.Add(term.Cell{Text: s.Command, Paint: o.Palette.Cyan}, term.Cell{Text: s.Why, Paint: o.Palette.Dim})
	}
	return append([]string{"", o.Palette.Bold("next")}, rows(table)...)
}

func rows(t *term.Table) []string {
	if t.Width > 0 {
		t.Width -= len(indent)
	}
	var b strings.Builder
	_, _ = t.WriteTo(&b) // a builder takes everything
	var lines []string
	for line := range strings.Lines(b.String()) {
		lines = append(lines, indent+strings.TrimSuffix(line, "\n"))
	}
	return lines
}

// tally is what the footer needs to know of a run: little, however long it was.
type tally struct {
	setup    event.Setup
	counts   *event.Counts
	titles   map[string]string // of the tasks that run
	failures map[string]failure
	settled  int // attempts
}

type failure struct {
	task, title, reason string
	order               int
}

func (t *tally) add(e event.Event) {
	if e.Setup != nil {
		t.setup = *e.Setup
	}
	if e.Counts != nil {
		t.counts = e.Counts
	}
	switch e.Type {
	case event.TaskClaimed:
		if t.titles == nil {
			t.titles = map[string]string{}
		}
		t.titles[e.Task] = Line(e.Title)
	case event.AttemptEnded:
		t.settle(e)
	}
}

// settle keeps the last word on a task: one that failed may be reset and done
// while the run goes on.
func (t *tally) settle(e event.Event) {
	title := or(Line(e.Title), t.titles[e.Task])
	delete(t.titles, e.Task)
	delete(t.failures, e.Task)
	t.settled++
	if _, tone := Attempt(e.AttemptOutcome(), e.Status); tone != Bad {
		return
	}
	if t.failures == nil {
		t.failures = map[string]failure{}
	}
	reason, _ := First(e.Reason)
	t.failures[e.Task] = failure{task: Line(e.Task), title: title, reason: or(reason, "no reason given"), order: t.settled}
}

func (t *tally) failed() []failure {
	return slices.SortedFunc(maps.Values(t.failures), func(a, b failure) int { return a.order - b.order })
}

// countFailed goes by the graph when it is known: a person may have changed it.
func (t *tally) countFailed() int {
	if t.counts != nil {
		return t.counts.Failed
	}
	return len(t.failures)
}
