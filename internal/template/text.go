package template

import (
	"strings"

	"ralph/internal/lazyregexp"
	"ralph/internal/plain"
)

// text is what somebody wrote, with places to be filled in.
type text struct {
	line  int
	parts []part
}

// part is a literal, or a place: ${name}, ${item.field} or ${name|filter}.
type part struct {
	literal     string
	name, field string // of a place
	filter      string
	line        int
}

// place is what is in the braces, without a filter.
func (p part) place() string { return strings.TrimSuffix(p.name+"."+p.field, ".") }

func (p part) String() string { return "${" + strings.TrimSuffix(p.place()+"|"+p.filter, "|") + "}" }

// itemName is what a step that is repeated calls the item it is made for, unless it says as.
const itemName = "item"

var (
	inputName = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_-]*$`)
	placeText = lazyregexp.New(`^([A-Za-z_][A-Za-z0-9_-]*)(?:\.([A-Za-z_][A-Za-z0-9_-]*))?(?: *\| *(quote|raw))?$`)
)

// parseText finds the places of a text that begins on a line. $${ stands for ${ itself.
func (r *reader) parseText(source string, line int) text {
	t := text{line: line}
	literal := func(s string) {
		if s != "" {
			t.parts = append(t.parts, part{literal: s, line: line})
		}
		line += strings.Count(s, "\n")
	}
	for source != "" {
		before, rest, found := strings.Cut(source, "${")
		switch {
		case !found:
			literal(source)
			return t
		case strings.HasSuffix(before, "$"):
			literal(strings.TrimSuffix(before, "$") + "${")
			source = rest
			continue
		}
		literal(before)
		name, after, closed := strings.Cut(rest, "}")
		m := placeText.Get().FindStringSubmatch(strings.TrimSpace(name))
		switch {
		case !closed:
			r.fault(line, "${ without }; write $${ for the two characters themselves")
			return t
		case m == nil:
			r.fault(line, "${%s} is no expression: there are only ${name}, ${item.field} and, in commands, ${name|quote} and ${name|raw}; write $${%s} for the shell's own", cut(name), cut(name))
		default:
			t.parts = append(t.parts, part{name: m[1], field: m[2], filter: m[3], line: line})
		}
		source = after
	}
	return t
}

// cut keeps what a message quotes short and on one line.
func cut(s string) string {
	s = plain.OneLine(s)
	if len(s) > 60 {
		s = strings.ToValidUTF8(s[:60], "") + "..."
	}
	return s
}

// empty says that nothing is written.
func (t text) empty() bool { return len(t.parts) == 0 }

// places are those of some texts.
func places(texts []text) (list []part) {
	for _, t := range texts {
		list = append(list, t.places()...)
	}
	return list
}

// places are the parts to be filled in.
func (t text) places() (list []part) {
	for _, p := range t.parts {
		if p.name != "" {
			list = append(list, p)
		}
	}
	return list
}

// outline is the text with something short in each place, for a title that stands for all items.
func (t text) outline() string {
	var b strings.Builder
	for _, p := range t.parts {
		if b.WriteString(p.literal); p.name != "" {
			b.WriteString("…")
		}
	}
	return b.String()
}
