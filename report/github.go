package report

import (
	"crypto/rand"
	"fmt"
	"strings"

	"ralph/internal/human"
	"ralph/internal/render"
	"ralph/internal/term"
)

// Workflow words what a step says to the runner of GitHub Actions, which obeys every line
// that begins with two colons, whoever wrote it.
type Workflow struct {
	token string // while commands are stopped: it lets them be obeyed again
}

// Stop keeps the runner from obeying what agents and gates print.
func (w *Workflow) Stop() string {
	w.token = rand.Text()
	return "::stop-commands::" + w.token + "\n"
}

// Fold returns the lines that begin and end a group of the log. Commands are obeyed
// only for as long as it takes.
func (w *Workflow) Fold(title string) (begin, end string) {
	return w.command("group", escapeData(title)), w.command("endgroup", "")
}

// command is a command to the runner while all others are stopped.
func (w *Workflow) command(name, text string) string {
	return fmt.Sprintf("::%s::\n::%s::%s\n::stop-commands::%s\n", w.token, name, text, w.token)
}

// End lets commands be obeyed again, and annotates what went wrong: people see that above
// the log.
func (w *Workflow) End(r Run) string {
	var b strings.Builder
	if w.token != "" {
		fmt.Fprintf(&b, "::%s::\n", w.token)
		w.token = ""
	}
	for _, note := range annotations(r) {
		fmt.Fprintf(&b, "::error title=%s::%s\n", escapeProperty(note.title), escapeData(note.text))
	}
	return b.String()
}

type annotation struct{ title, text string }

// maxAnnotations is how many of a kind GitHub shows for a step.
const maxAnnotations = 10

// annotationLines is how much of the output of a failed gate an annotation has.
const annotationLines = 2

// annotations are one for each failed task, or one for a run that ended badly.
func annotations(r Run) []annotation {
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
		text, _ := render.First(r.Reason)
		list = append(list, annotation{"ralph: " + r.Headline(), withSteps(text, r.Next)})
	}
	return list
}

func withSteps(text string, steps []render.Step) string {
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
	s = strings.TrimSpace(render.Block(s))
	if len(s) > maxData {
		s = strings.ToValidUTF8(s[:maxData], "") + "…"
	}
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

// escapeProperty escapes the value of a property of a command.
func escapeProperty(s string) string {
	s = term.Cut(render.Line(s), maxTitle)
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C").Replace(s)
}
