// Package plain knows what plain text is: where it may be cut, what ends a line, and which
// characters nobody sees.
package plain

import (
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Head returns at most n bytes from the beginning without half a rune.
func Head[T string | []byte](s T, n int) T {
	if len(s) <= n {
		return s
	}
	n = max(n, 0)
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// Cut is Head with an ellipsis, where there is more.
func Cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return Head(s, n-len("…")) + "…"
}

// OneLine returns the words of a text with one blank between them.
func OneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// Brief is a text as it stands within a sentence or a title: on one line, and no more than fits there.
func Brief(s string) string { return Cut(OneLine(s), 120) }

// Excerpt is a text as it stands on a line of its own: more than fits there is what nobody reads.
func Excerpt(s string) string { return Cut(OneLine(s), 300) }

// Tail returns at most n bytes from the end without half a rune.
func Tail(s string, n int) string {
	i := max(0, len(s)-max(n, 0))
	for i < len(s) && !utf8.RuneStart(s[i]) {
		i++
	}
	return s[i:]
}

// FileTail returns at most n bytes from the end of a file, whatever its size.
func FileTail(path string, n int64) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	data, err := io.ReadAll(io.NewSectionReader(f, max(info.Size()-n, 0), n))
	return string(data), err
}

// Indent sets the lines of a text that are not blank off by two spaces, each ended by a line break.
func Indent(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, " \t\n"); line != "" {
			b.WriteString("  " + line + "\n")
		}
	}
	return b.String()
}

// Whole returns s without the rune that its end cuts apart.
func Whole[T string | []byte](s T) T {
	for i := len(s) - 1; i >= max(0, len(s)-utf8.UTFMax); i-- {
		if utf8.RuneStart(s[i]) {
			if !utf8.FullRuneInString(string(s[i:])) {
				return s[:i]
			}
			break
		}
	}
	return s
}

// Camel returns s with a blank wherever a capital follows a small letter.
func Camel(s string) string {
	var b strings.Builder
	before := ' '
	for _, r := range s {
		if unicode.IsLower(before) && unicode.IsUpper(r) {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
		before = r
	}
	return b.String()
}

// IsLineEnd includes what only some programs take for the end of a line.
func IsLineEnd(r rune) bool {
	switch r {
	case '\n', '\v', '\f', '\r', '\u0085', '\u2028', '\u2029':
		return true
	}
	return false
}

// IsInvisible names bidirectional controls, zero-width characters, soft hyphens, tags and
// supplementary variation selectors: they reorder or hide what a person reads. The joiners
// are not among them, because scripts and emoji need them.
func IsInvisible(r rune) bool {
	return unicode.Is(invisible, r)
}

var invisible = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x00ad, 0x00ad, 1}, {0x061c, 0x061c, 1}, {0x200b, 0x200b, 1}, {0x200e, 0x200f, 1}, {0x202a, 0x202e, 1}, {0x2060, 0x206f, 1}, {0xfeff, 0xfeff, 1},
	},
	R32:         []unicode.Range32{{0xe0000, 0xe0fff, 1}},
	LatinOffset: 1,
}
