package render

import (
	"strings"
	"testing"

	"ralph/internal/term"
)

// TestATerminalBreaksNoWord has terminals of several widths: no line but a single word is wider than they are.
func TestATerminalBreaksNoWord(t *testing.T) {
	t.Parallel()
	for _, width := range []int{40, 60, 80, 120} {
		for _, verbose := range []bool{false, true} {
			opts := Options{Width: func() int { return width }, Palette: term.Palette{On: true}, Verbose: verbose}
			shown := rendered(t, func(o Options) Sink { return NewTerminal(o) }, opts, sampleRun())
			for line := range strings.Lines(shown) {
				line = strings.TrimRight(term.Strip(line), "\n")
				if term.Width(line) > width && len(strings.Fields(line)) > 1 && !strings.HasPrefix(line, "── ") {
					t.Errorf("on %d columns %q is too wide", width, line)
				}
			}
		}
	}
}
