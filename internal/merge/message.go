package merge

import (
	"cmp"
	"strings"
	"unicode"

	"ralph/internal/term"
)

// Trailers that commits are found by: of the task, of the attempt, of what it changed and of who did.
const (
	taskTrailer    = "Ralph-Task"
	attemptTrailer = "Ralph-Attempt"
	patchTrailer   = "Ralph-Patch"
	assisted       = "Assisted-by" // by which agent
)

// Message is what the commit of a task says. All of it is text of agents or people.
type Message struct {
	Title, Body          string
	Task, Attempt, Patch string
	Agent, Model         string
}

// String is the whole message. Nothing but Message itself writes its trailers: a line of the
// body that looks like one is quoted.
func (m Message) String() string {
	var b strings.Builder
	b.WriteString(cmp.Or(oneLine(m.Title), oneLine(m.Task), "Untitled") + "\n")
	blank := true
	for line := range strings.SplitSeq(strings.Trim(term.Block(m.Body), "\n"), "\n") {
		line = strings.TrimRightFunc(line, unicode.IsSpace)
		if line == "" {
			blank = true
			continue
		}
		if blank {
			b.WriteByte('\n')
			blank = false
		}
		if lower := strings.ToLower(line); strings.HasPrefix(lower, "ralph-") || strings.HasPrefix(lower, strings.ToLower(assisted)) || strings.HasPrefix(line, "---") {
			b.WriteString("> ")
		}
		b.WriteString(line + "\n")
	}
	b.WriteByte('\n')
	agent := oneLine(m.Agent)
	if model := oneLine(m.Model); agent != "" && model != "" {
		agent += " (" + model + ")"
	}
	for _, t := range [][2]string{{taskTrailer, m.Task}, {attemptTrailer, m.Attempt}, {patchTrailer, m.Patch}, {assisted, agent}} {
		if value := oneLine(t[1]); value != "" {
			b.WriteString(t[0] + ": " + value + "\n")
		}
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

func oneLine(text string) string { return strings.Join(strings.Fields(term.Block(text)), " ") }
