package sigils

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

	column := indent
	text, column = s.enterItems(text, column)
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
func isPlain(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' || c >= 0x80 }

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
	if c != '-' && c != '*' && c != '_' && c != '=' {
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
	return marks >= 3 && c != '=' || blanks == 0 && (c == '-' || c == '=')
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
	case '0' <= c && c <= '9':
		for n < len(text) && n < 9 && '0' <= text[n] && text[n] <= '9' {
			n++
		}
		if n == len(text) || text[n] != '.' && text[n] != ')' || para && string(text[:n]) != "1" {
			return 0
		}
		n++
	default:
		return 0
	}
	if n < len(text) && text[n] != ' ' && text[n] != '\t' {
		return 0
	}
	return n
}
