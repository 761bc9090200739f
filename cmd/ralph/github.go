package main

import (
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"strings"

	"ralph/internal/human"
	"ralph/internal/term"
	"ralph/report"
)

// github is a step of a workflow of GitHub Actions.
type github struct {
	step  string // the file of its summary; "" if there is none
	token string // ends what stopCommands began
}

// githubActions returns nil outside of GitHub Actions.
func (a *app) githubActions() *github {
	if a.getenv("GITHUB_ACTIONS") != "true" {
		return nil
	}
	return &github{step: a.getenv("GITHUB_STEP_SUMMARY")}
}

// stopCommands keeps the runner from obeying what agents and gates say: a line that
// begins with two colons is a command to it, whoever wrote it.
func (g *github) stopCommands(w io.Writer) {
	g.token = rand.Text()
	fmt.Fprintf(w, "::stop-commands::%s\n", g.token)
}

// fold returns the lines that begin and end a group of the log. Commands are obeyed
// only for as long as it takes.
func (g *github) fold(title string) (begin, end string) {
	return g.command("group", escapeData(title)), g.command("endgroup", "")
}

// command is a command to the runner while all others are stopped.
func (g *github) command(name, text string) string {
	return fmt.Sprintf("::%s::\n::%s::%s\n::stop-commands::%s\n", g.token, name, text, g.token)
}

// tell writes annotations, which people see above the log, and the summary of the step.
func (g *github) tell(w io.Writer, r report.Run) error {
	if g.token != "" {
		fmt.Fprintf(w, "::%s::\n", g.token)
		g.token = ""
	}
	for _, note := range annotations(r) {
		fmt.Fprintf(w, "::error title=%s::%s\n", escapeProperty(note.title), escapeData(note.text))
	}
	if g.step == "" {
		return nil
	}
	// Other commands of the same step may have written there.
	f, err := os.OpenFile(g.step, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("the step summary: %w", err)
	}
	_, err = f.WriteString(report.Summary(r) + "\n")
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return wrapped("the step summary", err)
}

type annotation struct{ title, text string }

// maxAnnotations is how many of a kind GitHub shows for a step.
const maxAnnotations = 10

// annotationLines is how much of the output of a failed gate an annotation has.
const annotationLines = 2

// annotations are one for each failed task, or one for a run that ended badly.
func annotations(r report.Run) []annotation {
	var list []annotation
	for i, f := range r.Failures {
		if left := len(r.Failures) - i; len(list) == maxAnnotations-1 && left > 1 {
			list = append(list, annotation{"ralph: " + human.Count(left, "more failed task"), "see them with: ralph report " + r.ID})
			break
		}
		text := f.Reason
		if f.Gate != nil && !strings.Contains(text, f.Gate.Command) {
			text += "\ngate: " + f.Gate.Command + ": " + f.Gate.Exit
		}
		lines, _ := term.Tail(f.Detail, annotationLines)
		text = strings.Join(append([]string{text}, lines...), "\n")
		list = append(list, annotation{"ralph: failed: " + f.Title, withSteps(text, f.Next)})
	}
	if len(list) == 0 && r.Over() && !r.Green() {
		text := strings.SplitN(strings.TrimSpace(r.Reason), "\n", 2)[0]
		list = append(list, annotation{"ralph: " + r.Headline(), withSteps(text, r.Next)})
	}
	return list
}

func withSteps(text string, steps []report.Step) string {
	for _, s := range steps {
		text += "\nnext: " + s.Command + "  # " + s.Why
	}
	return text
}

// Bounds of an annotation; GitHub cuts at 4 KiB.
const (
	maxTitle = 120
	maxData  = 3 << 10
)

// escapeData escapes what a command says, as GitHub wants it.
func escapeData(s string) string {
	s = strings.TrimSpace(term.Block(term.Strip(strings.ToValidUTF8(s, "?"))))
	if len(s) > maxData {
		s = strings.ToValidUTF8(s[:maxData], "") + "…"
	}
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

// escapeProperty escapes the value of a property of a command.
func escapeProperty(s string) string {
	s = term.Cut(term.Line(term.Strip(strings.ToValidUTF8(s, "?"))), maxTitle)
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C").Replace(s)
}
