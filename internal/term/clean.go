// Package term makes text fit for a terminal: cleaned, coloured, cut and
// aligned. It never decides what is said.
package term

import (
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
