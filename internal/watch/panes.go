package watch

import (
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"ralph/dag"
	"ralph/internal/term"
)

// header says in two lines how the run stands.
func (m *model) header() []string {
	p := m.palette
	first := p.Bold(harmless(m.name))
	if m.snap.run.ID != "" {
		first += "  " + p.Cyan(m.snap.run.ID) + "  "
	} else {
		first += "  "
	}
	if !m.snap.paused.IsZero() {
		first += p.Yellow("paused "+span(m.at.Sub(m.snap.paused))) + "  "
	}
	first += m.runWords()
	total := m.snap.tally.Total()
	done := m.snap.tally.ByStatus[dag.Done]
	share := ""
	if total > 0 {
		share = fmt.Sprintf("%d of %d done", done, total)
	}
	return []string{ends(first, share, m.width), ends(m.counts(), m.spent(), m.width)}
}

func (m *model) runWords() string {
	p, r := m.palette, m.snap.run
	scope := ""
	switch {
	case r.Scope.Feature != "":
		scope = ", feature " + harmless(r.Scope.Feature)
	case r.Scope.Task != "":
		scope = ", task " + harmless(r.Scope.Task)
	}
	if m.snap.others > 0 {
		scope += ", and " + plural(m.snap.others, "more run")
	}
	switch m.snap.state {
	case running:
		return p.Green("running") + " " + span(m.at.Sub(r.StartedAt)) + scope
	case stopping:
		return p.Yellow("stopping") + " " + span(m.at.Sub(r.StartedAt)) + scope
	case died:
		return p.Red("died") + scope + "; the next run takes up what it left"
	case ended:
		words := strings.ReplaceAll(harmless(r.Outcome), "_", " ")
		paint := p.Yellow
		if r.Outcome == "complete" && m.snap.tally.ByStatus[dag.Failed] == 0 {
			paint = p.Green
		}
		text := paint("ended: "+words) + " in " + span(r.EndedAt.Sub(r.StartedAt)) + scope
		if reason := harmless(r.Reason); reason != "" {
			text += ": " + reason
		}
		return text
	case none:
	}
	switch {
	case !m.known:
		return "reading..."
	case len(m.snap.tasks) == 0:
		return "no tasks yet"
	default:
		return "no run yet; start one with: ralph run"
	}
}

// counts says how many tasks stand where, with a bar of what is done.
func (m *model) counts() string {
	p, t := m.palette, m.snap.tally
	total := t.Total()
	if total == 0 {
		return ""
	}
	bar := ""
	if size := min(m.width/8, 24); size >= 8 {
		full := size * t.ByStatus[dag.Done] / total
		bar = p.Green(strings.Repeat("█", full)) + p.Dim(strings.Repeat("░", size-full)) + "  "
	}
	var parts []string
	add := func(n int, word string, paint func(string) string) {
		if n > 0 {
			parts = append(parts, paint(fmt.Sprintf("%d %s", n, word)))
		}
	}
	add(t.ByStatus[dag.InProgress], "running", p.Cyan)
	add(t.ByStatus[dag.Failed], "failed", p.Red)
	if t.Waiting > 0 {
		parts = append(parts, p.Yellow(fmt.Sprintf("%d waiting (%s left)", t.Waiting, left(t.NextWait, m.at))))
	}
	add(t.Ready, "ready", plain)
	add(t.ByStatus[dag.Blocked], "blocked", p.Yellow)
	return bar + strings.Join(parts, ", ")
}

// roomy is from which width on everything is said.
const roomy = 100

func (m *model) spent() string {
	var parts []string
	if m.snap.tokens > 0 && (m.width >= roomy || m.snap.cost == nil) {
		parts = append(parts, amount(m.snap.tokens)+" tokens")
	}
	if m.snap.cost != nil {
		parts = append(parts, m.palette.Bold(dollars(*m.snap.cost)))
	}
	return strings.Join(parts, ", ")
}

// attemptLines are the attempts that are under way. If there is no room for all of
// them, the last line counts the rest.
func (m *model) attemptLines(height int) []string {
	var lines []string
	for i, a := range m.snap.attempts {
		if rest := len(m.snap.attempts) - i; len(lines) == height-1 && rest > 1 {
			return append(lines, m.palette.Dim(fmt.Sprintf("  and %d more", rest)))
		}
		right := term.Cut(strings.Join(m.facts(a), "  "), max(m.width*2/3, 20))
		title := a.Task // it may be outside of the scope
		if i, known := m.byID[a.Task]; known {
			title = harmless(m.snap.tasks[i].Title)
		}
		lines = append(lines, ends(m.marker(a.Task)+m.palette.Cyan("● ")+title, m.palette.Dim(right), m.width))
	}
	return lines
}

// facts are what is known of an attempt, the most wanted of it when there is little
// room.
func (m *model) facts(a dag.Attempt) []string {
	facts := []string{who(a)}
	if a.Iteration > 0 && m.width >= roomy {
		facts = append(facts, fmt.Sprintf("iteration %d", a.Iteration))
	}
	facts = append(facts, phase(a, m.doing[a.ID]), span(m.at.Sub(a.StartedAt)))
	if tokens := value(a.TokensIn) + value(a.TokensCached) + value(a.TokensOut); m.width < roomy && tokens > 0 {
		facts = append(facts, amount(tokens)+" tokens")
		if a.CostUSD != nil {
			facts = append(facts, dollars(*a.CostUSD))
		}
		return facts
	}
	return append(facts, used(a)...)
}

func (m *model) marker(task string) string {
	if task == m.selected {
		return m.palette.Bold("> ")
	}
	return "  "
}

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
		case t.Status == dag.Done:
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
		return m.palette.Bold("what is said")
	}
	title := m.palette.Cyan(t.ID)
	if a := m.detail.attempt; a != nil {
		title += fmt.Sprintf(" attempt %d", m.detail.attempts)
		if name := who(*a); name != "" {
			title += ", " + name
		}
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

// untried says of a task that no agent has had what it is and what it waits for.
func (m *model) untried(width int) []string {
	var lines []string
	if m.detail.wish != "" {
		lines = append(lines, wrap(pad("  "+m.palette.Dim("told"), hanging)+harmless(m.detail.wish), width)...)
	}
	for _, r := range m.detail.reasons {
		text := harmless(r.Text)
		if !r.Until.IsZero() {
			text += " (" + left(r.Until, m.at) + " left)"
		}
		lines = append(lines, wrap(pad("  "+m.palette.Dim("why"), hanging)+text, width)...)
	}
	if len(m.detail.reasons) == 0 {
		lines = append(lines, "  nothing holds it up: it runs in its turn")
	}
	for l := range strings.Lines(term.Block(term.Strip(strings.ToValidUTF8(m.detail.about, "?")))) {
		lines = append(lines, wrap("  "+m.palette.Dim(strings.TrimRight(strings.ReplaceAll(l, "\t", "    "), "\n")), width)...)
	}
	return lines
}

// ending says how an attempt ended that has, and what was said to the task since.
func (m *model) ending() []string {
	a, p := m.detail.attempt, m.palette
	label := func(name string) string { return pad("  "+p.Dim(name), hanging) }
	var lines []string
	if a.EndedAt.IsZero() {
		if text := m.doing[a.ID]; text != "" {
			lines = append(lines, label("now")+harmless(text))
		}
	} else {
		for _, g := range a.Gates {
			word := p.Green("passed")
			if !g.Passed {
				word = p.Red("failed") + " (" + harmless(g.Exit) + ")"
			}
			lines = append(lines, label("gate")+harmless(g.Command)+" "+word)
		}
		lines = append(lines, label("ended")+m.outcome(*a))
	}
	if m.detail.wish != "" {
		lines = append(lines, label("told")+harmless(m.detail.wish))
	}
	return lines
}

func (m *model) outcome(a dag.Attempt) string {
	paint := m.palette.Yellow
	switch a.Outcome {
	case "done":
		paint = m.palette.Green
	case "failed":
		paint = m.palette.Red
	}
	text := paint(harmless(a.Outcome)) + " in " + span(a.EndedAt.Sub(a.StartedAt).Round(time.Second))
	if facts := used(a); len(facts) > 0 {
		text += ", " + strings.Join(facts, ", ")
	}
	first, _, _ := strings.Cut(strings.TrimSpace(a.Reason), "\n")
	if first = harmless(first); first != "" {
		text += ": " + first
	}
	return text
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
		where = plural(m.scroll, "line") + " further down"
	}
	if m.stream.left {
		where = "all of it: ralph logs " + t.ID
	}
	page := append([]string{m.rule(m.streamTitle()+" "+m.palette.Bold(harmless(t.Title)), m.width)}, fill(body, height)...)
	keys := m.keysLine([][2]string{{"up/down", "scroll"}, {"home/end", "first, last"}, {"q", "back"}})
	return append(page, ends(keys, m.palette.Dim(where), m.width))
}

// helpPage lists the keys.
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
