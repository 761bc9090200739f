package shellagent

import (
	"strings"

	"ralph/internal/lazyregexp"
)

var (
	headingLine = lazyregexp.New(`^ {0,3}(#{1,6}) +(.*)`)
	fenceLine   = lazyregexp.New("^( {0,3})(`{3,}|~{3,})(.*)")
)

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
		if m := headingLine().FindStringSubmatch(line); m != nil && !f.open() {
			switch n := len(m[1]); {
			case !seen && strings.HasPrefix(m[2], heading):
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

// block is a fenced code block.
type block struct {
	language string
	text     string
	closed   bool
}

// first returns the first fenced code block whose language is wanted. Blocks
// inside other blocks are text, as in Markdown.
func first(text string, wanted func(language string) bool) (block, bool) {
	var f fence
	var body strings.Builder
	var b block
	for line := range strings.Lines(text) {
		was := f
		f.next(line)
		switch {
		case !was.open() && f.open():
			b.language = f.language
		case was.open() && !f.open():
			if wanted(b.language) {
				b.text, b.closed = body.String(), true
				return b, true
			}
		case was.open() && wanted(b.language):
			body.WriteString(outdented(line, was.indent))
		}
	}
	return b, f.open() && wanted(f.language)
}

// fence follows a text line by line and knows whether it is in a fenced code
// block, by the rules of CommonMark. The zero value is outside of one.
type fence struct {
	char     byte
	length   int
	indent   int
	language string
}

func (f fence) open() bool { return f.length > 0 }

func (f *fence) next(line string) {
	m := fenceLine().FindStringSubmatch(line)
	if m == nil {
		return
	}
	char, info := m[2][0], strings.Fields(strings.ToLower(m[3]))
	switch {
	case f.open():
		if char == f.char && len(m[2]) >= f.length && len(info) == 0 {
			*f = fence{}
		}
	case char == '~' || !strings.Contains(m[3], "`"): // else it would be a code span
		*f = fence{char: char, length: len(m[2]), indent: len(m[1])}
		if len(info) > 0 {
			f.language = info[0]
		}
	}
}

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
