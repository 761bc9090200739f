package render

import (
	"strings"
	"unicode/utf8"

	"ralph/internal/term"
)

// maxSequence is how long an escape sequence may be to be taken for one. What is
// longer is no colour, and is shown rather than swallowed.
const maxSequence = 32

// cleaner makes text harmless that comes in pieces, wherever they were cut.
type cleaner struct {
	held string // the end of the last piece, which the next one may complete
}

func (c *cleaner) add(piece string) string {
	s, rest := withoutColours(c.held + piece)
	if rest == "" {
		cut := completeRunes(s)
		s, rest = s[:cut], s[cut:]
	}
	c.held = rest
	return term.Block(s)
}

func (c *cleaner) end() string {
	s := term.Block(c.held)
	c.held = ""
	return s
}

// completeRunes is where the character begins that the end of s cuts apart, or
// len(s).
func completeRunes(s string) int {
	for i := len(s) - 1; i >= max(0, len(s)-utf8.UTFMax); i-- {
		if utf8.RuneStart(s[i]) {
			if !utf8.FullRuneInString(s[i:]) {
				return i
			}
			break
		}
	}
	return len(s)
}

// withoutColours removes whole sequences of the form ESC [ ... letter, which
// programs use for colours: without their first byte they would litter the text.
// A sequence that the end of s cuts apart is returned as rest.
func withoutColours(s string) (clean, rest string) {
	start := strings.IndexByte(s, '\x1b')
	if start < 0 {
		return s, ""
	}
	var b strings.Builder
	for start >= 0 {
		b.WriteString(s[:start])
		s = s[start:]
		n, whole := sequence(s)
		if !whole {
			return b.String(), s
		}
		s = s[n:]
		start = strings.IndexByte(s, '\x1b')
	}
	b.WriteString(s)
	return b.String(), ""
}

// sequence measures the escape sequence at the start of s. Anything but a colour
// is one byte long: the escape character itself.
func sequence(s string) (n int, whole bool) {
	if len(s) > 1 && s[1] != '[' {
		return 1, true
	}
	for i := 2; i < min(len(s), maxSequence); i++ {
		switch c := s[i]; {
		case c >= 0x40 && c <= 0x7e:
			return i + 1, true
		case c < 0x20 || c > 0x7e:
			return 1, true
		}
	}
	return 1, len(s) >= maxSequence
}
