package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"ralph/dag"
	"ralph/internal/jsonval"
	"ralph/internal/term"
	"ralph/report"
)

// attemptJSON is one try at a task, with what judged it.
type attemptJSON struct {
	ID        string  `json:"id"`
	Run       string  `json:"run"`
	Agent     *string `json:"agent"`
	Model     *string `json:"model"`
	StartedAt string  `json:"started_at"`
	EndedAt   *string `json:"ended_at"`
	Outcome   *string `json:"outcome"`
	Reason    *string `json:"reason"`
	report.Cost
	Sandbox  *string          `json:"sandbox"`
	Gates    []dag.GateRecord `json:"gates"`
	Verdict  *string          `json:"verdict"`
	Evidence []string         `json:"evidence"`
	PrunedAt *string          `json:"pruned_at"` // when its files were removed
}

func attemptsJSON(runs string, attempts []dag.Attempt) []attemptJSON {
	list := []attemptJSON{}
	for _, at := range attempts {
		list = append(list, attemptJSON{
			ID: at.ID, Run: at.Run, Agent: jsonval.Text(at.Agent), Model: jsonval.Text(at.Model),
			StartedAt: at.StartedAt.Format(time.RFC3339), EndedAt: jsonval.Time(at.EndedAt),
			Outcome: jsonval.Text(at.Outcome), Reason: jsonval.Text(at.Reason), Cost: report.CostOf(at.Usage),
			Sandbox: jsonval.Text(at.Sandbox), Gates: jsonval.List(at.Gates), Verdict: jsonval.Text(at.Verdict), Evidence: jsonval.List(evidence(runs, at)),
			PrunedAt: jsonval.Time(at.PrunedAt),
		})
	}
	return list
}

// evidence lists where it can be read what judged an attempt.
func evidence(runs string, at dag.Attempt) []string {
	folder := filepath.Join(runs, at.Run, at.ID)
	paths, err := filepath.Glob(filepath.Join(folder, "verify*"))
	if err != nil {
		return nil
	}
	for i, path := range paths {
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			paths[i] = filepath.Join(path, "transcript.jsonl")
		}
	}
	return paths
}

// prunedText says where files have gone.
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
		for _, path := range evidence(runs, at) {
			more("evidence", path)
		}
		if !at.PrunedAt.IsZero() {
			more("evidence", prunedText(at.PrunedAt))
		}
	}
	return b.String()
}
