package render

import (
	"strings"

	"ralph/event"
	"ralph/internal/plain"
	"ralph/internal/term"
)

// maxLine is how much text without a line break is kept before it is shown anyway.
const maxLine = 4096

// speech puts together what an agent says from the pieces in which it comes.
type speech struct {
	thought bool // what is being said is thought, not said
	begun   bool
	clean   cleaner
	line    strings.Builder // the line that is not complete yet, when lines are wanted
}

// endsSpeech says that what an agent says after an event is not the continuation
// of what it said before. Agents send no line break around their tool calls.
func endsSpeech(e event.Event) bool {
	switch e.Type {
	case event.TaskClaimed, event.AgentTool, event.Prompted, event.GateStarted, event.VerifierStarted, event.VerifierEnded, event.AttemptEnded:
		return true
	default:
		return false
	}
}

// stream returns the part of a piece that can be shown at once. Empty lines
// before the first word are left out.
func (s *speech) stream(piece string) string {
	text := s.clean.add(piece)
	if !s.begun {
		text = strings.TrimLeft(text, "\n")
		s.begun = text != ""
	}
	return text
}

// lines passes on the lines that a piece completes, without the empty ones.
func (s *speech) lines(piece string, emit func(string)) {
	s.begun = true
	text := s.clean.add(piece)
	for {
		line, rest, complete := strings.Cut(text, "\n")
		s.keep(line, emit)
		if !complete {
			return
		}
		s.endLine(emit)
		text = rest
	}
}

// end passes on what was held back, and makes ready for something else.
func (s *speech) end(emit func(string)) {
	s.keep(s.clean.end(), emit)
	s.endLine(emit)
	s.begun = false
}

func (s *speech) keep(text string, emit func(string)) {
	for s.line.Len()+len(text) > maxLine {
		kept := plain.Head(text, maxLine-s.line.Len())
		s.line.WriteString(kept)
		text = text[len(kept):]
		s.endLine(emit)
	}
	s.line.WriteString(text)
}

func (s *speech) endLine(emit func(string)) {
	if line := strings.TrimRight(s.line.String(), " \t"); line != "" {
		emit(strings.ReplaceAll(line, "\t", "    "))
	}
	s.line.Reset()
}

// maxSequence is how long an escape sequence may be to be taken for one. What is
// longer is no colour, and is shown rather than swallowed.
const maxSequence = 32

// cleaner makes text harmless that comes in pieces, wherever they were cut.
type cleaner struct {
	held string // the end of the last piece, which the next one may complete
}

func (c *cleaner) add(piece string) string {
	s, rest := withoutColours(c.held + piece)
	if rest == "" {
		whole := plain.Whole(s)
		s, rest = whole, s[len(whole):]
	}
	c.held = rest
	return term.Block(s)
}

func (c *cleaner) end() string {
	s := term.Block(c.held)
	c.held = ""
	return s
}

// withoutColours removes whole sequences of the form ESC [ ... letter, which
// programs use for colours: without their first byte they would litter the text.
// A sequence that the end of s cuts apart is returned as rest.
func withoutColours(s string) (clean, rest string) {
	start := strings.IndexByte(s, '\x1b')
	if start < 0 {
		return s, ""
	}
	var b strings.Builder
	for start >= 0 {
		b.WriteString(s[:start])
		s = s[start:]
		n, whole := sequence(s)
		if !whole {
			return b.String(), s
		}
		s = s[n:]
		start = strings.IndexByte(s, '\x1b')
	}
	b.WriteString(s)
	return b.String(), ""
}

// sequence measures the escape sequence at the start of s. Anything but a colour
// is one byte long: the escape character itself.
func sequence(s string) (n int, whole bool) {
	if len(s) > 1 && s[1] != '[' {
		return 1, true
	}
	for i := 2; i < min(len(s), maxSequence); i++ {
		switch c := s[i]; {
		case c >= 0x40 && c <= 0x7e:
			return i + 1, true
		case c < 0x20 || c > 0x7e:
			return 1, true
		}
	}
	return 1, len(s) >= maxSequence
}
