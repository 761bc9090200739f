package render

import (
	"strings"

	"ralph/event"
	"ralph/internal/term"
)

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

func (p *Plain) gate(e event.Event, a *attempt) {
	switch {
	case e.Gate == nil:
	case e.Type == event.GateStarted:
		p.tell(e, said{text: checking(e), detail: true})
	case e.Reason != "" && !p.opts.Verbose: // not about the work
	case p.unfold != "" && refused(e):
		a.held = &e
	default:
		p.gateEnded(e, a)
	}
}

func (p *Plain) gateEnded(e event.Event, a *attempt) {
	result, aside, _ := gateResult(e)
	result = "gate " + result
	if a.seen(e) && (p.unfold != "" || !a.folded) { // why an attempt ended is never only in a fold
		p.say(e, result+" again, with the same output")
		return
	}
	if e.Reason != "" {
		result += " " + Line(e.Reason)
	}
	p.say(e, result+": "+Line(e.Gate.Command)+aside)
	if !e.Gate.Passed && e.Reason == "" {
		p.complaint(e, a.complained(e), term.GateLines)
		a.folded = p.unfold != ""
		if e.Gate.Log != "" {
			p.say(e, indent+indent+"all of it: "+Line(e.Gate.Log))
		}
	}
}

func (p *Plain) attemptEnded(e event.Event, a *attempt) {
	s, evidence, _ := ended(e, a)
	if p.opts.Quiet && a.title != "" {
		s = a.title + ": " + s
	}
	if parts := spent(e); len(parts) > 0 {
		s += " (" + strings.Join(parts, ", ") + ")"
	}
	p.say(e, s)
	p.complaint(e, evidence, term.GateLines)
}
