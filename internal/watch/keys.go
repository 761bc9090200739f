package watch

import (
	"slices"
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
	case m.screen == answering:
		return m.paneKey(k)
	case m.screen == help:
		m.screen = overview
		return nil
	case m.screen == reading:
		return m.readKey(name)
	case m.screen == comparing:
		m.diffKey(name)
		return nil
	}
	m.notice, m.failed = "", false
	if cmd, moved := m.move(name); moved {
		return cmd
	}
	return m.command(name)
}

func (m *model) move(name string) (tea.Cmd, bool) {
	switch name {
	case "tab":
		return m.nextAttempt(), true
	case "f":
		m.follow = true
		m.regrow()
		return m.turnTo(), true
	case "left", "h", "right", "l", "space":
		m.fold(name)
		return m.turnTo(), true
	}
	to, moved := target(name, m.index, len(m.rows), m.shape().tree-1)
	if !moved {
		return nil, false
	}
	m.follow = false
	if len(m.rows) > 0 {
		m.index = to
		m.selected = m.snap.tasks[m.rows[to].task].ID
	}
	return m.turnTo(), true
}

// target is the line that a key goes to from another, of so many.
func target(name string, from, lines, page int) (to int, moved bool) {
	to = from
	switch name {
	case "up", "k":
		to--
	case "down", "j":
		to++
	case "pgup", "ctrl+b":
		to -= max(page, 1)
	case "pgdown", "ctrl+f":
		to += max(page, 1)
	case "home":
		to = 0
	case "end", "G":
		to = lines - 1
	default:
		return from, false
	}
	return max(min(to, lines-1), 0), true
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
	next := slices.IndexFunc(list, func(a dag.Attempt) bool { return a.Task == m.selected }) + 1
	m.follow, m.selected = false, list[next%len(list)].Task
	if i, known := m.byID[m.selected]; known {
		for p := m.parent(m.snap.tasks[i]); p.ID != ""; p = m.parent(p) {
			m.folds[p.ID] = false
		}
	}
	m.regrow()
	return m.turnTo()
}

// parent is the group that a task is in, without an ID if there is none.
func (m *model) parent(t dag.Outline) dag.Outline {
	i := slices.IndexFunc(m.snap.tasks, func(p dag.Outline) bool { return p.N == t.Parent })
	if i < 0 {
		return dag.Outline{}
	}
	return m.snap.tasks[i]
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
		if p := m.parent(t); p.ID != "" {
			m.selected, m.follow = p.ID, false
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
	case "i":
		return m.openPane()
	case "p":
		return m.do(deed{verb: pauseOrResume})
	case "s":
		m.ask = question{"Stop after the current task?", deed{verb: stopAfter}}
	case "S":
		m.ask = question{"Stop now? Running tasks are released.", deed{verb: stopNow}}
	}
	if !ok {
		return nil
	}
	title := t.ID + " " + harmless(t.Title)
	switch name {
	case "P":
		return m.do(deed{verb: hold, task: t})
	case "e":
		if t.Status != dag.InProgress && t.Children == 0 {
			m.notice = "no agent is at work on " + t.ID + "; P pauses it"
			break
		}
		m.ask = question{"End its agent and pause it? " + title, deed{verb: end, task: t}}
	case "x":
		switch t.Status {
		case dag.Blocked:
			return m.do(deed{verb: skip, task: t})
		case dag.InProgress:
			m.ask = question{"Skip it and end its agent? " + title, deed{verb: skip, task: t}}
		case dag.Done, dag.Failed, dag.Cancelled:
			m.notice = t.ID + " is " + string(t.Status) + ": there is nothing to skip"
		default:
			m.ask = question{"Skip it? Tasks that depend on it keep waiting. " + title, deed{verb: skip, task: t}}
		}
	case "r":
		switch {
		case t.Children > 0:
			m.ask = question{"Retry all failed tasks in it? " + title, deed{verb: retry, task: t}}
		case t.Status == dag.InProgress:
			m.ask = question{"Stop its agent and start over? " + title, deed{verb: retry, task: t}}
		default:
			m.ask = question{"Retry it from the beginning? " + title, deed{verb: retry, task: t}}
		}
	case "g":
		if m.notice = unread(t.ID, t.Status, t.Children); m.notice == "" {
			m.screen, m.guided, m.typed = writing, t, nil
		}
	case "enter", "t":
		m.screen, m.scroll = reading, 0
	case "d":
		return m.openDiff(t.ID)
	}
	return nil
}

func (m *model) do(d deed) tea.Cmd {
	m.acting++
	return func() tea.Msg { return m.act(d) }
}

// quit waits for the deeds under way, or leaves at once when it is asked for again.
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
		m.notice = "cancelled"
		return nil
	}
	return m.do(d)
}

func (m *model) readKey(name string) tea.Cmd {
	switch name {
	case "b":
		name = "pgup"
	case "space":
		name = "pgdown"
	case "q", "esc", "enter", "t":
		m.screen = overview
	}
	last := len(m.stream.lines) - 1
	to, _ := target(name, last-m.scroll, last+1, m.height-3)
	m.scroll = max(last-to, 0)
	return nil
}

// longest is how much can be typed or pasted; more belongs into a file.
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
	default:
		m.typed.key(k)
	}
	return nil
}

// input is a line that is being typed.
type input []rune

func (in *input) key(k tea.KeyPressMsg) {
	switch k.String() {
	case "backspace", "ctrl+h": // some terminals send the second
		*in = (*in)[:max(len(*in)-1, 0)]
	case "ctrl+u":
		*in = nil
	default:
		in.write(k.Text)
	}
}

// write adds what was typed or pasted, as one harmless line.
func (in *input) write(text string) {
	for _, r := range text {
		if r == '\n' || r == '\r' || r == '\t' {
			r = ' '
		}
		if s := string(r); (s == " " || harmless(s) != "") && len(*in) < longest {
			*in = append(*in, r)
		}
	}
}

// show is as much of it as fits, with its end.
func (in input) show(width int) string {
	text := string(in) + "▏"
	if over := ansi.StringWidthWc(text) - max(width, 1); over > 0 {
		text = ansi.TruncateLeftWc(text, over+1, "…")
	}
	return text
}

// guidance is where it is typed.
func (m *model) guidance() []string {
	title := "Guidance for " + m.guided.ID + " " + harmless(m.guided.Title)
	return []string{ends(m.palette.Yellow(title), m.palette.Dim("Enter sends, Esc does not"), m.width), "> " + m.typed.show(m.width-2)}
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
	return append(fill(lines, m.height-1), m.palette.Dim("any key: back"))
}

// Key is a line of the help.
type Key struct{ Keys, Does string }

// Keys are all that do something.
func Keys() []Key {
	return []Key{
		{"up down, k j", "select a task; PgUp, PgDn, Home, End go further"},
		{"left right, space", "fold and unfold a group"},
		{"tab", "select the next running task"},
		{"f", "follow: always select a running task"},
		{"enter", "the transcript of its last attempt"},
		{"d", "diff: what that attempt changes, as its agent works"},
		{},
		{"i", "inbox: read and answer what agents ask"},
		{"p", "pause: start no new task; again: resume"},
		{"s", "stop after the current task"},
		{"S", "stop now and release the running tasks"},
		{},
		{"g", "guide: what you type is read by the task's next agent"},
		{"x", "skip the task: block it; again: unblock"},
		{"r", "retry it from the beginning; in a group: all failed tasks"},
		{"P", "pause or resume this task only"},
		{"e", "end its agent and pause the task"},
		{},
		{"q, ctrl-c", "quit; the run continues"},
	}
}
