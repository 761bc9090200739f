package sigils

import (
	"bytes"
	"strings"

	"ralph/internal/plain"
)

type role int

const (
	hidden  role = iota // quoted, code or blank: nothing
	inside              // text that does not begin at the margin: it may close a block
	heading             // the same, a paragraph by itself
	own                 // text at the margin: it may also be or begin a sigil
)

// place finds out where a line stands in the Markdown around it and returns its
// text without indentation. It follows CommonMark, and where agents are sloppier
// than CommonMark it sides with hiding: a lost sigil costs one question, an
// invented one costs a task.
func (s *Scanner) place(line []byte) ([]byte, role) {
	text, indent := trimIndent(line)
	switch {
	case s.fence.length > 0:
		s.fence.next(text, indent)
		return nil, hidden
	case s.until != "":
		if containsFold(text, s.until) {
			s.until = ""
		}
		return nil, hidden
	case len(text) == 0:
		s.endParagraph()
		return nil, hidden
	case indent > 3 && !s.list:
		if s.para {
			return text, inside
		}
		return nil, hidden
	case indent == 0 && isPlain(text[0]):
		s.list, s.para = false, true
		return text, own
	case isRule(text):
		s.endParagraph()
		s.list = s.list && indent > 1
		return nil, hidden
	}

	text, column := s.enterItems(text, indent)
	item := column > indent
	if !item && indent < 2 {
		s.list = false
	}
	if s.startsHidden(text, column) {
		return nil, hidden
	}
	if item || s.list && indent > 1 {
		s.para = true
		return text, inside
	}
	if text[0] == '#' {
		s.endParagraph()
		return text, heading
	}
	s.para = true
	return text, own
}

// isPlain says that a line which begins with c is a line of a paragraph: the cases
// below have nothing to say about it.
func isPlain(c byte) bool { return plain.IsLetter(c) || c >= 0x80 }

// enterItems skips the list markers a line begins with.
func (s *Scanner) enterItems(text []byte, column int) ([]byte, int) {
	for {
		n := markerLength(text, s.para && !s.list)
		if n == 0 {
			return text, column
		}
		s.endParagraph()
		s.list = true
		for n < len(text) && (text[n] == ' ' || text[n] == '\t') {
			n++
		}
		column += n
		text = text[n:]
	}
}

// startsHidden handles lines that hide themselves or what follows.
func (s *Scanner) startsHidden(text []byte, column int) bool {
	if len(text) == 0 {
		return true
	}
	switch text[0] {
	case '>':
		s.endParagraph()
		return true
	case '`', '~':
		f, ok := openFence(text, column, s.list)
		if ok {
			s.endParagraph()
			s.fence = f
		}
		return ok
	case '<':
		end := htmlEnd(text)
		if end == "" || containsFold(text[2:], end) {
			return false
		}
		s.endParagraph()
		s.until = end
		return true
	}
	return false
}

func trimIndent(line []byte) ([]byte, int) {
	column := 0
	for i, c := range line {
		switch c {
		case ' ':
			column++
		case '\t':
			column += 4 - column%4
		default:
			return line[i:], column
		}
	}
	return nil, column
}

// isRule recognises thematic breaks and underlines of headings.
func isRule(text []byte) bool {
	c := text[0]
	if strings.IndexByte("-*_=", c) < 0 {
		return false
	}
	marks, blanks := 0, 0
	for _, b := range text {
		switch b {
		case c:
			marks++
		case ' ', '\t':
			blanks++
		default:
			return false
		}
	}
	underlines := blanks == 0 && strings.IndexByte("-=", c) >= 0
	return underlines || marks >= 3 && c != '='
}

// markerLength returns the length of the list marker text begins with, or 0. In a
// paragraph only a list that begins with 1 is one.
func markerLength(text []byte, para bool) int {
	if len(text) == 0 {
		return 0
	}
	n := 0
	switch c := text[0]; {
	case c == '-' || c == '+' || c == '*':
		n = 1
	case plain.IsDigit(c):
		for n < len(text) && n < 9 && plain.IsDigit(text[n]) {
			n++
		}
		if n == len(text) || strings.IndexByte(".)", text[n]) < 0 {
			return 0
		}
		if para && string(text[:n]) != "1" {
			return 0
		}
		n++
	default:
		return 0
	}
	if n < len(text) && !isBlank(text[n]) {
		return 0
	}
	return n
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

// fence is an open code fence; the zero fence is none.
type fence struct {
	char   byte
	length int
	indent int // the deepest column its end may have
	depth  int // fences opened inside it
}

// openFence reads the beginning of a fence. In a list its end may be as far
// inside as the item is.
func openFence(text []byte, column int, list bool) (fence, bool) {
	f := fence{char: text[0], length: runLength(text, text[0]), indent: 3}
	if f.length < 3 || f.char == '`' && bytes.IndexByte(text[f.length:], '`') >= 0 {
		return fence{}, false
	}
	if list {
		f.indent += column
	}
	return f, true
}

// next looks at a line inside the fence and ends the fence if the line does.
// Agents put fences into fences of the same length when they quote Markdown; by
// CommonMark the inner end would end the outer one and the rest would be text. So
// a line that opens a fence with a language is counted, and its end is not ours.
func (f *fence) next(text []byte, indent int) {
	n := runLength(text, f.char)
	switch {
	case n < f.length || indent > f.indent:
	case len(text) > n && allOf(string(text[n:]), "_-+.#"): // a language
		f.depth++
	case len(text) > n:
	case f.depth > 0:
		f.depth--
	default:
		*f = fence{}
	}
}

// htmlEnd returns what ends the hidden HTML that text begins, or "". Comments and
// raw elements hide as CommonMark says; other elements that quote do so only if
// the tag is alone on its line, because prose may begin with one.
func htmlEnd(text []byte) string {
	if bytes.HasPrefix(text, []byte("<!--")) {
		return "-->"
	}
	if bytes.HasPrefix(text, []byte("<![CDATA[")) {
		return "]]>"
	}
	n := 1
	for n < len(text) && plain.IsLetter(text[n]) {
		n++
	}
	if n == 1 || n > len("<blockquote") {
		return ""
	}
	if n < len(text) && text[n] != '>' && !isBlank(text[n]) {
		return ""
	}
	alone := bytes.IndexByte(text, '>') == len(text)-1
	switch name := string(bytes.ToLower(text[1:n])); name {
	case "pre", "script", "style", "textarea":
		return "</" + name + ">"
	case "blockquote", "code", "example", "prompt", "quote", "samp", "xmp":
		if alone {
			return "</" + name + ">"
		}
	}
	return ""
}

// containsFold looks for sub, which is lower case, in any case.
func containsFold(b []byte, sub string) bool { return bytes.Contains(bytes.ToLower(b), []byte(sub)) }
