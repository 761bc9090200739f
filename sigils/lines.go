package sigils

import "bytes"

// scanLine looks at one line, once. A complete sigil comes before the end of an
// open block, and that before a new opening: a line that is both belongs to what
// is already there.
func (s *Scanner) scanLine(b []byte) {
	b, said := s.withoutThoughts(bytes.TrimRight(b, " \t\r"))
	if !said {
		return
	}
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
