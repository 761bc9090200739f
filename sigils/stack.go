package sigils

// maxOpen bounds what may be open at once; the outermost gives way.
const maxOpen = 16

// open is something that was opened and may yet be closed: a block sigil, a code
// span or an inline comment. Until then nobody knows whether the sigils that
// follow it are real or part of it, so they are kept with it: closing it throws
// them away, and giving it up hands them down. That is what makes scanning linear
// although an opening without an end is plain text.
type open struct {
	tag     tag // a block, unless its name is empty
	ticks   int // a code span opened by that many backticks
	comment bool

	body  []byte // of a block
	full  bool   // the body was cut
	found found
}

// addToBody appends a line, within bounds and without half a rune.
func (o *open) addToBody(line []byte) {
	if o.tag.name == "" || o.full {
		return
	}
	if len(o.body) > 0 {
		o.body = append(o.body, '\n')
	}
	if room := maxBody - len(o.body); len(line) > room {
		line = cut(line, room)
		o.full = true
	}
	o.body = append(o.body, line...)
}

func (s *Scanner) addToBodies(line []byte) {
	if len(s.stack) == 0 {
		return
	}
	line = s.unbroken(line)
	for i := range s.stack {
		s.stack[i].addToBody(line)
	}
}

// top is where sigils found now belong.
func (s *Scanner) top() *found { return s.below(len(s.stack)) }

// below is what the i-th open thing hands down to.
func (s *Scanner) below(i int) *found {
	if i == 0 {
		return &s.base
	}
	return &s.stack[i-1].found
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
	s.below(i).merge(&s.stack[i].found)
	copy(s.stack[i:], s.stack[i+1:])
	s.drop(len(s.stack) - 1)
}

// endParagraph gives up code spans and inline comments: they do not reach beyond
// a paragraph.
func (s *Scanner) endParagraph() {
	s.para = false
	for i := len(s.stack) - 1; i >= 0; i-- {
		if s.stack[i].tag.name == "" {
			s.giveUp(i)
		}
	}
}
