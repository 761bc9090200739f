package render

import (
	"strings"

	"ralph/event"
	"ralph/internal/term"
)

// say writes a line that may be as long as it is. When several tasks run at once every
// line says whose it is.
func (t *Terminal) say(e event.Event, s string) {
	if t.margin(e) > 0 {
		s = t.opts.Palette.Dim(Line(e.Task)) + " " + s
	}
	t.line(s)
}

func (t *Terminal) tell(e event.Event, s said) {
	p := t.opts.Palette
	switch {
	case s.detail && !t.opts.Verbose:
	case s.sign == "":
		t.say(e, p.Dim(indent+s.text+s.about+s.aside))
	default:
		t.say(e, s.tone.Paint(p, s.sign+" "+s.text+s.about)+p.Dim(s.aside))
	}
}

// margin is how wide the name of the task is before a line.
func (t *Terminal) margin(e event.Event) int {
	if t.jobs < 2 || e.Task == "" {
		return 0
	}
	return term.Width(Line(e.Task)) + 1
}

// tool shows a call once, and again when it failed.
func (t *Terminal) tool(e event.Event, a *attempt) {
	if e.Tool == nil {
		return
	}
	c, shown := a.tool(e.Tool)
	if !shown {
		return
	}
	mark, paint := "→ ", t.opts.Palette.Cyan
	if c.failed {
		mark, paint = "✗ ", t.opts.Palette.Red
	}
	kind := ""
	if c.kind != "" {
		kind = " (" + c.kind + ")"
	}
	room := t.width() - term.Width(mark+kind) - t.margin(e)
	t.say(e, paint(mark+term.Cut(c.title, max(room, minTitle)))+t.opts.Palette.Dim(kind))
	t.complaint(e, e.Tool.Error, toolLines)
}

func (t *Terminal) complaint(e event.Event, text string, most int) {
	for _, line := range term.MarkedTail(text, most) {
		line = term.Cut(line, max(t.width()-2*len(indent)-t.margin(e), minTitle))
		t.say(e, indent+indent+t.opts.Palette.Red(line))
	}
}

func (t *Terminal) gate(e event.Event, a *attempt) {
	if e.Gate == nil {
		return
	}
	p := t.opts.Palette
	if e.Type == event.GateStarted {
		t.tell(e, said{text: checking(e)})
		return
	}
	command := Line(e.Gate.Command)
	result, aside, tone := gateResult(e)
	switch {
	case e.Reason != "": // not about the work
		t.tell(e, said{text: command + " " + result + " " + Line(e.Reason)})
	case tone == Good:
		t.say(e, p.Green("✓ ")+command+p.Dim(" "+result+aside))
	case tone == Notable:
		t.say(e, p.Yellow("~ "+command+" "+result+aside))
	case a.seen(e):
		t.say(e, p.Red("✗ "+command+" "+result+" again, with the same output"))
	default:
		t.say(e, p.Red("✗ "+command+" "+result))
		t.complaint(e, a.complained(e), term.GateLines)
		if e.Gate.Log != "" {
			t.say(e, p.Dim("    all of it: "+Line(e.Gate.Log)))
		}
	}
}

// attemptEnded ends an iteration. Quiet output has no heading, so the title is here.
func (t *Terminal) attemptEnded(e event.Event, a *attempt) {
	what := Line(e.Task)
	if t.opts.Quiet && a.title != "" {
		what += " " + a.title
	}
	how, evidence, tone := ended(e, a)
	sign := tone.Sign()
	if tone == Notable {
		sign = "↻"
	}
	line := tone.Paint(t.opts.Palette, sign+" "+what+" "+how)
	if parts := spent(e); len(parts) > 0 {
		line += t.opts.Palette.Dim(" · " + strings.Join(parts, " · "))
	}
	t.line(line)
	t.complaint(e, evidence, term.GateLines)
}
