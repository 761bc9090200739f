package shellagent

import (
	"strings"

	"ralph/internal/lazyregexp"
	"ralph/internal/plain"
)

var headingLine = lazyregexp.New(`^ {0,3}(#{1,6}) +(.*)`)

// pieces is a prompt taken apart: what ralph itself says and what it quotes.
// Ralph quotes whatever it did not write, each line behind ">", so only a
// quotation in the section of the assigned task is a task's description.
type pieces struct {
	words      string   // ralph's own, in the section of the assigned task
	quotations []string // in that section, without their marks
	elsewhere  string   // ralph's own words outside of it
}

// find returns the first block of a wanted language among the quotations. A
// block never continues from one in the next, and one line, such as the task's
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
	var f plain.Fence
	level, seen := 0, false
	for line := range strings.Lines(prompt) {
		if text, quoted := unquoted(line); quoted && !f.Open() {
			if level > 0 {
				quotation.WriteString(text)
			}
			continue
		}
		end()
		if m := headingLine.Get().FindStringSubmatch(line); m != nil && !f.Open() {
			switch n := len(m[1]); {
			case !seen && strings.HasPrefix(m[2], heading):
				level, seen = n, true
			case n <= level:
				level = 0
			}
		}
		if indent(line) < 4 {
			f.Next(line)
		}
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

// block is a fenced code block.
type block struct {
	language string
	text     string
	closed   bool
}

// first returns the first fenced code block whose language is wanted. Blocks
// inside other blocks are text, as in Markdown.
func first(text string, wanted func(language string) bool) (block, bool) {
	var f plain.Fence
	var body strings.Builder
	var b block
	margin := 0 // of the block
	for line := range strings.Lines(text) {
		switch marked := indent(line) < 4 && f.Next(line); {
		case marked && f.Open():
			b.language, margin = f.Language, indent(line)
		case marked && wanted(b.language):
			b.text, b.closed = body.String(), true
			return b, true
		case f.Open() && wanted(b.language):
			body.WriteString(outdented(line, margin))
		}
	}
	return b, f.Open() && wanted(f.Language)
}

// indent is how many spaces a line begins with; a line with four of them is no fence.
func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// outdented removes as many leading spaces as the opening fence had, and the
// carriage return of a file from Windows, which a shell would take for a part
// of the command.
func outdented(line string, n int) string {
	for n > 0 && strings.HasPrefix(line, " ") {
		line, n = line[1:], n-1
	}
	if rest, ok := strings.CutSuffix(line, "\r\n"); ok {
		return rest + "\n"
	}
	return line
}
