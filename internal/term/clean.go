// Package term makes text fit for a terminal: cleaned, coloured, cut and
// aligned. It never decides what is said.
package term

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/mattn/go-runewidth"
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
	case unicode.IsControl(r), r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069,
		r == 0x200b, r == 0x2060, r == 0x200e, r == 0x200f, r == 0x061c, r == 0x2028, r == 0x2029, r == 0xfeff:
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

// Strip removes whole escape sequences: colours (ESC [ ... letter) and titles and
// links (ESC ] ... BEL or ESC \). Without their first byte, which Line and Block
// drop, the rest of them would litter the text.
func Strip(s string) string {
	at := strings.IndexByte(s, '\x1b')
	if at < 0 {
		return s
	}
	var b strings.Builder
	for at >= 0 {
		b.WriteString(s[:at])
		s = s[at+escape(s[at:]):]
		at = strings.IndexByte(s, '\x1b')
	}
	b.WriteString(s)
	return b.String()
}

// maxEscape is how long a sequence may be. What is longer is shown rather than
// swallowed.
const maxEscape = 4096

// escape measures the sequence at the start of s; what is none is one byte long.
func escape(s string) int {
	if len(s) < 2 {
		return 1
	}
	switch s[1] {
	case '[':
		for i := 2; i < min(len(s), maxEscape); i++ {
			if c := s[i]; c >= 0x40 && c <= 0x7e {
				return i + 1
			} else if c < 0x20 || c > 0x7e {
				return 1
			}
		}
	case ']':
		for i := 2; i < min(len(s), maxEscape); i++ {
			if s[i] == '\a' {
				return i + 1
			}
			if s[i] == '\x1b' && i+1 < len(s) && s[i+1] == '\\' {
				return i + 2
			}
			if s[i] == '\n' {
				return 1
			}
		}
	}
	return 1
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
