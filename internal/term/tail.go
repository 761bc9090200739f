package term

import (
	"strings"

	"ralph/internal/human"
)

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

// MarkedTail is Tail with a first line that says how much was left out.
func MarkedTail(s string, n int) []string {
	lines, before := Tail(s, n)
	if before == 0 {
		return lines
	}
	return append([]string{"… " + human.Count(before, "line") + " before this"}, lines...)
}
