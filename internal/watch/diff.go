package watch

import (
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"ralph/dag"
	"ralph/internal/git"
	"ralph/internal/human"
	"ralph/internal/render"
)

// diffPace is how often the files of an attempt are looked at, while a person looks at its diff.
const diffPace = time.Second

// diff is what an attempt changes, in harmless lines.
type diff struct {
	attempt string // "" as long as nothing is known
	ended   bool   // it does not change any more
	lines   []diffLine
	sum     string
	top     int  // the first line on the screen
	asked   bool // an answer is under way
	turn    int  // the number of the tick that counts
}

// diffLine is painted when it is shown: a long one is broken before.
type diffLine struct {
	text  string
	paint func(string) string
}

// compared is what became known of an attempt's files.
type compared struct {
	attempt dag.Attempt
	git.Difference
	err error
}

type diffTick struct{ turn int }

// unknown is what is left of it for another attempt.
func (d diff) unknown() diff { return diff{asked: d.asked, turn: d.turn} }

func (m *model) openDiff(task string) tea.Cmd {
	if m.detail.attempt == nil {
		m.notice = "no agent has worked on " + task + " yet"
		return nil
	}
	m.screen = comparing
	m.diff = m.diff.unknown()
	return m.lookAtDiff()
}

// lookAtDiff asks what the attempt changes, while a person looks. The screen stays with the task: the next attempt at it follows.
func (m *model) lookAtDiff() tea.Cmd {
	a := m.detail.attempt
	switch {
	case m.screen != comparing || m.diff.asked:
		return nil
	case a == nil || m.diff.ended && m.diff.attempt == a.ID:
		return m.lookAgain()
	}
	m.diff.asked = true
	at := *a
	return func() tea.Msg { return m.compare(at) }
}

func (m *model) lookAgain() tea.Cmd {
	m.diff.turn++
	next := diffTick{m.diff.turn}
	return tea.Tick(diffPace, func(time.Time) tea.Msg { return next })
}

// see shows what became known, at the line that was on top before.
func (m *model) see(c compared) tea.Cmd {
	m.diff.asked = false
	if a := m.detail.attempt; m.screen != comparing || a == nil || a.ID != c.attempt.ID {
		return m.lookAtDiff()
	}
	top := m.diff.top
	if m.diff.attempt != c.attempt.ID {
		top = 0
	}
	m.diff = diff{attempt: c.attempt.ID, ended: !c.attempt.EndedAt.IsZero(), lines: m.diffLines(c), turn: m.diff.turn}
	if m.diff.top = max(min(top, len(m.diff.lines)-1), 0); len(c.Changes) > 0 {
		added, removed := 0, 0
		for _, f := range c.Changes {
			added, removed = added+f.Added, removed+f.Removed
		}
		m.diff.sum = fmt.Sprintf("%s, +%d -%d", human.Count(len(c.Changes), "file"), added, removed)
	}
	return m.lookAgain()
}

// diffLines are the files, and then the patch. Secrets are removed before lines are broken.
func (m *model) diffLines(c compared) (lines []diffLine) {
	p := m.palette
	plain := func(s string) string { return s }
	add := func(paint func(string) string, text string) { lines = append(lines, diffLine{text, paint}) }
	switch {
	case c.err != nil:
		add(p.Yellow, "  "+harmless(c.err.Error()))
		return lines
	case len(c.Changes) == 0:
		add(p.Dim, "  nothing has changed")
	}
	for _, f := range c.Changes {
		text := fmt.Sprintf("  %-8s %s", f.Kind, harmless(f.Path)) + human.Lead(" from ", harmless(f.Old))
		if f.Lines() > 0 {
			text += fmt.Sprintf("  +%d -%d", f.Added, f.Removed)
		}
		add(plain, text)
	}
	for _, l := range c.Left {
		add(p.Yellow, "  not part of it: "+harmless(l.String()))
	}
	add(plain, "")
	paints := map[string]func(string) string{"ins": p.Green, "del": p.Red, "b": p.Bold, "i": p.Cyan, "": plain}
	for _, span := range render.DiffSpans(render.Block(m.redact(c.Patch))) {
		for l := range strings.Lines(span.Text) {
			add(paints[span.Tag], steady(strings.TrimRight(l, "\n")))
		}
	}
	if c.Cut {
		add(p.Yellow, "  only the first "+human.Bytes(int64(len(c.Patch)))+" of the patch")
	}
	return lines
}

func (m *model) diffKey(name string) {
	switch name {
	case "b":
		name = "pgup"
	case "space":
		name = "pgdown"
	case "q", "esc", "d":
		m.screen = overview
	}
	m.diff.top, _ = target(name, m.diff.top, len(m.diff.lines), m.height-3)
}

// diffPage shows what the selected task's last attempt changes on the whole screen.
func (m *model) diffPage() []string {
	t, _ := m.task()
	height := max(m.height-2, 0)
	var body []string
	if m.diff.attempt == "" {
		body = []string{m.palette.Dim("  looking at its files")}
	}
	for _, l := range m.diff.lines[m.diff.top:] {
		if len(body) >= height {
			break
		}
		for i, part := range strings.Split(ansi.HardwrapWc(l.text, max(m.width-1, 1), true), "\n") {
			if i > 0 {
				part = "…" + part // its first letter is not a sign of the patch
			}
			body = append(body, l.paint(part))
		}
	}
	page := append([]string{m.rule(m.streamTitle()+" "+m.palette.Bold(harmless(t.Title)), m.width)}, fill(body, height)...)
	keys := m.keysLine([][2]string{{"up/down", "scroll"}, {"home/end", "first, last"}, {"q", "back"}})
	return append(page, ends(keys, m.palette.Dim(m.diff.sum), m.width))
}
