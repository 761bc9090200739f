package shellagent

import "strings"

// pieces is a prompt taken apart: what ralph itself says and what it quotes.
// Ralph quotes whatever it did not write, each line behind ">", so only a
// quotation in the section of the assigned task is a task's description.
type pieces struct {
	words      string   // ralph's own, in the section of the assigned task
	quotations []string // in that section, without their marks
	elsewhere  string   // ralph's own words outside of it
}

// find returns the first block of a wanted language among the quotations. A
// block never goes on from one into the next, and one line, such as the task's
// title, holds none whatever it says.
func (p pieces) find(wanted func(language string) bool) (block, bool) {
	for _, q := range p.quotations {
		if strings.Count(q, "\n") < 2 {
			continue
		}
		if b, ok := first(q, wanted); ok {
			return b, true
		}
	}
	return block{}, false
}

// parts takes a prompt apart. The section goes from the first heading of its
// name to the next one of its level or a higher one; headings in ralph's own
// code blocks are none.
func parts(prompt string) pieces {
	var p pieces
	var words, elsewhere, quotation strings.Builder
	end := func() {
		if quotation.Len() > 0 {
			p.quotations = append(p.quotations, quotation.String())
			quotation.Reset()
		}
	}
	var f fence
	level, seen := 0, false
	for line := range strings.Lines(prompt) {
		if text, quoted := unquoted(line); quoted && !f.open() {
			if level > 0 {
				quotation.WriteString(text)
			}
			continue
		}
		end()
		if n, title := headingOf(line); n > 0 && !f.open() {
			switch {
			case !seen && strings.HasPrefix(title, heading):
				level, seen = n, true
			case n <= level:
				level = 0
			}
		}
		f.next(line)
		if level > 0 {
			words.WriteString(line)
		} else {
			elsewhere.WriteString(line)
		}
	}
	end()
	p.words, p.elsewhere = words.String(), elsewhere.String()
	return p
}

// unquoted takes the mark of a quotation off a line.
func unquoted(line string) (text string, quoted bool) {
	text, quoted = strings.CutPrefix(line, ">")
	return strings.TrimPrefix(text, " "), quoted
}

// headingOf returns the level and the text of a heading that begins with number
// signs, and 0 for any other line.
func headingOf(line string) (level int, title string) {
	indent, text := indentation(line)
	if indent > 3 {
		return 0, ""
	}
	title = strings.TrimLeft(text, "#")
	level = len(text) - len(title)
	if level == 0 || level > 6 || !strings.HasPrefix(title, " ") {
		return 0, ""
	}
	return level, strings.TrimSpace(title)
}
