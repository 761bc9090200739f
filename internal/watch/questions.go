package watch

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"ralph/internal/human"
	"ralph/internal/inbox"
	"ralph/internal/render"
)

// pane is where people answer what agents ask.
type pane struct {
	id     string // of the request that is shown
	index  int    // where it is in the list
	scroll int    // lines of it that are above the screen

	typing bool
	deny   bool          // what is typed is why not
	of     inbox.Request // that is answered: the list may change meanwhile
	typed  input
}

// openQuestions is how many requests wait for an answer. One that is over stays in the list while it is looked at.
func (m *model) openQuestions() (n int) {
	for _, r := range m.snap.questions {
		if r.State == inbox.Open {
			n++
		}
	}
	return n
}

// asksOf lists the questions for whose answers a task waits.
func (m *model) asksOf(task string) (list []inbox.Request) {
	for _, r := range m.snap.questions {
		if r.Task == task && r.Parks && r.State == inbox.Open {
			list = append(list, r)
		}
	}
	return list
}

func (m *model) badge() string {
	n := m.openQuestions()
	switch {
	case n == 0:
		return ""
	case m.width < roomy/2:
		return m.palette.Yellow(fmt.Sprintf("? %d", n)) + "  "
	default:
		return m.palette.Yellow("? "+human.Count(n, "question")) + "  "
	}
}

// request is the one that is shown.
func (m *model) request() (inbox.Request, bool) {
	if m.pane.index >= len(m.snap.questions) {
		return inbox.Request{}, false
	}
	return m.snap.questions[m.pane.index], true
}

// openPane shows what the selected task asks, or what was asked first.
func (m *model) openPane() tea.Cmd {
	m.screen, m.pane.index = answering, 0
	if list := m.asksOf(m.selected); len(list) > 0 {
		m.pane.id = list[0].ID
	}
	m.findRequest()
	return m.look()
}

// closePane leaves what is over behind.
func (m *model) closePane() {
	m.screen, m.pane.id = overview, ""
	m.snap.questions = slices.DeleteFunc(slices.Clone(m.snap.questions), func(r inbox.Request) bool { return r.State != inbox.Open })
}

// findRequest finds the one that is shown in a new list; if it is gone, its neighbour takes its place.
func (m *model) findRequest() {
	list := m.snap.questions
	if i := slices.IndexFunc(list, func(r inbox.Request) bool { return r.ID == m.pane.id }); i >= 0 {
		m.pane.index = i
		return
	}
	m.pane.index = max(min(m.pane.index, len(list)-1), 0)
	m.pane.id, m.pane.scroll = "", 0
	if r, ok := m.request(); ok && m.screen == answering {
		m.pane.id = r.ID
	}
}

func (m *model) paneKey(k tea.KeyPressMsg) tea.Cmd {
	name := k.String()
	if page := map[string]int{"pgup": -1, "pgdown": 1, "ctrl+b": -1, "ctrl+f": 1}[name]; page != 0 {
		m.scrollPane(page)
		return nil
	}
	if m.pane.typing {
		return m.replyKey(k)
	}
	m.notice, m.failed = "", false
	if to, moved := target(name, m.pane.index, len(m.snap.questions), 1); moved {
		m.pane.index, m.pane.id, m.pane.scroll = to, "", 0
		if r, ok := m.request(); ok {
			m.pane.id = r.ID
		}
		return m.look()
	}
	switch name {
	case "q", "esc", "i":
		m.closePane()
		return nil
	case "?":
		m.screen = help
		return nil
	case "b", "space":
		m.scrollPane(map[string]int{"b": -1, "space": 1}[name])
		return nil
	}
	r, ok := m.request()
	number := len(name) == 1 && name[0] >= '1' && name[0] <= '9' && len(r.Options) > 0
	switch {
	case !ok || !number && name != "enter" && name != "a" && name != "d":
	case r.State != inbox.Open:
		m.notice, m.failed = over(r), true
	default:
		if m.pane.of.ID != r.ID || m.pane.deny != (name == "d") {
			m.pane.typed = nil // what was refused can be typed on
		}
		m.pane.of, m.pane.typing, m.pane.deny = r, true, name == "d"
		if number {
			m.pane.typed = input(name)
		}
	}
	return nil
}

func (m *model) scrollPane(pages int) {
	height := m.paneShape().body
	most := max(len(m.requestLines(m.width))-height, 0)
	m.pane.scroll = max(min(m.pane.scroll+pages*max(height-1, 1), most), 0)
}

// secret says that what is typed is not shown.
func (p pane) secret() bool { return p.of.Kind == inbox.Credential && !p.deny }

func (m *model) replyKey(k tea.KeyPressMsg) tea.Cmd {
	p := &m.pane
	m.notice, m.failed = "", false
	switch k.String() {
	case "esc":
		p.typing, p.typed, m.notice = false, nil, "not answered"
	case "enter":
		text := strings.TrimSpace(string(p.typed))
		if text == "" && !p.deny {
			return nil
		}
		reply := inbox.Typed(p.of, text)
		if p.deny || p.secret() {
			reply = inbox.Reply{Text: text, Denied: p.deny}
		}
		if p.typing = false; p.secret() {
			p.typed = nil
		}
		return m.do(deed{verb: answer, request: p.of.ID, secret: p.secret(), reply: reply})
	default:
		p.typed.key(k)
	}
	return nil
}

// paste adds to an answer. A value of several lines would not be what was pasted.
func (m *model) paste(text string) {
	text = strings.TrimRight(text, "\r\n")
	if m.pane.secret() && strings.ContainsAny(text, "\r\n") {
		m.notice, m.failed = "that has several lines: ralph inbox answer "+m.pane.of.ID+" --credential @FILE", true
		return
	}
	m.pane.typed.write(text)
}

// answered takes what became of an answer. What was refused can be typed on.
func (m *model) answered(d did) {
	if d.request == "" || d.err != nil {
		return
	}
	if m.pane.of.ID == d.request {
		m.pane.typed = nil
	}
	// The next one takes its place at once: keys may follow before the database is read again.
	m.snap.questions = slices.DeleteFunc(slices.Clone(m.snap.questions), func(r inbox.Request) bool { return r.ID == d.request })
	m.findRequest()
}

// paneShape is how many lines the list and the shown request have.
func (m *model) paneShape() (s struct{ list, body int }) {
	free := max(m.height-footLines-2, 0) // two rules
	s.list = min(len(m.snap.questions), max(free/3, 1))
	s.body = max(free-s.list, 0)
	return s
}

func (m *model) answerPage() []string {
	p, list, s := m.palette, m.snap.questions, m.paneShape()
	title := p.Bold("questions")
	if len(list) > 0 {
		title += fmt.Sprintf(" %d/%d", m.pane.index+1, len(list))
	}
	lines := []string{m.rule(title, m.width)}
	if len(list) == 0 {
		return append(fill(append(lines, "", "  nothing waits for an answer"), m.height-footLines), m.paneFooter(0)...)
	}
	top := window(0, m.pane.index, len(list), s.list)
	for _, r := range list[top:min(top+s.list, len(list))] {
		lines = append(lines, m.requestRow(r))
	}
	r, _ := m.request()
	about := p.Cyan(r.ID) + " " + string(r.Kind) + human.Lead(" of ", r.Task)
	if i, known := m.byID[r.Task]; known {
		about += " " + harmless(m.snap.tasks[i].Title)
	}
	body := m.requestLines(m.width)
	from := max(min(m.pane.scroll, len(body)-s.body), 0)
	shown := body[from:min(from+s.body, len(body))]
	lines = append(append(lines, m.rule(about, m.width)), fill(shown, s.body)...)
	return append(fill(lines, m.height-footLines), m.paneFooter(len(body)-from-len(shown))...)
}

func (m *model) requestRow(r inbox.Request) string {
	marker := "  "
	if r.ID == m.pane.id {
		marker = m.palette.Bold("> ")
	}
	facts := span(m.at.Sub(r.At))
	if r.State != inbox.Open {
		facts = string(r.State)
	}
	if m.width >= roomy/2 {
		facts = strings.Join(human.Parts(string(r.Kind), r.Task, facts), "  ")
	}
	first, _ := render.First(r.Text)
	return ends(marker+steady(first), m.palette.Dim(facts), m.width)
}

// requestLines are all of a request: what became of it, its text, and what can be answered.
func (m *model) requestLines(width int) []string {
	r, ok := m.request()
	if !ok {
		return nil
	}
	p := m.palette
	var lines []string
	add := func(lead, text string, paint func(string) string) {
		for i, l := range strings.Split(ansi.WrapWc(steady(text), max(width-len(lead), 1), ""), "\n") {
			if i > 0 {
				lead = strings.Repeat(" ", len(lead))
			}
			lines = append(lines, lead+paint(strings.TrimRight(l, " ")))
		}
	}
	if r.State != inbox.Open {
		add("  ", over(r), p.Yellow)
		lines = append(lines, "")
	}
	for l := range strings.Lines(render.Block(r.Text)) {
		add("  ", strings.TrimRight(l, "\n"), plain)
	}
	for i, o := range r.Options {
		if i == 0 {
			lines = append(lines, "")
		}
		add(fmt.Sprintf("  %2d  ", i+1), harmless(o), plain)
	}
	if notes := m.requestNotes(r); len(notes) > 0 {
		lines = append(lines, "")
		for _, text := range notes {
			add("  ", harmless(text), p.Dim)
		}
	}
	return lines
}

// requestNotes say what becomes of an answer, or without one.
func (m *model) requestNotes(r inbox.Request) (notes []string) {
	switch r.Kind {
	case inbox.Credential:
		notes = append(notes, "what you type is not shown; only the agent of "+r.Task+" gets it, as "+r.Variable())
	case inbox.Permission:
		notes = append(notes, "yes and no count once; always and never become rules")
	case inbox.Change:
		notes = append(notes, "what you allow stays allowed; to take it back: ralph task update "+r.Task+" --may-change=")
	case inbox.Question, inbox.Call, inbox.Message, inbox.Query:
	}
	if r.State == inbox.Open && r.ExpiresAt.After(m.at) {
		text := "expires in " + left(r.ExpiresAt, m.at)
		if r.Parks {
			text += human.Lead("; the answer is then: ", r.Default)
		}
		notes = append(notes, text)
	}
	return notes
}

// over says what became of a request that is not open any more.
func over(r inbox.Request) string { return harmless((&inbox.OverError{Request: r}).Error()) }

func (m *model) paneFooter(below int) []string {
	p := m.palette
	if m.pane.typing {
		return m.replyLines()
	}
	var keys [][2]string
	r, ok := m.request()
	if ok && r.State == inbox.Open {
		keys = append(keys, [2]string{"enter", "answer"})
		if len(r.Options) > 0 {
			keys = append(keys, [2]string{fmt.Sprintf("1-%d", len(r.Options)), "option"})
		}
		keys = append(keys, [2]string{"d", "deny"})
	}
	if ok {
		keys = append(keys, [2]string{"up/down", "select"})
	}
	keys = append(keys, [2]string{"q", "back"})
	more := ""
	if below > 0 {
		more = p.Yellow(human.Count(below, "more line") + ": PgDn")
	} else if m.pane.scroll > 0 {
		more = p.Dim("PgUp")
	}
	return []string{m.said(), ends(m.keysLine(keys), more, m.width)}
}

// replyLines are where an answer is typed.
func (m *model) replyLines() []string {
	p, text := m.pane, m.pane.typed.show(m.width-2)
	title := "Answer to " + p.of.ID
	switch n := inbox.Typed(p.of, string(p.typed)).Option; {
	case p.deny:
		title = "No to " + p.of.ID + "; why, if you like"
	case p.secret():
		title, text = p.of.Variable()+" for "+p.of.Task, "▏"
		if len(p.typed) > 0 {
			text = "(not shown)▏"
		}
	case n > 0:
		title = fmt.Sprintf("Option %d: %s", n, harmless(p.of.Options[n-1]))
	}
	how := m.palette.Dim("Enter sends, Esc does not")
	if r, ok := m.request(); ok && r.ID == p.of.ID && r.State != inbox.Open {
		title, how = over(r), ""
	}
	if m.failed {
		title, how = harmless(m.notice), ""
	}
	return []string{ends(m.palette.Yellow(title), how, m.width), "> " + text}
}
