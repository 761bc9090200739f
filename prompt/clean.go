package prompt

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"ralph/internal/lazyregexp"
	"ralph/internal/plain"
)

// clean returns text that is only text: valid UTF-8, lines ended by \n, no
// terminal escapes, no control characters but tabs, nothing invisible that can
// reorder or hide what a person would read.
func clean(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == '\x1b':
			n = escapeLength(text[i:])
		case r == '\r' && strings.HasPrefix(text[i+1:], "\n"):
		case plain.IsLineEnd(r):
			b.WriteByte('\n')
		case r == '\t' || !unicode.IsControl(r) && !plain.IsInvisible(r):
			b.WriteRune(r)
		}
		i += n
	}
	return b.String()
}

// escapeLength returns the length of the terminal escape that s begins with.
func escapeLength(s string) int {
	if len(s) < 2 {
		return len(s)
	}
	switch s[1] {
	case '[':
		for i := 2; i < len(s); i++ {
			if s[i] < 0x20 || s[i] > 0x3f {
				if 0x40 <= s[i] && s[i] <= 0x7e {
					return i + 1
				}
				return i
			}
		}
		return len(s)
	case ']':
		if i := strings.IndexAny(s, "\a\n"); i > 0 {
			return i
		}
	}
	return 1
}

// oneLine joins lines and collapses blanks.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// breakVerdicts keeps foreign text from passing a worker's prompt off as a
// verifier's: the two are told apart by these words. Other words with the same
// beginning, such as the name of a file, stay as they are.
func breakVerdicts(text string) string { return verdictPattern().ReplaceAllString(text, "$1\u2011$2") }

var verdictPattern = lazyregexp.New(`(?i)(verify)-(pass|fail)`)

// cleanID keeps what IDs are made of.
func cleanID(id string) string {
	id = strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r == '.' || '0' <= r && r <= '9' || 'a' <= r|0x20 && r|0x20 <= 'z' && r < 0x80 {
			return r
		}
		return -1
	}, id)
	return id[:min(len(id), 64)]
}
