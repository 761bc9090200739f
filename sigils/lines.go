package sigils

import (
	"bytes"
	"strings"
)

// scanLine looks at one line, once. A complete sigil comes before the end of an
// open block, and that before a new opening: a line that is both belongs to what
// is already there.
func (s *Scanner) scanLine(b []byte) {
	b = trimBlanks(b)
	text, at := s.place(b)
	tagged := at == own && text[0] == '<'
	switch {
	case at == hidden:
		s.addToBodies(b)
	case tagged && s.takeSigil(text):
		s.addToBodies(b)
	case s.closeBlock(b):
	case tagged && s.openBlock(text, b):
	default:
		s.addToBodies(b)
		s.scanInline(text)
	}
	if at == heading {
		s.endParagraph()
	}
}

// trimBlanks is bytes.TrimRight without its set, because it sees every line.
func trimBlanks(b []byte) []byte {
	for len(b) > 0 && (b[len(b)-1] == ' ' || b[len(b)-1] == '\t' || b[len(b)-1] == '\r') {
		b = b[:len(b)-1]
	}
	return b
}

// takeSigil accepts a sigil that begins and ends on this line.
func (s *Scanner) takeSigil(text []byte) bool {
	t, rest, ok := parseTag(text)
	if !ok {
		return false
	}
	if t.empty {
		return len(rest) == 0 && s.top().accept(t, "", s.taskID)
	}
	body, ok := trimClosing(rest, t.name)
	if !ok || hasClosing(body, t.name) {
		return false
	}
	return s.top().accept(t, string(s.unbroken(body)), s.taskID)
}

// openBlock remembers a block whose end may be on a later line.
func (s *Scanner) openBlock(text, line []byte) bool {
	t, rest, ok := parseTag(text)
	if !ok || !t.block() || hasClosing(rest, t.name) {
		return false
	}
	s.addToBodies(line)
	b := &block{tag: t}
	b.addToBody(s.unbroken(rest))
	s.push(open{block: b})
	s.scanInline(rest)
	return true
}

// closeBlock ends the innermost block whose closing tag ends the line. Whatever
// was found inside is the block's body and counts for nothing, even if the block
// itself turns out to be malformed.
func (s *Scanner) closeBlock(line []byte) bool {
	for i := len(s.stack) - 1; i >= 0; i-- {
		b := s.stack[i].block
		if b == nil {
			continue
		}
		rest, ok := trimClosing(line, b.tag.name)
		if !ok {
			continue
		}
		b.addToBody(s.unbroken(rest))
		s.drop(i)
		s.top().accept(b.tag, string(b.body), s.taskID)
		s.addToBodies(line)
		return true
	}
	return false
}

func trimClosing(b []byte, name string) ([]byte, bool) {
	return bytes.CutSuffix(b, []byte("</"+name+">"))
}

func hasClosing(b []byte, name string) bool { return bytes.Contains(b, []byte("</"+name+">")) }

// scanLines looks at whole lines, each with its end. Most of what agents say changes
// nothing but whether a paragraph or a list goes on; such lines are told by how they
// begin, and by marks that are looked for in all lines at once.
func (s *Scanner) scanLines(text string) {
	m := marks{text: text, tick: -1, less: -1}
	for at := 0; at < len(text); {
		if at = s.skipCode(&m, at); at == len(text) {
			return
		}
		end := at + strings.IndexByte(text[at:], '\n')
		if !s.skip(&m, at, end) {
			s.keep(text[at:end])
			s.endLine()
		}
		at = end + 1
	}
}

// skipCode returns the beginning of the next line that could end the fence, if
// there is one and nothing else is open.
func (s *Scanner) skipCode(m *marks, at int) int {
	if s.fence.length == 0 || len(s.stack) > 0 {
		return at
	}
	m.tick = nextByte(m.text, m.tick, at, '`')
	next := m.tick
	if s.fence.char != '`' {
		next = nextByte(m.text, -1, at, s.fence.char)
	}
	return at + strings.LastIndexByte(m.text[at:next], '\n') + 1
}

// skip does for a line what scanLine would, if that is next to nothing. What it is
// not sure of it leaves to scanLine.
func (s *Scanner) skip(m *marks, at, end int) bool {
	if len(s.stack) > 0 || s.until != "" || s.fence.length > 0 {
		return false
	}
	if at == end {
		s.para = false
		return true
	}
	line, item := m.text[at:end], false
	if len(line) > 2 && line[0] == '-' && line[1] == ' ' {
		line, item = line[2:], true
	}
	if !isPlain(line[0]) && line[0] != '`' || !m.harmless(at, end) {
		return false
	}
	s.list, s.para = item, true
	return true
}

// marks knows where the next backtick and the next < are. Each byte is searched once.
type marks struct {
	text       string
	tick, less int
}

// harmless says that a line has no < and closes every code span that it opens.
func (m *marks) harmless(at, end int) bool {
	m.less = nextByte(m.text, m.less, at, '<')
	m.tick = nextByte(m.text, m.tick, at, '`')
	if m.less < end {
		return false
	}
	for m.tick < end {
		length, ok := m.run(end)
		if !ok {
			return false
		}
		for inner, other := 0, 0; other != length; inner++ {
			if inner == maxOpen/2 || m.tick >= end {
				return false
			}
			if other, ok = m.run(end); !ok {
				return false
			}
		}
	}
	return true
}

// run takes the next run of backticks, unless a backslash stands before it.
func (m *marks) run(end int) (length int, ok bool) {
	if m.tick > 0 && m.text[m.tick-1] == '\\' {
		return 0, false
	}
	length = runLength(m.text[m.tick:end], '`')
	m.tick = nextByte(m.text, m.tick, m.tick+length, '`')
	return length, true
}

// nextByte is where c is next, at or after at; known is what it was before.
func nextByte(text string, known, at int, c byte) int {
	if known >= at {
		return known
	}
	if i := strings.IndexByte(text[at:], c); i >= 0 {
		return at + i
	}
	return len(text)
}
