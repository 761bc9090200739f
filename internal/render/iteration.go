package render

import (
	"maps"
	"slices"
	"strings"

	"ralph/event"
	"ralph/internal/term"
)

// say writes a line that may be as long as it is. When several tasks run at once
// every line says whose it is.
func (t *Terminal) say(e event.Event, s string) {
	t.line(t.whose(e) + s)
}

// detail writes a dim line that only verbose output has.
func (t *Terminal) detail(e event.Event, s string) {
	if t.opts.Verbose {
		t.say(e, t.opts.Palette.Dim("  "+s))
	}
}

func (t *Terminal) whose(e event.Event) string {
	if t.jobs < 2 || e.Task == "" {
		return ""
	}
	return t.opts.Palette.Dim(oneLine(e.Task)) + " "
}

// speak shows what an agent says or thinks. Agents that run at once would talk
// across each other, so then it is shown by the line.
func (t *Terminal) speak(e event.Event, a *attempt) {
	thought := e.Type == event.AgentThought
	if a.speech.thought != thought {
		t.hush(e, a)
		a.speech.thought = thought
	}
	if t.jobs > 1 {
		a.speech.lines(e.Text, t.spoken(e, a))
		return
	}
	t.stream(a.speech.stream(e.Text), t.voice(a))
}

// hush ends what an agent was saying.
func (t *Terminal) hush(e event.Event, a *attempt) {
	if !a.speech.begun {
		return
	}
	if t.jobs > 1 {
		a.speech.end(t.spoken(e, a))
		return
	}
	t.stream(a.speech.clean.end(), t.voice(a))
	a.speech.begun = false
	t.fresh()
}

// hushAll ends what agents were saying when the run ended over it.
func (t *Terminal) hushAll(e event.Event) {
	for _, task := range slices.Sorted(maps.Keys(t.attempts)) {
		e.Task = task
		t.hush(e, t.attempts[task])
	}
}

func (t *Terminal) spoken(e event.Event, a *attempt) func(string) {
	return func(line string) { t.say(e, t.voice(a)(line)) }
}

func (t *Terminal) voice(a *attempt) func(string) string {
	if a.speech.thought {
		return t.opts.Palette.Dim
	}
	return func(s string) string { return s }
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

// complaint shows the last lines of an error in red.
func (t *Terminal) complaint(e event.Event, text string, most int) {
	for _, line := range term.MarkedTail(text, most) {
		line = term.Cut(line, max(t.width()-2*len(indent)-t.margin(e), minTitle))
		t.say(e, indent+indent+t.opts.Palette.Red(line))
	}
}

// margin is how wide the name of the task is before a line.
func (t *Terminal) margin(e event.Event) int {
	if t.jobs < 2 || e.Task == "" {
		return 0
	}
	return term.Width(oneLine(e.Task)) + 1
}

// prompted shows that the agent was asked once more. The first prompt is no news.
func (t *Terminal) prompted(e event.Event, a *attempt) {
	a.prompts++
	if a.prompts == 1 {
		t.detail(e, with("prompted", or(e.Reason, e.Text)))
		return
	}
	t.say(e, t.opts.Palette.Yellow("↪ "+with("asked again", a.unsaid(e))))
}

func (t *Terminal) gate(e event.Event, a *attempt) {
	if e.Gate == nil {
		return
	}
	p := t.opts.Palette
	command := oneLine(e.Gate.Command)
	switch {
	case e.Type == event.GateStarted:
		t.say(e, p.Dim("  "+checking(e)))
	case e.Reason != "": // not about the work
		t.say(e, p.Dim("  "+command+" "+gateResult(e)+" "+oneLine(e.Reason)))
	case e.Gate.Passed:
		t.say(e, p.Green("✓ ")+command+p.Dim(" "+gateResult(e)+excuse(e.Gate)))
	case e.Gate.Verdict == event.GateExcused:
		t.say(e, p.Yellow("~ "+command+" "+gateResult(e)+excuse(e.Gate)))
	default:
		if a.seen(e) {
			t.say(e, p.Red("✗ "+command+" "+gateResult(e)+" again, with the same output"))
			return
		}
		t.say(e, p.Red("✗ "+command+" "+gateResult(e)))
		t.complaint(e, a.complained(e), term.GateLines)
		if e.Gate.Log != "" {
			t.say(e, p.Dim("    all of it: "+oneLine(e.Gate.Log)))
		}
	}
}

// attemptEnded ends an iteration. Quiet output has no heading, so the title is
// told here.
func (t *Terminal) attemptEnded(e event.Event, a *attempt) {
	mark, paint := "↻ ", t.opts.Palette.Yellow
	switch resultOf(e) {
	case done:
		mark, paint = "✓ ", t.opts.Palette.Green
	case failed:
		mark, paint = "✗ ", t.opts.Palette.Red
	}
	what := oneLine(e.Task)
	if t.opts.Quiet && a.title != "" {
		what += " " + a.title
	}
	how, evidence := ended(e, a)
	line := paint(mark + what + " " + how)
	if parts := spent(e); len(parts) > 0 {
		line += t.opts.Palette.Dim(" · " + strings.Join(parts, " · "))
	}
	t.line(line)
	t.complaint(e, evidence, term.GateLines)
}
