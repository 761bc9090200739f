// Package term makes text fit for a terminal: cleaned, coloured, cut and
// aligned. It never decides what is said.
package term

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"

	"ralph/internal/plain"
)

// Line makes any text one harmless line: control characters, line breaks and
// characters that reorder what is around them become visible or vanish.
func Line(s string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case '\n', '\r', '\t':
			return ' '
		default:
			return harmless(r)
		}
	}, strings.TrimSpace(s))
}

// Block cleans text but keeps its lines and tabs.
func Block(s string) string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return r
		}
		return harmless(r)
	}, s)
}

// harmless drops what moves the cursor, changes colours, hides or reorders text.
func harmless(r rune) rune {
	switch {
	case r == unicode.ReplacementChar:
		return '?'
	case unicode.IsControl(r), plain.IsInvisible(r), plain.IsLineEnd(r):
		return -1
	default:
		return r
	}
}

// Width is how many columns a cleaned line takes.
func Width(s string) int { return runewidth.StringWidth(s) }

// Cut shortens a cleaned line to at most width columns and marks that it did.
func Cut(s string, width int) string {
	if width <= 0 || runewidth.StringWidth(s) <= width {
		return s
	}
	return runewidth.Truncate(s, width, "…")
}

// Head keeps the first n characters of a line and all of its colours. It returns the n for what
// follows, below 0 for accents of the last letter, and how many characters it left out. No
// accent is parted from its letter.
func Head(s string, n int) (kept string, left, lost int) {
	if len(s) <= n && strings.IndexByte(s, '\x1b') < 0 {
		return s, n - utf8.RuneCountInString(s), 0
	}
	var b strings.Builder
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		if r == '\x1b' {
			size = max(size, escape(s))
		}
		switch {
		case r == '\x1b':
			b.WriteString(s[:size])
		case n > 0, n > -maxAccents && runewidth.RuneWidth(r) == 0:
			n--
			b.WriteString(s[:size])
		default:
			n, lost = -maxAccents, lost+1
		}
		s = s[size:]
	}
	return b.String(), n, lost
}

// maxAccents is how many of them a letter may have.
const maxAccents = 8

// Strip removes whole escape sequences: colours (ESC [ ... letter) and titles and
// links (ESC ] ... BEL or ESC \). Without their first byte, which Line and Block
// drop, the rest of them would litter the text. One that never ends is shown.
func Strip(s string) string {
	clean, rest := strip(s)
	for rest != "" {
		var more string
		more, rest = strip(rest[1:])
		clean += more
	}
	return clean
}

// strip returns as rest a sequence that the end of s cuts apart.
func strip(s string) (clean, rest string) {
	at := strings.IndexByte(s, '\x1b')
	if at < 0 {
		return s, ""
	}
	var b strings.Builder
	for at >= 0 {
		b.WriteString(s[:at])
		n := escape(s[at:])
		if n == 0 {
			return b.String(), s[at:]
		}
		s = s[at+n:]
		at = strings.IndexByte(s, '\x1b')
	}
	return b.String() + s, ""
}

// maxEscape is how long a sequence may be. What is longer is shown rather than
// swallowed.
const maxEscape = 4096

// escape measures the sequence at the start of s. What is none is one byte long; what may
// become one is 0 bytes long.
func escape(s string) int {
	for i := 1; i < min(len(s), maxEscape); i++ {
		c, colour, title := s[i], s[1] == '[', s[1] == ']'
		switch {
		case !colour && !title, c == '\n':
			return 1
		case i == 1:
		case colour && c >= 0x40 && c <= 0x7e, title && c == '\a', title && s[i-1] == '\x1b' && c == '\\':
			return i + 1
		case colour && (c < 0x20 || c > 0x7e):
			return 1
		}
	}
	if len(s) >= maxEscape {
		return 1
	}
	return 0
}

// Cleaner makes text harmless that comes in pieces, wherever they were cut.
type Cleaner struct {
	held string // the end of the last piece, which the next one may complete
}

// Add returns what can be shown of the text so far, cleaned as Strip and Block do.
func (c *Cleaner) Add(piece string) string {
	s, rest := strip(c.held + piece)
	if rest == "" { // a character may be cut apart
		whole := plain.Whole(s)
		s, rest = whole, s[len(whole):]
	}
	c.held = rest
	return Block(s)
}

// End returns what was held back.
func (c *Cleaner) End() string {
	s := Block(Strip(c.held))
	c.held = ""
	return s
}

// GateLines is how much of the output of a failed gate people see. The end says
// what failed; the whole output is in the gate's log.
const GateLines = 20

// Tail returns the last n lines of foreign text, cleaned and without empty lines,
// and how many lines before them it left out.
func Tail(s string, n int) (lines []string, before int) {
	for line := range strings.Lines(Block(Strip(strings.ToValidUTF8(s, "?")))) {
		if line = strings.TrimRight(strings.ReplaceAll(line, "\t", "    "), " \n"); line != "" {
			lines = append(lines, line)
		}
	}
	before = max(len(lines)-n, 0)
	return lines[before:], before
}

// MarkedTail is Tail with a first line that says that something was left out. It does
// not say how much: the text itself may be the end of a longer one.
func MarkedTail(s string, n int) []string {
	lines, before := Tail(s, n)
	if before == 0 {
		return lines
	}
	return append([]string{"… the last " + strconv.Itoa(len(lines)) + " lines"}, lines...)
}
