package watch

import (
	"fmt"
	"strings"
	"time"

	"ralph/dag"
	"ralph/internal/event"
	"ralph/internal/human"
	"ralph/internal/render"
)

func (m *model) treeTitle() string {
	if len(m.rows) == 0 {
		return m.palette.Bold("tasks")
	}
	return m.palette.Bold("tasks") + fmt.Sprintf(" %d/%d", m.index+1, len(m.rows))
}

// treeLines are the rows around the selected one. No other is looked at.
func (m *model) treeLines(height, width int) []string {
	if len(m.rows) == 0 {
		if !m.known {
			return nil
		}
		return []string{"", `  Add one with: ralph task add "TITLE"`, "  or many with:  ralph task import FILE"}
	}
	var lines []string
	for _, r := range m.rows[min(m.top, len(m.rows)):min(m.top+height, len(m.rows))] {
		t := m.snap.tasks[r.task]
		f := m.face(t)
		title := harmless(t.Title)
		switch {
		case t.ID == m.selected:
			title = m.palette.Bold(title)
		case t.Status == dag.Done || t.Status == dag.Cancelled:
			title = m.palette.Dim(title)
		}
		if r.folded {
			title += m.palette.Dim(fmt.Sprintf(" (+%d)", t.Children))
		}
		lines = append(lines, ends(m.marker(t.ID)+m.palette.Dim(r.lead)+f.paint(f.sign)+" "+title, f.paint(f.words), width))
	}
	return lines
}

func (m *model) streamTitle() string {
	t, ok := m.task()
	if !ok {
		return m.palette.Bold("transcript")
	}
	title := m.palette.Cyan(t.ID)
	if a := m.detail.attempt; a != nil {
		title += fmt.Sprintf(" attempt %d", m.detail.attempts) + human.Lead(", ", who(*a))
	}
	return title
}

// streamLines are the newest of what the selected task's last attempt said, or why
// there is none.
func (m *model) streamLines(height, width int) []string {
	if m.detail.task == "" || height <= 0 {
		return nil
	}
	if m.detail.attempt == nil {
		return m.untried(width)
	}
	lines := m.stream.lines
	if end := m.ending(); len(end) > 0 {
		lines = append(lines[:len(lines):len(lines)], end...)
	}
	if len(lines) == 0 {
		return []string{m.palette.Dim("  nothing yet")}
	}
	return newest(lines, width, height)
}

func (m *model) label(name string) string { return pad("  "+m.palette.Dim(name), hanging) }

// untried describes a task without attempts, and what it waits for.
func (m *model) untried(width int) []string {
	var lines []string
	if m.detail.wish != "" {
		lines = append(lines, wrap(m.label("note")+harmless(m.detail.wish), width)...)
	}
	for _, r := range m.detail.reasons {
		text := harmless(r.Text)
		if !r.Until.IsZero() {
			text += " (" + left(r.Until, m.at) + " left)"
		}
		lines = append(lines, wrap(m.label("why")+text, width)...)
	}
	if len(m.detail.reasons) == 0 {
		lines = append(lines, "  "+render.NothingHolds)
	}
	for l := range strings.Lines(render.Block(m.detail.about)) {
		lines = append(lines, wrap("  "+m.palette.Dim(strings.TrimRight(l, "\n")), width)...)
	}
	return lines
}

// ending says how the attempt ended, if it did, and what a person noted since.
func (m *model) ending() []string {
	a, p := m.detail.attempt, m.palette
	var lines []string
	if a.EndedAt.IsZero() {
		if text := m.doing[a.ID]; text != "" {
			lines = append(lines, m.label("now")+harmless(text))
		}
	} else {
		for _, g := range a.Gates {
			result, aside, tone := render.Gate(event.Gate{Passed: g.Passed, Exit: g.Exit, Baseline: g.Baseline, Verdict: g.Verdict})
			lines = append(lines, m.label("gate")+harmless(g.Command)+" "+tone.Paint(p, steady(result))+aside)
		}
		lines = append(lines, m.label("ended")+m.outcome(*a))
	}
	if m.detail.wish != "" {
		lines = append(lines, m.label("note")+harmless(m.detail.wish))
	}
	for _, r := range m.asksOf(m.detail.task) {
		first, _ := render.First(r.Text)
		lines = append(lines, m.label("asks")+p.Yellow(steady(first))+p.Dim(" (i: answer it)"))
	}
	return lines
}

func (m *model) outcome(a dag.Attempt) string {
	word, tone := render.Attempt(a.Outcome, "")
	text := tone.Paint(m.palette, steady(word)) + " in " + span(a.EndedAt.Sub(a.StartedAt).Round(time.Second))
	first, _ := render.First(a.Reason)
	return text + human.Lead(", ", strings.Join(used(a), ", ")) + human.Lead(": ", steady(first))
}

// transcriptPage shows what the selected task's last attempt said on the whole screen.
func (m *model) transcriptPage() []string {
	t, _ := m.task()
	height := max(m.height-2, 0)
	lines := m.stream.lines
	body := m.streamLines(height, m.width)
	where := ""
	if m.scroll > 0 && len(lines) > 0 {
		body = newest(lines[:max(len(lines)-m.scroll, 1)], m.width, height)
		where = human.Count(m.scroll, "line") + " further down"
	}
	if m.stream.left {
		where = "all of it: ralph logs " + t.ID
	}
	page := append([]string{m.rule(m.streamTitle()+" "+m.palette.Bold(harmless(t.Title)), m.width)}, fill(body, height)...)
	keys := m.keysLine([][2]string{{"up/down", "scroll"}, {"home/end", "first, last"}, {"q", "back"}})
	return append(page, ends(keys, m.palette.Dim(where), m.width))
}
