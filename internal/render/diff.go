package render

import "strings"

// Span is consecutive lines of a log that are marked alike.
type Span struct{ Tag, Text string } // ins, del, b, i, or none

// DiffSpans marks what was added and removed, not by colour alone: the signs stay.
func DiffSpans(text string) []Span {
	var spans []Span
	begin, end := 0, 0 // of the last span
	for line := range strings.Lines(text) {
		tag := ""
		switch {
		case strings.HasPrefix(line, "+++ "), strings.HasPrefix(line, "--- "), strings.HasPrefix(line, "diff "):
			tag = "b"
		case strings.HasPrefix(line, "@@"):
			tag = "i"
		case strings.HasPrefix(line, "+"):
			tag = "ins"
		case strings.HasPrefix(line, "-"):
			tag = "del"
		}
		if n := len(spans); n == 0 || spans[n-1].Tag != tag {
			spans, begin = append(spans, Span{Tag: tag}), end
		}
		end += len(line)
		spans[len(spans)-1].Text = text[begin:end]
	}
	return spans
}
