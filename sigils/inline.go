package sigils

import "bytes"

// scanInline follows code spans and comments through a paragraph. A run of
// backticks opens a span that the next run of the same length closes; until then
// it may as well be plain text, hence the stack.
func (s *Scanner) scanInline(b []byte) {
	comments := s.hasComments(b)
	for i := 0; ; {
		n := nextMark(b[i:], comments)
		if n < 0 {
			return
		}
		i += n
		switch {
		case b[i] == '`':
			n = runLength(b[i:], '`')
			s.ticks(n, isEscaped(b, i))
		case bytes.HasPrefix(b[i:], []byte("<!--")):
			n = len("<!--")
			if s.commentIndex() < 0 {
				s.push(open{comment: true})
			}
		case bytes.HasPrefix(b[i:], []byte("-->")):
			n = len("-->")
			if c := s.commentIndex(); c >= 0 {
				s.drop(c)
			}
		default:
			n = 1
		}
		i += n
	}
}

// nextMark finds the next byte worth a look. Few lines have comments, so the
// usual line is searched for backticks only.
func nextMark(b []byte, comments bool) int {
	if comments {
		return bytes.IndexAny(b, "`<-")
	}
	return bytes.IndexByte(b, '`')
}

func (s *Scanner) hasComments(b []byte) bool {
	i := bytes.IndexByte(b, '<') // most lines have none
	return i >= 0 && bytes.Contains(b[i:], []byte("<!--")) ||
		len(s.stack) > 0 && s.commentIndex() >= 0 && bytes.Contains(b, []byte("-->"))
}

func isEscaped(b []byte, i int) bool {
	n := 0
	for n < i && b[i-1-n] == '\\' {
		n++
	}
	return n%2 == 1
}

// ticks handles a run of n backticks. A backslash before it takes the first one
// away from an opening, but inside a span a backslash means nothing.
func (s *Scanner) ticks(n int, escaped bool) {
	for i := len(s.stack) - 1; i >= 0; i-- {
		if s.stack[i].ticks == n {
			s.drop(i)
			return
		}
	}
	if escaped {
		n--
	}
	if n > 0 {
		s.push(open{ticks: n})
	}
}

func (s *Scanner) commentIndex() int {
	for i := range s.stack {
		if s.stack[i].comment {
			return i
		}
	}
	return -1
}

func runLength[T string | []byte](b T, c byte) int {
	n := 0
	for n < len(b) && b[n] == c {
		n++
	}
	return n
}
