package watch

import (
	"slices"
	"strings"

	"ralph/internal/seq"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// wide is from which width on the stream stands beside the tree, not below it.
const wide = 110

// View is what is on the screen.
func (m *model) View() tea.View {
	v := tea.NewView(m.redact(m.frame()))
	v.AltScreen = true
	return v
}

// frame is the whole screen: at most height lines of at most width columns.
func (m *model) frame() string {
	var lines []string
	switch m.screen {
	case help:
		lines = m.helpPage()
	case reading:
		lines = m.transcriptPage()
	case comparing:
		lines = m.diffPage()
	case answering:
		lines = m.answerPage()
	default:
		lines = m.overviewPage()
	}
	lines = lines[:min(len(lines), m.height)]
	for i, l := range lines {
		lines[i] = fit(l, m.width)
	}
	return strings.Join(lines, "\n")
}

// fit cuts a painted line to a width, and ends its colours with it.
func fit(l string, width int) string {
	if width <= 0 {
		return ""
	}
	whole := l
	l = ansi.TruncateWc(whole, width, "…")
	for to := width - 1; ansi.StringWidthWc(l) > width && to >= 0; to-- {
		l = ansi.TruncateWc(whole, to, "…") // characters made of several count differently there
	}
	l = strings.TrimRight(l, " ")
	if strings.Contains(l, "\x1b") && !strings.HasSuffix(l, "\x1b[0m") {
		l += "\x1b[0m"
	}
	return l
}

func pad(l string, width int) string {
	l = fit(l, width)
	return l + strings.Repeat(" ", max(width-ansi.StringWidthWc(l), 0))
}

// ends puts one text at the left and one at the right end; the left one yields.
func ends(l, r string, width int) string {
	free := width - ansi.StringWidthWc(r)
	if free < 10 {
		return fit(l, width)
	}
	return pad(l, free-1) + " " + r
}

func (m *model) rule(text string, width int) string {
	text = fit(m.palette.Dim("── ")+text, width-1)
	return text + m.palette.Dim(" "+strings.Repeat("─", max(width-1-ansi.StringWidthWc(text), 0)))
}

// shape is how many lines each part of the overview has.
type shape struct {
	attempts, tree, stream int
	beside                 bool // the stream stands beside the tree
}

// Lines that are always there: the header, the line for messages and that for keys.
const (
	headLines = 2
	footLines = 2
)

func (m *model) shape() shape {
	s := shape{beside: m.width >= wide}
	free := max(m.height-headLines-footLines, 0)
	if n := len(m.snap.attempts); n > 0 {
		s.attempts = min(n, max(free/2-2, 1)) + 1 // and the rule above
	}
	free = max(free-s.attempts-1, 0) // the rule above the tree
	switch {
	case s.beside:
		s.tree, s.stream = free, free
	case free < 6:
		s.tree = free
	default:
		s.tree = max(min(free/2, len(m.rows)), 3)
		s.stream = free - s.tree - 1 // the rule between them
	}
	return s
}

func (m *model) overviewPage() []string {
	s := m.shape()
	lines := m.header()
	if s.attempts > 0 {
		lines = append(lines, m.rule(m.attemptTitle(), m.width))
		lines = append(lines, m.attemptLines(s.attempts-1)...)
	}
	if s.beside {
		lines = append(lines, m.besideLines(s)...)
	} else {
		lines = append(lines, m.rule(m.treeTitle(), m.width))
		lines = append(lines, fill(m.treeLines(s.tree, m.width), s.tree)...)
		if s.stream > 0 {
			lines = append(lines, m.rule(m.streamTitle(), m.width))
			lines = append(lines, fill(m.streamLines(s.stream, m.width), s.stream)...)
		}
	}
	return append(fill(lines, m.height-footLines), m.footer()...)
}

// besideLines are the tree and, right of it, the stream.
func (m *model) besideLines(s shape) []string {
	left := m.width * 45 / 100
	right := m.width - left - 3
	lines := []string{pad(m.rule(m.treeTitle(), left), left) + m.palette.Dim("─┬─") + m.rule(m.streamTitle(), right)}
	tree, stream := fill(m.treeLines(s.tree, left), s.tree), fill(m.streamLines(s.stream, right), s.stream)
	for i := range tree {
		lines = append(lines, pad(tree[i], left)+m.palette.Dim(" │ ")+fit(stream[i], right))
	}
	return lines
}

func fill(lines []string, height int) []string {
	height = max(height, 0)
	if len(lines) > height {
		return lines[:height]
	}
	return append(lines, make([]string, height-len(lines))...)
}

// footer is what the last key came to, or a question; and what keys there are.
func (m *model) footer() []string {
	p := m.palette
	switch {
	case m.ask.text != "":
		return []string{p.Yellow(harmless(m.ask.text)), p.Bold("y") + " yes   any other key: no"}
	case m.screen == writing:
		return m.guidance()
	}
	pause := "pause"
	if !m.snap.paused.IsZero() {
		pause = "resume"
	}
	keys := [][2]string{{"p", pause}, {"s", "stop"}, {"x", "skip"}, {"r", "retry"}, {"g", "guide"}, {"enter", "read"}, {"d", "diff"}, {"?", "help"}, {"q", "quit"}}
	if m.openQuestions() > 0 {
		keys = slices.Concat([][2]string{{"i", "answer"}}, keys[:5], keys[6:]) // all of them do not fit
	}
	return []string{m.said(), m.keysLine(keys)}
}

// said is what the last key came to, or what a person should know.
func (m *model) said() string {
	p := m.palette
	switch {
	case m.failed:
		return p.Red(harmless(m.notice))
	case m.notice != "":
		return p.Green(harmless(m.notice))
	case m.err != nil:
		return p.Red(harmless(m.err.Error()))
	case m.warned != "":
		return p.Yellow("warning: " + harmless(m.warned))
	}
	return ""
}

func (m *model) keysLine(keys [][2]string) string {
	return strings.Join(seq.Map(keys, func(k [2]string) string { return m.palette.Bold(k[0]) + " " + k[1] }), "  ")
}
