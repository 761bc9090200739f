package watch

import "github.com/charmbracelet/x/ansi"

func (m *model) helpPage() []string {
	lines := []string{m.rule(m.palette.Bold("keys"), m.width)}
	for _, k := range Keys() {
		if k.Keys == "" {
			lines = append(lines, "")
			continue
		}
		lines = append(lines, "  "+pad(m.palette.Bold(k.Keys), 20)+k.Does)
	}
	for i, l := range lines {
		lines[i] = ansi.TruncateWc(l, m.width, "…")
	}
	lines = fill(lines, m.height-1)
	return append(lines, m.palette.Dim("any key: back"))
}

// Key is a line of the help.
type Key struct{ Keys, Does string }

// Keys are all that do something.
func Keys() []Key {
	return []Key{
		{"up down, k j", "select a task; PgUp, PgDn, Home, End go further"},
		{"left right, space", "fold and unfold a group"},
		{"tab", "the next task that runs"},
		{"f", "follow: the selection goes to where work is"},
		{"enter", "the transcript of the last attempt at it"},
		{},
		{"p", "pause: begin nothing new; again: resume"},
		{"s", "stop after the current task"},
		{"S", "stop now and give back what agents are at"},
		{},
		{"g", "guide: what you type is read by the task's next agent"},
		{"x", "skip the task: block it; again: unblock"},
		{"r", "retry it from the beginning; of a group: all that failed"},
		{"P", "pause or resume this task only"},
		{},
		{"q, ctrl-c", "leave; the run goes on"},
	}
}
