package render

import (
	"fmt"
	"strconv"
	"strings"

	"ralph/event"
	"ralph/internal/human"
	"ralph/internal/term"
)

// Bounds of a heading: a rule across a very wide window is noise, and a window
// too narrow for one gets one that wraps.
const (
	unknownWidth = 80
	maxHeading   = 100
	minTitle     = 12
)

// folderLabel names the folder of a run's files.
const folderLabel = "transcripts"

type setting struct{ label, value string }

func (o Options) settings(e event.Event) []setting {
	s := event.Setup{}
	if e.Setup != nil {
		s = *e.Setup
	}
	what := s.Scope
	if e.Counts != nil {
		left := e.Counts.Remaining
		what = or(what, "everything") + ", " + human.Count(left, "task") + " to do"
		if left < e.Counts.Total {
			what += fmt.Sprintf(" of %d", e.Counts.Total)
		}
	}
	jobs := ""
	if s.Jobs > 1 {
		jobs = strconv.Itoa(s.Jobs) + " at once"
	}
	pid := ""
	if o.Verbose && e.PID > 0 {
		pid = strconv.Itoa(e.PID)
	}
	var known []setting
	for _, line := range []setting{
		{"runs", what},
		{"agent", or(s.Agent, e.Agent)},
		{"credential", s.Credential},
		{"model", or(s.Model, e.Model)},
		{"limits", s.Limits},
		{"jobs", jobs},
		{"sandbox", s.Sandbox},
		{"verify", s.Verify},
		{"process", pid},
		{folderLabel, s.Folder},
	} {
		if line.value = Line(line.value); line.value != "" {
			known = append(known, line)
		}
	}
	return known
}

func (t *Terminal) header(e event.Event) {
	p := t.opts.Palette
	t.line(p.Bold("ralph run") + " " + p.Dim(Line(e.Run)))
	lines := t.opts.settings(e)
	width := 0
	for _, s := range lines {
		width = max(width, len(s.label))
	}
	for _, s := range lines {
		t.hanging("  "+p.Dim(fmt.Sprintf("%-*s", width, s.label))+"  "+s.value, width+4)
	}
}

// heading begins an iteration. Only the title is cut when there is too little
// room: the rest is what one looks for.
func (t *Terminal) heading(e event.Event, a *attempt) {
	p := t.opts.Palette
	front := "── "
	if e.Iteration > 0 {
		front += strconv.Itoa(e.Iteration) + " · "
	}
	id := Line(e.Task)
	back := ""
	if tail := facts(e, t.counts); len(tail) > 0 {
		back = " · " + strings.Join(tail, " · ")
	}
	width := min(t.width(), maxHeading)
	room := width - term.Width(front+id+back) - 3
	title := term.Cut(a.title, max(room, minTitle))
	rule := strings.Repeat("─", max(room-term.Width(title), 0)+1)
	t.line("")
	t.line(p.Dim(front) + p.Bold(id+" "+title) + p.Dim(back+" "+rule))
	if e.Reason != "" {
		t.tell(e, said{text: "model: " + Line(e.Reason), detail: true})
	}
}

// width is that of the terminal, or a guess.
func (t *Terminal) width() int {
	if w := t.opts.Width(); w > 0 {
		return w
	}
	return unknownWidth
}
