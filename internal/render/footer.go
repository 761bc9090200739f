package render

import (
	"fmt"
	"strings"
	"time"

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

// footer renders the end of a run as lines.
func (o Options) footer(e event.Event, t tally, width int, reasons bool) []string {
	lines := []string{o.headline(e, t)}
	if reason, _ := cutLine(or(e.Reason, e.Text)); reason != "" {
		lines = append(lines, "  "+reason)
	}
	for _, text := range efforts(e) {
		lines = append(lines, "  "+o.Palette.Dim(text))
	}
	lines = append(lines, o.failures(t.failed(), width, reasons)...)
	if !o.Quiet {
		lines = append(lines, o.advice(e, t, width)...)
	}
	if folder := oneLine(t.setup.Folder); folder != "" {
		lines = append(lines, "", o.Palette.Dim("transcripts: ")+folder)
	}
	return lines
}

// headline says how the run ended and how far it came.
func (o Options) headline(e event.Event, t tally) string {
	word := strings.ReplaceAll(oneLine(e.Outcome), "_", " ")
	mark, paint := "! ", o.Palette.Yellow
	switch {
	case e.RunOutcome() == event.OutcomeComplete && !t.anyFailed():
		mark, paint = "✓ ", o.Palette.Green
	case e.RunOutcome() == event.OutcomeComplete:
		mark, paint, word = "✗ ", o.Palette.Red, "complete, with failed tasks"
	case e.RunOutcome() == event.OutcomeFailure, e.RunOutcome() == event.OutcomeUnavailable:
		mark, paint = "✗ ", o.Palette.Red
	}
	s := paint(mark + or(word, "ended"))
	if c := t.counts; c != nil && c.Total > 0 {
		s += fmt.Sprintf(": %d done, %d failed, %d remaining of %s", c.Done, c.Failed, c.Remaining, human.Count(c.Total, "task"))
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
	return []string{"this run: " + own, "with " + oneLine(t.Continues) + ", which it continues: " + effort(t.Iterations, t.Duration, &t.Usage)}
}

// effort is what was taken. A cost that no agent told is unknown, not nothing.
func effort(iterations int, ms int64, u *event.Usage) string {
	turns := human.Count(iterations, "iteration")
	if ms > 0 {
		turns += " in " + human.Span(time.Duration(ms)*time.Millisecond)
	}
	parts := append([]string{turns}, used(u)...)
	told, unknown := u != nil && u.CostUSD != nil, u != nil && u.Unknown
	if !told && (unknown || u == nil && iterations > 0) {
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
