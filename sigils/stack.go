package sigils

import (
	"bytes"
	"slices"

	"ralph/internal/plain"
)

// maxOpen bounds what may be open at once; the outermost gives way.
const maxOpen = 16

// open is something that was opened and may yet be closed: a block sigil, a code
// span or an inline comment. Until then nobody knows whether the sigils that
// follow it are real or part of it, so they are kept with it: closing it throws
// them away, and giving it up hands them down. That is what makes scanning linear
// although an opening without an end is plain text. It is small, because there are
// many code spans, and hardly ever a sigil in one.
type open struct {
	block   *block // nil unless it is a block sigil
	ticks   int    // a code span opened by that many backticks
	comment bool
	found   *found // nil means nothing
}

type block struct {
	tag  tag
	body []byte
	full bool // the body was cut
}

func (o open) clone() open {
	if o.block != nil {
		b := *o.block
		o.block = &b
	}
	if o.found != nil {
		f := *o.found
		o.found = &f
	}
	return o
}

// addToBody appends a line, within bounds and without half a rune.
func (b *block) addToBody(line []byte) {
	if b.full {
		return
	}
	if len(b.body) > 0 {
		b.body = append(b.body, '\n')
	}
	if room := maxBody - len(b.body); len(line) > room {
		line = plain.Head(line, room)
		b.full = true
	}
	b.body = append(b.body, line...)
}

func (s *Scanner) addToBodies(line []byte) {
	if len(s.stack) == 0 {
		return
	}
	line = s.unbroken(line)
	for i := range s.stack {
		if b := s.stack[i].block; b != nil {
			b.addToBody(line)
		}
	}
}

// top is where sigils found now belong.
func (s *Scanner) top() *found { return s.below(len(s.stack)) }

// below is what the i-th open thing hands down to.
func (s *Scanner) below(i int) *found {
	if i == 0 {
		return &s.base
	}
	o := &s.stack[i-1]
	if o.found == nil {
		o.found = &found{}
	}
	return o.found
}

func (s *Scanner) push(o open) {
	if len(s.stack) == maxOpen {
		s.giveUp(0)
	}
	s.stack = append(s.stack, o)
}

// drop removes the i-th open thing and all within it, with what they hold.
func (s *Scanner) drop(i int) {
	clear(s.stack[i:]) // lets go of the bodies
	s.stack = s.stack[:i]
}

// giveUp treats the i-th open thing as the plain text it turned out to be.
func (s *Scanner) giveUp(i int) {
	if f := s.stack[i].found; f != nil {
		s.below(i).merge(f)
	}
	copy(s.stack[i:], s.stack[i+1:])
	s.drop(len(s.stack) - 1)
}

// endParagraph gives up code spans and inline comments: they do not reach beyond
// a paragraph.
func (s *Scanner) endParagraph() {
	s.para = false
	for i := len(s.stack) - 1; i >= 0; i-- {
		if s.stack[i].block == nil {
			s.giveUp(i)
		}
	}
}

// scanInline follows code spans, comments and thoughts through a paragraph. A run of
// backticks opens a span that the next run of the same length closes; until then
// it may as well be plain text, hence the stack.
func (s *Scanner) scanInline(b []byte) {
	markup := s.hasMarkup(b)
	for i := 0; ; {
		n := bytes.IndexByte(b[i:], '`')
		if markup { // few lines have any
			n = bytes.IndexAny(b[i:], "`<-")
		}
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
		case s.inCode():
			n = 1
		default:
			n = max(s.think(b[i:]), 1)
			if s.thought {
				end := thoughtEnd(b[i:])
				if end < 0 {
					return
				}
				n, s.thought = end, false
			}
		}
		i += n
	}
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
	for i, o := range slices.Backward(s.stack) {
		if o.ticks == n {
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
	return slices.IndexFunc(s.stack, func(o open) bool { return o.comment })
}

func runLength[T string | []byte](b T, c byte) int {
	n := 0
	for n < len(b) && b[n] == c {
		n++
	}
	return n
}
