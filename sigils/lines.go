package sigils

import "bytes"

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
	if !ok || indexClosing(body, t.name) >= 0 {
		return false
	}
	return s.top().accept(t, string(s.unbroken(body)), s.taskID)
}

// openBlock remembers a block whose end may be on a later line.
func (s *Scanner) openBlock(text, line []byte) bool {
	t, rest, ok := parseTag(text)
	if !ok || !t.block() || indexClosing(rest, t.name) >= 0 {
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
	n := len(b) - len("</>") - len(name)
	if n < 0 || b[len(b)-1] != '>' || b[n] != '<' || b[n+1] != '/' || string(b[n+2:len(b)-1]) != name {
		return nil, false
	}
	return b[:n], true
}

func indexClosing(b []byte, name string) int {
	for from := 0; ; {
		i := bytes.Index(b[from:], []byte("</"))
		if i < 0 {
			return -1
		}
		from += i + len("</")
		if bytes.HasPrefix(b[from:], []byte(name)) && bytes.HasPrefix(b[from+len(name):], []byte(">")) {
			return from - len("</")
		}
	}
}
