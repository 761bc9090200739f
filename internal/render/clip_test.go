package render

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"ralph/internal/event"
	"ralph/internal/term"
	"ralph/internal/testing/check"
)

// TestALongLineIsCutWhereverItIsShown: it comes in pieces, which may end in the middle of a
// character; the next line is whole.
func TestALongLineIsCutWhereverItIsShown(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("é", maxShown+345) + "\nnext line\n" + strings.Repeat("ü", maxShown+1)
	for name, tc := range map[string]struct {
		make func(Options) *Console
		jobs int
	}{"a terminal": {NewTerminal, 1}, "a terminal with several tasks": {NewTerminal, 2}, "a log": {NewPlain, 1}} {
		var out strings.Builder
		c := tc.make(Options{Out: &out, Palette: term.Palette{On: true}, Verbose: true, Now: time.Now})
		c.Event(event.Event{Type: event.RunStarted, Run: "r-1", Setup: &event.Setup{Jobs: tc.jobs}})
		for rest := text; rest != ""; rest = rest[min(len(rest), 333):] {
			c.Event(event.Event{Type: event.AgentText, Run: "r-1", Task: "t-1", Text: rest[:min(len(rest), 333)]})
		}
		c.Event(event.Event{Type: event.AgentTool, Run: "r-1", Task: "t-1", Tool: &event.Tool{ID: "1", Title: "look", New: true}})
		c.Event(event.Event{Type: event.Warned, Run: "r-1", Text: strings.Repeat("ö", maxShown+99)})
		check.OK(t, c.Close())
		got := strings.Join(strings.Fields(term.Strip(out.String())), " ")
		check.Equal(t, name+": é", maxShown, strings.Count(got, "é"))
		check.Equal(t, name+": ü", maxShown, strings.Count(got, "ü"))
		check.That(t, strings.Count(got, "ö") < maxShown, "%s: got all of the warning", name)
		check.Contains(t, name, "é … 345 more characters: ralph logs t-1 --full", got)
		check.Contains(t, name, "ü … 1 more character: ralph logs t-1 --full", got)
		check.Contains(t, name, "more characters: ralph logs r-1 --full", got)
		check.Contains(t, name, "next line", got)
	}
}

// TestAccentsAreNoWayPastTheEnd: a line comes in pieces that begin with them.
func TestAccentsAreNoWayPastTheEnd(t *testing.T) {
	t.Parallel()
	for name, piece := range map[string]string{"only accents": "\u0301\u0302", "and letters": "\u0301\u0302x"} {
		var c Clipper
		shown := c.Add(strings.Repeat("é", maxShown))
		for range 1000 {
			shown += c.Add(piece)
		}
		check.That(t, utf8.RuneCountInString(shown) <= maxShown+8, "%s: got %d characters", name, utf8.RuneCountInString(shown))
		check.Contains(t, name, "more characters: see all", c.End("see all"))
	}
}
