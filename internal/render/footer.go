package render

import (
	"fmt"
	"strings"

	"ralph/internal/event"
	"ralph/internal/human"
	"ralph/internal/term"
)

// Bounds of the list of failed tasks.
const (
	maxFailures = 10
	maxTitle    = 40
)

// footer says at the end of a run what happened, what failed and what to type next. A log
// has no empty lines, and the reasons of failures stand above it.
func (c *Console) footer(e event.Event) {
	p := c.opts.Palette
	lines := []string{"", c.headline(e)}
	if reason, _ := First(or(e.Reason, e.Text)); reason != "" {
		lines = append(lines, indent+reason)
	}
	for _, text := range efforts(e) {
		lines = append(lines, indent+p.Dim(text))
	}
	if text := human.Some(c.excused, "excused gate"); text != "" {
		lines = append(lines, indent+p.Yellow(text+": what failed before the work as well proves nothing about it"))
	}
	for _, text := range Landed(e.Work) {
		lines = append(lines, indent+text)
	}
	lines = append(lines, c.failed()...)
	if !c.opts.Quiet {
		lines = append(lines, c.advice(e)...)
	}
	if folder := Line(c.setup.Folder); folder != "" {
		lines = append(lines, "", p.Dim("transcripts: ")+folder)
	}
	for _, line := range lines {
		switch {
		case !c.log:
			c.line(line)
		case line != "":
			c.say(e, line)
		}
	}
}

func (c *Console) headline(e event.Event) string {
	words, tone := Outcome(e.RunOutcome(), c.countFailed())
	s := tone.Paint(c.opts.Palette, tone.Sign()+" "+words)
	if c.counts.Total > 0 {
		s += ": " + Counts(c.counts)
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
	parts := append([]string{human.Count(iterations, "iteration") + In(ms)}, Used(u)...)
	unknown := iterations > 0
	if u != nil {
		unknown = u.Unknown && u.CostUSD == nil
	}
	if unknown {
		parts = append(parts, "cost unknown")
	}
	return strings.Join(parts, ", ")
}

func (c *Console) failed() []string {
	if len(c.failures) == 0 {
		return nil
	}
	table := &term.Table{Width: c.width(), Wrap: true}
	for _, f := range c.failures[:min(len(c.failures), maxFailures)] {
		row := []term.Cell{{Text: f.Task, Paint: c.opts.Palette.Red}, {Text: term.Cut(f.Title, maxTitle)}}
		if !c.log {
			row = append(row, term.Cell{Text: f.Reason})
		}
		table.Add(row...)
		if r := f.remedy(); r.Command != "" && !c.log {
			table.Add(term.Cell{}, term.Cell{}, term.Cell{Text: r.Command, Paint: c.opts.Palette.Cyan})
		}
	}
	lines := append([]string{"", c.opts.Palette.Bold("failed")}, rows(table.Indented())...)
	if more := len(c.failures) - maxFailures; more > 0 {
		lines = append(lines, fmt.Sprintf("  and %d more: ralph task list --status failed", more))
	}
	return lines
}

func (c *Console) advice(e event.Event) []string {
	if c.opts.Scratch {
		return nil
	}
	asks := 0
	if e.Counts != nil {
		asks = e.Counts.Asks
	}
	steps := append(Looks(e.Work), Next(e.Run, e.RunOutcome(), c.open, asks, c.failures, c.countFailed() > len(c.failures))...)
	if len(steps) == 0 {
		return nil
	}
	return append([]string{"", c.opts.Palette.Bold("next")}, rows(Steps(steps, c.opts.Palette, c.width()))...)
}

// Steps is a table of commands to type.
func Steps(steps []Step, p term.Palette, width int) string {
	table := &term.Table{Width: width, Wrap: true}
	for _, s := range steps {
		table.Add(term.Cell{Text: s.Command, Paint: p.Cyan}, term.Cell{Text: s.Why, Paint: p.Dim})
	}
	return table.Indented()
}

// rows are the lines of a table.
func rows(table string) []string { return strings.Split(strings.TrimSuffix(table, "\n"), "\n") }
