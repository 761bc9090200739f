package render

import (
	"slices"
	"strings"

	"ralph/internal/event"
	"ralph/internal/term"
)

// speech puts together what an agent says from the pieces in which it comes.
type speech struct {
	thought bool // what is being said is thought, not said
	begun   bool
	clean   term.Cleaner
	line    strings.Builder // the line that is not complete yet, when lines are wanted
	clip    Clipper         // of it
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
func (s *speech) stream(piece, all string) string {
	text := s.clean.Add(piece)
	if !s.begun {
		text = strings.TrimLeft(text, "\n")
		s.begun = text != ""
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		line, complete := strings.CutSuffix(line, "\n")
		b.WriteString(s.clip.Add(line))
		if complete {
			b.WriteString(s.clip.End(all) + "\n")
		}
	}
	return b.String()
}

// lines passes on the lines that a piece completes, without the empty ones.
func (s *speech) lines(piece, all string, emit func(string)) {
	s.begun = true
	text := s.clean.Add(piece)
	for {
		line, rest, complete := strings.Cut(text, "\n")
		s.line.WriteString(s.clip.Add(line))
		if !complete {
			return
		}
		s.endLine(all, emit)
		text = rest
	}
}

// end passes on what was held back, and makes ready for something else.
func (s *speech) end(all string, emit func(string)) {
	s.line.WriteString(s.clip.Add(s.clean.End()))
	s.endLine(all, emit)
	s.begun = false
}

func (s *speech) endLine(all string, emit func(string)) {
	if line := strings.TrimRight(s.line.String(), " \t") + s.clip.End(all); line != "" {
		emit(strings.ReplaceAll(line, "\t", "    "))
	}
	s.line.Reset()
}

func (c *Console) speak(e event.Event, a *attempt) {
	thought := e.Type == event.AgentThought
	if a.speech.thought != thought {
		c.hush(e, a)
		a.speech.thought = thought
	}
	switch {
	case thought && c.log && !c.opts.Verbose:
	case c.byLine():
		a.speech.lines(e.Text, c.all(e), c.spoken(e, a))
	default:
		c.stream(a.speech.stream(e.Text, c.all(e)), c.paint(a))
	}
}

// hush ends what an agent was saying.
func (c *Console) hush(e event.Event, a *attempt) {
	if !a.speech.begun {
		return
	}
	if c.byLine() {
		a.speech.end(c.all(e), c.spoken(e, a))
		return
	}
	c.stream(a.speech.clip.Add(a.speech.clean.End())+a.speech.clip.End(c.all(e)), c.paint(a))
	a.speech.begun = false
	c.fresh()
}

// byLine says that speech is written by the line, not as it comes: agents that run at once
// would talk across each other.
func (c *Console) byLine() bool { return c.log || c.setup.Jobs > 1 }

func (c *Console) spoken(e event.Event, a *attempt) func(line string) {
	verb := ""
	switch {
	case c.log && a.speech.thought:
		verb = "thinks: "
	case c.log:
		verb = "says: "
	}
	return func(line string) { c.put(e, verb+c.paint(a)(line)) }
}

func (c *Console) paint(a *attempt) func(string) string {
	if a.speech.thought {
		return c.opts.Palette.Dim
	}
	return func(s string) string { return s }
}
