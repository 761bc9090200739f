package watch

import (
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"ralph/dag"
)

func (m *model) key(k tea.KeyPressMsg) tea.Cmd {
	name := k.String()
	switch name {
	case "ctrl+c":
		return m.quit()
	case "ctrl+z":
		return tea.Suspend
	}
	switch {
	case m.ask.text != "":
		return m.answer(name)
	case m.screen == writing:
		return m.writeKey(k)
	case m.screen == help:
		m.screen = overview
		return nil
	case m.screen == reading:
		return m.readKey(name)
	}
	m.notice, m.failed = "", false
	if cmd, moved := m.move(name); moved {
		return cmd
	}
	return m.command(name)
}

func (m *model) move(name string) (tea.Cmd, bool) {
	page := max(m.treeHeight()-1, 1)
	to := m.index
	switch name {
	case "up", "k":
		to--
	case "down", "j":
		to++
	case "pgup", "ctrl+b":
		to -= page
	case "pgdown", "ctrl+f":
		to += page
	case "home":
		to = 0
	case "end", "G":
		to = len(m.rows) - 1
	case "tab":
		return m.nextAttempt(), true
	case "f":
		m.follow = true
		m.regrow()
		return m.turnTo(), true
	case "left", "h", "right", "l", "space":
		m.fold(name)
		return m.turnTo(), true
	default:
		return nil, false
	}
	m.follow = false
	if len(m.rows) > 0 {
		m.index = max(min(to, len(m.rows)-1), 0)
		m.selected = m.snap.tasks[m.rows[m.index].task].ID
	}
	return m.turnTo(), true
}

// turnTo asks for what the selected task says.
func (m *model) turnTo() tea.Cmd {
	m.forget()
	return m.look()
}

// nextAttempt goes from one task that runs to the next.
func (m *model) nextAttempt() tea.Cmd {
	list := m.snap.attempts
	if len(list) == 0 {
		m.notice = "nothing is running"
		return nil
	}
	next := 0
	for i, a := range list {
		if a.Task == m.selected {
			next = (i + 1) % len(list)
		}
	}
	m.follow, m.selected = false, list[next].Task
	m.unfold(m.selected)
	return m.turnTo()
}

func (m *model) unfold(id string) {
	by := map[int64]dag.Outline{}
	for _, t := range m.snap.tasks {
		by[t.N] = t
	}
	if i, known := m.byID[id]; known {
		for p, ok := by[m.snap.tasks[i].Parent]; ok; p, ok = by[p.Parent] {
			m.folds[p.ID] = false
		}
	}
	m.regrow()
}

func (m *model) fold(name string) {
	t, ok := m.task()
	if !ok {
		return
	}
	switch closed := folded(t, m.folds); {
	case t.Children > 0 && (name == "space" || (name == "right" || name == "l") == closed):
		m.folds[t.ID] = !closed
	case name == "left" || name == "h": // from a leaf to its group
		for _, p := range m.snap.tasks {
			if p.N == t.Parent {
				m.selected, m.follow = p.ID, false
			}
		}
	}
	m.regrow()
}

// command is a key that does something to the project. What cannot be taken back by
// the same key asks first.
func (m *model) command(name string) tea.Cmd {
	t, ok := m.task()
	switch name {
	case "q":
		return m.quit()
	case "?":
		m.screen = help
		return nil
	case "p":
		return m.do(deed{verb: pauseOrResume})
	case "s":
		m.ask = question{"Stop after the current task?", deed{verb: stopAfter}}
		return nil
	case "S":
		m.ask = question{"Stop now? What agents are at is given back.", deed{verb: stopNow}}
		return nil
	}
	if !ok {
		return nil
	}
	title := t.ID + " " + harmless(t.Title)
	switch name {
	case "P":
		return m.do(deed{verb: hold, task: t})
	case "x":
		switch t.Status {
		case dag.Blocked:
			return m.do(deed{verb: skip, task: t})
		case dag.InProgress:
			m.ask = question{"Skip it and end its agent? " + title, deed{verb: skip, task: t}}
		case dag.Done, dag.Failed:
			m.notice = t.ID + " is " + string(t.Status) + ": there is nothing to skip"
		default:
			m.ask = question{"Skip it? What waits for it goes on waiting. " + title, deed{verb: skip, task: t}}
		}
	case "r":
		switch {
		case t.Children > 0:
			m.ask = question{"Try all again that failed in it? " + title, deed{verb: retry, task: t}}
		case t.Status == dag.InProgress:
			m.ask = question{"Stop its agent and start over? " + title, deed{verb: retry, task: t}}
		default:
			m.ask = question{"Try it again from the beginning? " + title, deed{verb: retry, task: t}}
		}
	case "g":
		if m.notice = unread(t.ID, t.Status, t.Children); m.notice == "" {
			m.screen, m.guided, m.typed = writing, t, nil
		}
	case "enter", "t":
		m.screen, m.scroll = reading, 0
	}
	return nil
}

func (m *model) do(d deed) tea.Cmd {
	m.acting++
	return func() tea.Msg { return m.act(d) }
}

// quit leaves when what was asked for is done, or at once when it is asked for again.
func (m *model) quit() tea.Cmd {
	if m.acting > 0 && !m.leaving {
		m.leaving = true
		return nil
	}
	return tea.Quit
}

// answer takes y for a yes and everything else for a no.
func (m *model) answer(name string) tea.Cmd {
	d := m.ask.deed
	m.ask = question{}
	if name != "y" && name != "Y" {
		m.notice = "nothing was done"
		return nil
	}
	return m.do(d)
}

func (m *model) readKey(name string) tea.Cmd {
	page := max(m.height-3, 1)
	switch name {
	case "up", "k":
		m.scroll++
	case "down", "j":
		m.scroll--
	case "pgup", "ctrl+b", "b":
		m.scroll += page
	case "pgdown", "ctrl+f", "space":
		m.scroll -= page
	case "home":
		m.scroll = len(m.stream.lines)
	case "end", "G":
		m.scroll = 0
	case "q", "esc", "enter", "t":
		m.screen = overview
	}
	m.scroll = max(min(m.scroll, len(m.stream.lines)-1), 0)
	return nil
}

// longest is how much guidance can be typed or pasted; more belongs into a file.
const longest = 4000

func (m *model) writeKey(k tea.KeyPressMsg) tea.Cmd {
	switch k.String() {
	case "esc":
		m.screen, m.notice = overview, "no guidance given"
	case "enter":
		m.screen = overview
		if text := strings.TrimSpace(string(m.typed)); text != "" {
			return m.do(deed{verb: guide, task: m.guided, text: text})
		}
		m.notice = "no guidance given"
	case "backspace":
		if len(m.typed) > 0 {
			m.typed = m.typed[:len(m.typed)-1]
		}
	case "ctrl+u":
		m.typed = nil
	default:
		m.write(k.Text)
	}
	return nil
}

// write adds what was typed or pasted, as one harmless line.
func (m *model) write(text string) {
	for _, r := range text {
		if r == '\n' || r == '\r' || r == '\t' {
			r = ' '
		}
		if s := string(r); (s == " " || harmless(s) != "") && len(m.typed) < longest {
			m.typed = append(m.typed, r)
		}
	}
}

// guidance is where it is typed; the end of it is always seen.
func (m *model) guidance() []string {
	text := string(m.typed) + "▏"
	if over := ansi.StringWidthWc(text) - max(m.width-2, 1); over > 0 {
		text = ansi.TruncateLeftWc(text, over+1, "…")
	}
	title := "Guidance for " + m.guided.ID + " " + harmless(m.guided.Title)
	return []string{ends(m.palette.Yellow(title), m.palette.Dim("Enter sends, Esc does not"), m.width), "> " + text}
}

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
