package main

import (
	"fmt"
	"strings"
	"time"

	"ralph/dag"
	"ralph/internal/term"
	"ralph/report"
)

// taskSection lists tasks below a title, after an empty line; no tasks give no text.
func taskSection(a *app, title string, tasks []dag.Task) string {
	if len(tasks) == 0 {
		return ""
	}
	p := a.palette()
	t := &term.Table{Width: max(a.width-2, 0)}
	for _, task := range tasks {
		t.Add(term.Cell{Text: task.ID, Paint: p.Cyan}, stateCell(a, p, task), term.Cell{Text: task.Title})
	}
	var lines strings.Builder
	_, _ = t.WriteTo(&lines) // a builder never fails
	return "\n" + title + "\n  " + strings.ReplaceAll(strings.TrimRight(lines.String(), "\n"), "\n", "\n  ") + "\n"
}

func stateCell(a *app, p term.Palette, t dag.Task) term.Cell {
	word := t.State(a.now())
	return term.Cell{Text: word, Paint: statePaint(p, word)}
}

// statePaint is the colour of a word of dag.Task.State.
func statePaint(p term.Palette, state string) func(string) string {
	paint, ok := map[string]func(string) string{
		"done": p.Green, "failed": p.Red, "blocked": p.Yellow, "paused": p.Yellow, "running": p.Cyan, "ready": p.Bold, "unverified": p.Bold,
	}[state]
	if !ok {
		return p.Dim
	}
	return paint
}

const unverifiedText = "its work is finished and waits for verification; no agent works on it before that"

// reasonText is a reason with the time at which it ends, if it does so by itself.
func reasonText(r report.ReasonView, now time.Time) string {
	if r.Until.IsZero() {
		return r.Text
	}
	left := r.Until.Sub(now).Round(time.Second)
	if left <= 0 {
		return fmt.Sprintf("%s (its lease expired %s ago; see: ralph recover)", r.Text, -left)
	}
	return fmt.Sprintf("%s (until %s, %s from now)", r.Text, r.Until.Local().Format(time.DateTime), left)
}
