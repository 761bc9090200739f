package render

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"ralph/internal/event"
	"ralph/internal/human"
	"ralph/internal/term"
)

type setting struct{ label, value string }

func (c *Console) settings(e event.Event) []setting {
	s := c.setup
	what := s.Scope
	if e.Counts != nil {
		left := e.Counts.Remaining
		what = or(what, "everything") + ", " + human.Count(left, "task") + " to do"
		if left < e.Counts.Total {
			what += fmt.Sprintf(" of %d", e.Counts.Total)
		}
	}
	jobs, pid, folder := "", "", s.Folder
	switch {
	case s.Target != "":
		jobs = Lanes(s)
	case s.Jobs > 1:
		jobs = strconv.Itoa(s.Jobs) + " at once"
	}
	if c.opts.Verbose && e.PID > 0 {
		pid = strconv.Itoa(e.PID)
	}
	if c.log {
		folder = "" // the footer says where it is
	}
	list := []setting{
		{"runs", what},
		{"agent", or(s.Agent, e.Agent)},
		{"credential", s.Credential},
		{"model", or(s.Model, e.Model)},
		{"limits", s.Limits},
		{"jobs", jobs},
		{"sandbox", s.Sandbox},
		{"verify", s.Verify},
		{"process", pid},
		{"transcripts", folder},
	}
	return slices.DeleteFunc(list, func(s setting) bool { return Line(s.value) == "" })
}

func (c *Console) header(e event.Event) {
	p, lines, width := c.opts.Palette, c.settings(e), 0
	if !c.log {
		c.line(p.Bold("ralph run") + " " + p.Dim(Line(e.Run)))
	}
	for _, s := range lines {
		width = max(width, len(s.label))
	}
	for _, s := range lines {
		if c.log {
			c.say(e, s.label+": "+Line(s.value))
		} else {
			c.hanging(indent+p.Dim(fmt.Sprintf("%-*s", width, s.label))+"  "+Line(s.value), width+4)
		}
	}
}

// heading begins an iteration. On a terminal only the title is cut when there is too
// little space: the rest is what one looks for.
func (c *Console) heading(e event.Event, a *attempt) {
	tail := facts(e, c.counts)
	if c.log {
		s := "claimed: " + a.title
		if e.Iteration > 0 {
			s = "iteration " + strconv.Itoa(e.Iteration) + ": " + a.title
		}
		c.newFold(e, s+inBrackets(tail...))
	} else {
		p, front, id := c.opts.Palette, "── ", Line(e.Task)
		if e.Iteration > 0 {
			front += strconv.Itoa(e.Iteration) + " · "
		}
		back := strings.Join(append([]string{""}, tail...), " · ")
		free := min(c.width(), maxHeading) - term.Width(front+id+back) - 3
		title := term.Cut(a.title, max(free, minTitle))
		rule := strings.Repeat("─", max(free-term.Width(title), 0)+1)
		c.line("")
		c.line(p.Dim(front) + p.Bold(id+" "+title) + p.Dim(back+" "+rule))
	}
	if e.Reason != "" {
		c.show(e, said{text: "model: " + Line(e.Reason), detail: true})
	}
}
