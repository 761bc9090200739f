package render

import (
	"slices"
	"strings"

	"ralph/event"
	"ralph/internal/term"
)

// indent sets a list off from its heading.
const indent = "  "

// step is a command to type next, and what it is for.
type step struct{ command, why string }

// advice renders what to type next.
func (o Options) advice(e event.Event, t tally, width int) []string {
	steps := next(e, t)
	if len(steps) == 0 {
		return nil
	}
	table := &term.Table{Width: width, Wrap: true}
	for _, s := range steps {
		table.Add(term.Cell{Text: s.command, Paint: o.Palette.Cyan}, term.Cell{Text: s.why, Paint: o.Palette.Dim})
	}
	return append([]string{"", o.Palette.Bold("next")}, rows(table)...)
}

// next chooses the commands by how the run ended and by what failed.
func next(e event.Event, t tally) []step {
	again := step{event.ContinueCommand(e.Run), "go on where this stopped, with the same flags and counters"}
	look := step{"ralph status", "what is done, what is next, what waits and why"}
	switch e.RunOutcome() {
	case event.OutcomeComplete, event.OutcomeFailure, event.OutcomeBlocked:
		var steps []step
		if e.RunOutcome() == event.OutcomeBlocked {
			steps = []step{look, {"ralph task why ID", "what one task waits for"}}
		}
		steps = afterFailures(t, steps)
		if e.RunOutcome() == event.OutcomeBlocked || t.anyFailed() {
			steps = append(steps, step{again.command, "then go on, with the same flags and counters"})
		}
		return steps
	case event.OutcomeNoPlan:
		return []step{
			{`ralph task add "TITLE"`, "add a task"},
			{"ralph task import FILE", "add many at once"},
			{"ralph task list --all", "what there is"},
		}
	case event.OutcomeUnavailable:
		return []step{{"ralph doctor", "is the project itself in order?"}, again}
	case event.OutcomeInterrupted:
		return afterFailures(t, []step{again, {"ralph task log ID -m TEXT", "tell the next attempt something first"}, look})
	case event.OutcomeLimit:
		again.why = "go on with its flags and counters; raise the limit that was met"
		return afterFailures(t, []step{again, look})
	case event.OutcomeStopped:
		return afterFailures(t, []step{again, look})
	default:
		return []step{look, {"ralph doctor", "is everything as it should be?"}}
	}
}

// afterFailures puts what to do about failed tasks behind other steps.
func afterFailures(t tally, steps []step) []step {
	if list := t.failed(); len(list) > 0 {
		steps = append(steps, step{"ralph task show " + list[0].task, "what was tried, and why it failed"})
		if i := slices.IndexFunc(list, func(f failure) bool { return strings.Contains(f.reason, "tampering: ") }); i >= 0 {
			steps = append(steps, step{"ralph task update " + list[i].task + " --allow-tampering", "if that is what the task is for"})
		}
	}
	if t.anyFailed() {
		steps = append(steps, step{"ralph task reset --failed", "let the failed tasks run again"})
	}
	return steps
}

// rows renders a table as lines, indented under its heading.
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
