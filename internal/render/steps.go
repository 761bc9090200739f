package render

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"ralph/event"
	"ralph/internal/term"
)

// claimed says that an iteration begins.
func claimed(e event.Event, title string, c event.Counts) string {
	s := "claimed: " + title
	if e.Iteration > 0 {
		s = "iteration " + strconv.Itoa(e.Iteration) + ": " + title
	}
	var about []string
	if who := by(e); who != "" {
		about = append(about, who)
	}
	if c.Total > 0 {
		about = append(about, fmt.Sprintf("%d of %d done", c.Done, c.Total))
	}
	if len(about) > 0 {
		s += " (" + strings.Join(about, ", ") + ")"
	}
	return s
}

// speak writes what an agent says by the line.
func (p *Plain) speak(e event.Event, a *attempt) {
	thought := e.Type == event.AgentThought
	if a.speech.thought != thought {
		p.hush(e, a)
		a.speech.thought = thought
	}
	a.speech.lines(e.Text, p.spoken(e, a))
}

func (p *Plain) hush(e event.Event, a *attempt) {
	if a.speech.begun {
		a.speech.end(p.spoken(e, a))
	}
}

// hushAll ends what agents were saying when the run ended over it.
func (p *Plain) hushAll(e event.Event) {
	for _, task := range slices.Sorted(maps.Keys(p.attempts)) {
		e.Task = task
		p.hush(e, p.attempts[task])
	}
}

func (p *Plain) spoken(e event.Event, a *attempt) func(string) {
	verb := "says: "
	if a.speech.thought {
		verb = "thinks: "
	}
	return func(line string) { p.say(e, verb+line) }
}

func (p *Plain) tool(e event.Event, a *attempt) {
	if e.Tool == nil {
		return
	}
	c, shown := a.tool(e.Tool)
	if !shown {
		return
	}
	s := "tool: " + c.title
	if c.failed {
		s = "tool failed: " + c.title
	}
	if c.kind != "" {
		s += " (" + c.kind + ")"
	}
	p.say(e, s)
	p.complaint(e, e.Tool.Error, toolLines)
}

func (p *Plain) complaint(e event.Event, text string, most int) {
	for _, line := range term.MarkedTail(text, most) {
		p.say(e, indent+indent+term.Cut(line, maxLine))
	}
}

func (p *Plain) prompted(e event.Event, a *attempt) {
	a.prompts++
	if a.prompts == 1 {
		p.openFold() // the agent may be silent for long
		p.detail(e, with("prompted", or(e.Reason, e.Text)))
		return
	}
	p.say(e, with("asked again", a.unsaid(e)))
}

func (p *Plain) gate(e event.Event, a *attempt) {
	switch {
	case e.Gate == nil:
	case e.Type == event.GateStarted:
		p.detail(e, checking(e))
	case e.Reason != "" && !p.opts.Verbose: // not about the work
	case p.unfold != "" && refused(e):
		a.held = &e
	default:
		p.gateEnded(e, a)
	}
}

func (p *Plain) gateEnded(e event.Event, a *attempt) {
	if a.seen(e) && (p.unfold != "" || !a.folded) { // why an attempt ended is never only in a fold
		p.say(e, "gate "+gateResult(e)+" again, with the same output")
		return
	}
	result := "gate " + gateResult(e)
	if e.Reason != "" {
		result += " " + oneLine(e.Reason)
	}
	p.say(e, result+": "+oneLine(e.Gate.Command)+excuse(e.Gate))
	if !e.Gate.Passed && e.Reason == "" {
		p.complaint(e, a.complained(e), term.GateLines)
		a.folded = p.unfold != ""
		if e.Gate.Log != "" {
			p.say(e, indent+indent+"all of it: "+oneLine(e.Gate.Log))
		}
	}
}

func (p *Plain) attemptEnded(e event.Event, a *attempt) {
	s, evidence := ended(e, a)
	if p.opts.Quiet && a.title != "" {
		s = a.title + ": " + s
	}
	if parts := spent(e); len(parts) > 0 {
		s += " (" + strings.Join(parts, ", ") + ")"
	}
	p.say(e, s)
	p.complaint(e, evidence, term.GateLines)
}
