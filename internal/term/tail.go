package term

import (
	"strconv"
	"strings"
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

// MarkedTail is Tail with a first line that says that something was left out. It does
// not say how much: the text itself may be the end of a longer one.
func MarkedTail(s string, n int) []string {
	lines, before := Tail(s, n)
	if before == 0 {
		return lines
	}
	return append([]string{"… the last " + strconv.Itoa(len(lines)) + " lines"}, lines...)
}
