package render

import (
	"strings"
	"time"

	"ralph/event"
	"ralph/internal/term"
)

// Plain writes a run to a log: a line when a task starts and one when it ends, each
// with its time and its task, so that any line can be found and understood alone.
// The steps between them are for verbose output, or folded. No line begins with text
// of an agent, which a CI service might take for a command to itself.
type Plain struct {
	console
	run    string
	begin  string // begins what is folded, and is not written yet
	unfold string // ends what is folded; empty when nothing is
	title  string // of what is folded
}

// NewPlain returns a sink for CI and logs. The palette and the width of the options
// do not matter. Close ends the goroutine that Options.Ticks need.
func NewPlain(opts Options) *Plain {
	opts = opts.withDefaults()
	p := &Plain{console: console{page: page{out: opts.Out}, opts: opts, byLine: func() bool { return true }}}
	p.spoken = func(e event.Event, a *attempt) func(string) {
		verb := "says: "
		if a.speech.thought {
			verb = "thinks: "
		}
		return func(line string) { p.say(e, verb+line) }
	}
	p.ticks.beat(opts.Ticks, p.tick)
	return p
}

// Event writes the lines of an event, if it has any.
func (p *Plain) Event(e event.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := p.opts.at(e)
	a := p.follow(e, at)
	p.run = e.Run
	switch {
	case !p.opts.silent(e) && (p.steps() || milestone(e)):
		if endsSpeech(e) {
			p.hush(e, a)
		}
		p.hold(e, a)
		p.render(e, a)
	case e.Type == event.AgentTool:
		a.tool(e.Tool) // it counts
	}
	p.forget(e)
	if p.flush() || p.shown.IsZero() {
		p.shown = at
	}
}

// steps says that what happens between the start and the end of a task is written.
func (p *Plain) steps() bool { return p.opts.Verbose || p.unfold != "" }

// milestone says that an event has a line in every log: what starts, what ends, and
// what a person should know of.
func milestone(e event.Event) bool {
	switch e.Type {
	case event.RunStarted, event.Recovered, event.RecoveryDone, event.TaskClaimed, event.AttemptEnded, event.Waiting, event.Warned, event.RunEnded:
		return true
	case event.GateEnded:
		return refused(e)
	default:
		return false
	}
}

// refused says that a gate did not accept the work.
func refused(e event.Event) bool {
	return e.Gate != nil && !e.Gate.Passed && e.Reason == "" && e.Gate.Verdict != event.GateExcused
}

// fold writes a line as the title of what follows, if that can be folded: what tasks
// do that run at once cannot.
func (p *Plain) fold(e event.Event, s string) {
	if p.opts.Fold == nil || p.opts.Quiet || p.jobs > 1 {
		p.say(e, s)
		return
	}
	p.endFold()
	p.beginFold(p.lead(e) + s)
}

func (p *Plain) beginFold(title string) {
	p.begin, p.unfold = p.opts.Fold(title)
	p.title = title
}

// openFold writes the title of what is folded when there is something to fold: a
// warning, which is never folded, would leave an empty part with the same title.
func (p *Plain) openFold() {
	if p.begin != "" {
		p.fresh()
		p.buf.WriteString(p.begin)
		p.begin = ""
	}
}

// hold writes the failed gate that was held back, when the next event says whether
// it belongs to the steps or is why the attempt ended, which is never folded.
func (p *Plain) hold(e event.Event, a *attempt) {
	if e.Type == event.AttemptEnded {
		p.endFold()
	}
	if a.held == nil || utterance(e) {
		return
	}
	held := *a.held
	a.held = nil
	p.gateEnded(held, a)
}

func (p *Plain) endFold() {
	p.openFold()
	p.fresh()
	p.buf.WriteString(p.unfold)
	p.unfold, p.title = "", ""
}

// say writes one line: when, what about, what.
func (p *Plain) say(e event.Event, s string) {
	p.openFold()
	p.line(p.lead(e) + s)
}

func (p *Plain) lead(e event.Event) string {
	return p.opts.at(e).Format(time.RFC3339) + " " + or(Line(e.Task), Line(e.Run), "-") + " "
}

func (p *Plain) tell(e event.Event, s said) {
	if !s.detail || p.opts.Verbose {
		p.say(e, s.text+s.aside)
	}
}

func (p *Plain) render(e event.Event, a *attempt) {
	switch e.Type {
	case event.RunStarted:
		for _, s := range p.opts.settings(e) {
			if s.label != folderLabel { // the footer says where they are
				p.say(e, s.label+": "+s.value)
			}
		}
	case event.TaskClaimed:
		p.fold(e, claimed(e, a.title, p.counts))
		if e.Reason != "" {
			p.tell(e, said{text: "model: " + Line(e.Reason), detail: true})
		}
	case event.AgentText:
		p.speak(e, a)
	case event.AgentThought:
		if p.opts.Verbose {
			p.speak(e, a)
		} else {
			p.hush(e, a)
		}
	case event.AgentTool:
		p.tool(e, a)
	case event.GateStarted, event.GateEnded:
		p.gate(e, a)
	case event.AttemptEnded:
		p.attemptEnded(e, a)
	case event.Warned:
		title := p.title
		if p.begin == "" {
			p.endFold()
		}
		p.begin, p.unfold, p.title = "", "", ""
		p.describeAll(e, a)
		if title != "" {
			p.beginFold(title)
		}
	case event.RunEnded:
		p.hushAll(e)
		p.endFold()
		p.footer(e)
	case event.Prompted:
		if a.prompts == 0 {
			p.openFold() // the agent may be silent for long
		}
		p.describeAll(e, a)
	default:
		p.describeAll(e, a)
	}
}

func (p *Plain) describeAll(e event.Event, a *attempt) {
	for _, s := range p.describe(p.opts, e, a) {
		p.tell(e, s)
	}
}

func (p *Plain) tool(e event.Event, a *attempt) {
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
