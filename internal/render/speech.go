package render

import (
	"slices"
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
	clean   term.Cleaner
	line    strings.Builder // the line that is not complete yet, when lines are wanted
}

// endsSpeech says that what an agent says after an event is not the continuation
// of what it said before. Agents send no line break around their tool calls.
func endsSpeech(e event.Event) bool {
	return slices.Contains([]event.Type{
		event.TaskClaimed, event.AgentTool, event.Prompted, event.GateStarted, event.VerifierStarted, event.VerifierEnded, event.AttemptEnded,
	}, e.Type)
}

// stream returns the part of a piece that can be shown at once. Empty lines
// before the first word are left out.
func (s *speech) stream(piece string) string {
	text := s.clean.Add(piece)
	if !s.begun {
		text = strings.TrimLeft(text, "\n")
		s.begun = text != ""
	}
	return text
}

// lines passes on the lines that a piece completes, without the empty ones.
func (s *speech) lines(piece string, emit func(string)) {
	s.begun = true
	text := s.clean.Add(piece)
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
	s.keep(s.clean.End(), emit)
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
