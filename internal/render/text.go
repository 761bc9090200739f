package render

import (
	"strings"

	"ralph/internal/term"
)

// Line makes foreign text one harmless line.
func Line[S ~string](s S) string { return strings.Join(strings.Fields(Block(string(s))), " ") }

// Block makes foreign text harmless and keeps its lines.
func Block(s string) string {
	return strings.ReplaceAll(term.Block(term.Strip(strings.ToValidUTF8(s, "?"))), "\t", "    ")
}

// First parts the first line of foreign text from the rest.
func First(s string) (first, rest string) {
	first, rest, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return Line(first), rest
}

// with joins a sentence and foreign text that may follow a colon.
func with(s, foreign string) string {
	if foreign = Line(foreign); foreign != "" {
		return s + ": " + foreign
	}
	return s
}

// or returns the first value that is more than space.
func or(values ...string) string {
	for _, v := range values {
		if strings.TrimSpace(v) != "" {
			return v
		}
	}
	return ""
}
