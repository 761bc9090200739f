package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"ralph/dag"
	"ralph/internal/event"
	"ralph/internal/human"
	"ralph/internal/term"
)

// Sizes of what is drawn, in pixels.
const (
	boxWidth    = 184
	boxHeight   = 60
	lightHeight = 42
	groupHeight = 32
	pointSize   = 10
	boxLetters  = 26   // of a line, of middling width
	smallest    = 0.72 // to which a drawing shrinks before it is scrolled
)

type graph struct {
	ID         string
	W, H, MinW int
	Arrows     []arrowLine
	Nodes      []nodeBox
}

type arrowLine struct {
	Bad bool
	D   string
}

type nodeBox struct {
	Point, Group bool
	Link         string
	Class, Title string
	X, Y, W, H   int
	Lines        []textLine
	Facts, More  string // nothing in light boxes
}

type textLine struct {
	Y    int
	Text string
}

// svg lays a picture out; light boxes have only the title and the state, because text is
// what takes a browser long.
func (r Run) svg(p picture, name string, light bool) *graph {
	boxes := make([]box, len(p.nodes))
	for i, n := range p.nodes {
		switch {
		case n.point:
			boxes[i] = box{w: pointSize, h: pointSize}
		case n.task.Group:
			boxes[i] = box{w: boxWidth, h: groupHeight}
		case light:
			boxes[i] = box{w: boxWidth, h: lightHeight}
		default:
			boxes[i] = box{w: boxWidth, h: boxHeight}
		}
	}
	c := layOut(boxes, p.arrows)
	g := &graph{ID: name, W: pixels(c.w), H: pixels(c.h), MinW: pixels(smallest * c.w)}
	for k, path := range c.paths {
		from := p.nodes[c.arrows[k].from].task
		g.Arrows = append(g.Arrows, arrowLine{!from.Group && from.Status == dag.Failed, c.curve(path)})
	}
	for i, n := range p.nodes {
		g.Nodes = append(g.Nodes, r.nodeBox(n, c.boxes[i], light))
	}
	return g
}

func pixels(f float64) int { return int(math.RoundToEven(f)) }

// curve leads from the right side of the first box to the left side of the last,
// straight through the bends between them.
func (c chart) curve(path []int) string {
	var b strings.Builder
	first := c.boxes[path[0]]
	x, y := first.x+first.w, first.y+first.h/2
	fmt.Fprintf(&b, "M%.0f %.0f", x, y)
	for _, i := range path[1:] {
		to := c.boxes[i]
		tx, ty := to.x, to.y+to.h/2
		half := (x + tx) / 2
		fmt.Fprintf(&b, "C%.0f %.0f %.0f %.0f %.0f %.0f", half, y, half, ty, tx, ty)
		x, y = tx, ty
		if to.via {
			x = tx + to.w
			fmt.Fprintf(&b, "H%.0f", x)
		}
	}
	return b.String()
}

func (r Run) nodeBox(n node, at box, light bool) nodeBox {
	if n.point {
		return nodeBox{Point: true, X: pixels(at.x + at.w/2), Y: pixels(at.y + at.h/2)}
	}
	t := n.task
	state := r.state(t)
	b := nodeBox{
		Group: t.Group, Link: r.anchor(t), Class: state.Class, Title: shorten(t.Title, 300) + "\n" + t.ID + " " + state.Word,
		X: int(at.x), Y: int(at.y), W: pixels(at.w), H: pixels(at.h),
	}
	if t.Group {
		b.Lines = []textLine{{20, state.Mark + " " + fit(t.Title, boxLetters-2)}}
		return b
	}
	title := t.Title
	if light {
		title = state.Mark + " " + title
	}
	first, second := twoLines(title)
	b.Lines = []textLine{{18, first}}
	if second != "" {
		b.Lines = append(b.Lines, textLine{33, second})
	}
	if light {
		return b
	}
	if n.hidden > 0 {
		b.More = fmt.Sprintf("+%d", n.hidden)
	}
	b.Facts = fit(state.Mark+" "+strings.Join(r.boxFacts(t, state), " · "), float64(boxLetters-len(b.More)))
	return b
}

// twoLines breaks a title at a word, and cuts what is left.
func twoLines(title string) (first, second string) {
	if letters(title) <= boxLetters {
		return title, ""
	}
	words := strings.Fields(title)
	n := 1
	for n < len(words) && letters(strings.Join(words[:n+1], " ")) <= boxLetters {
		n++
	}
	return fit(strings.Join(words[:n], " "), boxLetters), fit(strings.Join(words[n:], " "), boxLetters)
}

// letters estimates how much of a line a text takes, in letters of middling width. Fonts
// differ; too much is better than a letter that is cut in half.
func letters(s string) float64 {
	sum := 0.0
	for _, c := range s {
		switch {
		case strings.ContainsRune("ijl.,:;'|!", c):
			sum += 0.6
		case strings.ContainsRune("mwMW@%—", c):
			sum += 1.7
		case c >= 'A' && c <= 'Z', c == '…':
			sum += 1.3
		default:
			sum += max(float64(term.Width(string(c))), 0)
		}
	}
	return sum
}

// fit cuts a text to so many letters, with an ellipsis in place of the rest.
func fit(s string, limit float64) string {
	if letters(s) <= limit {
		return s
	}
	kept := ""
	for _, c := range s {
		if letters(kept+string(c)+"…") > limit {
			break
		}
		kept += string(c)
	}
	return strings.TrimRight(kept, " ") + "…"
}

func (r Run) boxFacts(t Task, s state) []string {
	if t.facts != "" {
		return []string{t.facts}
	}
	var facts []string
	if s.Word != "done" || !t.Ran() {
		facts = append(facts, s.Word) // the mark says it for the others
	}
	if n := len(t.Attempts); n > 0 {
		var u Usage
		for _, i := range t.Attempts {
			u = u.plus(r.Attempts[i].Usage)
		}
		facts = append(facts, human.Span(r.took(t)))
		if n > 1 {
			facts = append(facts, human.Count(n, "try"))
		}
		if u.Known > 0 && u.Silent == 0 && s.Word == "done" { // there is room
			facts = append(facts, human.Dollars(u.Cost()))
		}
	}
	return facts
}

// state is how a task is shown: never by its colour alone.
type state struct{ Word, Class, Mark string }

func (r Run) state(t Task) state {
	if t.live != nil {
		return *t.live
	}
	switch t.Status {
	case dag.Done:
		if !t.Ran() && !t.Group {
			return state{"done before", "done old", "✓"}
		}
		return state{"done", "done", "✓"}
	case dag.Failed:
		return state{"failed", "failed", "✗"}
	case dag.InProgress:
		return state{"running", "running", "▶"}
	case dag.Blocked:
		return state{"blocked", "waiting", "◌"}
	case dag.Cancelled:
		return state{"cancelled", "old", "–"}
	case event.TaskDeleted:
		return state{"deleted since", "old", "–"}
	}
	if t.Ran() {
		return state{"not finished", "again", "↻"}
	}
	if t.Group {
		return state{"open", "open", "○"}
	}
	return state{"not begun", "open", "○"}
}

// anchor is where the page says more about a task, or "".
func (r Run) anchor(t Task) string {
	if t.href != "" {
		return t.href
	}
	if t.Ran() {
		return "#task-" + t.ID
	}
	if slices.ContainsFunc(r.Failures, func(f Failure) bool { return f.Task == t.ID }) {
		return "#failed-" + t.ID
	}
	return ""
}
