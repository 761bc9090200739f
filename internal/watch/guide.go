package watch

import (
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

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
