package main

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"ralph/dag"
	"ralph/internal/term"
	"ralph/report"
)

// prunedText says when files were removed.
func prunedText(at time.Time) string {
	return "removed by ralph gc on " + at.Local().Format(time.DateOnly)
}

func attemptsText(p term.Palette, runs string, attempts []dag.Attempt) string {
	if len(attempts) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\nAttempts\n")
	for _, at := range attempts {
		reason, _, _ := strings.Cut(at.Reason, "\n") // what its gate printed is in the evidence
		fmt.Fprintf(&b, "  %s  %s  %s\n", at.ID, at.StartedAt.Local().Format(time.DateTime), term.Line(cmp.Or(string(at.Outcome), "-")+" "+reason))
		more := func(name, text string) {
			if text != "" {
				fmt.Fprintf(&b, "    %s %s\n", p.Dim(fmt.Sprintf("%-8s", name)), term.Line(text))
			}
		}
		for _, g := range at.Gates {
			text := fmt.Sprintf("%s: %s (%s)", g.Verdict, g.Command, g.Exit)
			if g.Baseline != "" {
				text += ", " + string(g.Baseline) + " before the work"
			}
			more("gate", text)
		}
		more("verdict", at.Verdict)
		more("sandbox", at.Sandbox)
		for _, path := range report.EvidenceOf(runs, at) {
			more("evidence", path)
		}
		if !at.PrunedAt.IsZero() {
			more("evidence", prunedText(at.PrunedAt))
		}
	}
	return b.String()
}
