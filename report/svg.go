package report

import (
	"fmt"
	"html"
	"strconv"
	"strings"

	"ralph/dag"
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

// svg lays a picture out and draws it; light boxes tell only the title and how it
// stands, because letters are what a browser works at. Everything foreign in it is escaped.
func (r Run) svg(p picture, name string, light bool) markup {
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
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="graph" id="%s" viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f" style="min-width:%.0fpx" role="img" aria-label="the graph of tasks">`,
		name, c.w, c.h, c.w, c.h, smallest*c.w)
	for k, path := range c.paths {
		class := ""
		if from := p.nodes[c.arrows[k].from].task; !from.Group && from.Status == string(dag.Failed) {
			class = ` class="bad"`
		}
		fmt.Fprintf(&b, `<path%s d="%s"/>`, class, c.curve(path))
	}
	for i, n := range p.nodes {
		r.drawNode(&b, n, c.boxes[i], light)
	}
	b.WriteString("</svg>")
	return markup(b.String()) // numbers of ours, and text that was escaped
}

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

func (r Run) drawNode(b *strings.Builder, n node, at box, light bool) {
	x, y := strconv.Itoa(int(at.x)), strconv.Itoa(int(at.y))
	if n.point {
		fmt.Fprintf(b, `<circle class="point" cx="%.0f" cy="%.0f" r="3"/>`, at.x+at.w/2, at.y+at.h/2)
		return
	}
	t := n.task
	state := r.state(t)
	if link := r.anchor(t); link != "" {
		fmt.Fprintf(b, `<a href="#%s">`, link)
		defer b.WriteString("</a>")
	}
	fmt.Fprintf(b, `<g class="n %s" transform="translate(%s %s)"><title>%s</title>`, state.Class, x, y,
		html.EscapeString(shorten(t.Title, 300)+"\n"+t.ID+" "+state.Word))
	defer b.WriteString("</g>")
	if t.Group {
		title := html.EscapeString(fit(t.Title, boxLetters-2))
		fmt.Fprintf(b, `<rect class="group" width="%d" height="%d" rx="16"/><text x="14" y="20">%s %s</text>`, boxWidth, groupHeight, state.Mark, title)
		return
	}
	title := t.Title
	if light {
		title = state.Mark + " " + title
	}
	first, second := twoLines(title)
	fmt.Fprintf(b, `<rect width="%d" height="%.0f" rx="7"/><text x="14" y="18">%s</text>`, boxWidth, at.h, html.EscapeString(first))
	if second != "" {
		fmt.Fprintf(b, `<text x="14" y="33">%s</text>`, html.EscapeString(second))
	}
	if light {
		return
	}
	more := ""
	if n.hidden > 0 {
		more = fmt.Sprintf("+%d", n.hidden)
	}
	facts := state.Mark + " " + strings.Join(r.boxFacts(t, state), " · ")
	fmt.Fprintf(b, `<rect class="edge" width="5" height="%d" rx="2"/><text class="s" x="14" y="51">%s</text>`, boxHeight,
		html.EscapeString(fit(facts, float64(boxLetters-len(more)))))
	if more != "" {
		fmt.Fprintf(b, `<text class="s more" x="%d" y="51">%s</text>`, boxWidth-8, more)
	}
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

// boxFacts are the few words in a box.
func (r Run) boxFacts(t Task, s state) []string {
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
		if u.Told > 0 && u.Silent == 0 && s.Word == "done" { // there is room
			facts = append(facts, human.Dollars(u.USD))
		}
	}
	return facts
}

// state is how a task is shown: never by its colour alone.
type state struct{ Word, Class, Mark string }

func (r Run) state(t Task) state {
	switch dag.Status(t.Status) {
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
	case "deleted":
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

// anchor is where the page tells more about a task, or "".
func (r Run) anchor(t Task) string {
	if t.Ran() {
		return "task-" + t.ID
	}
	for _, f := range r.Failures {
		if f.Task == t.ID {
			return "failed-" + t.ID
		}
	}
	return ""
}
