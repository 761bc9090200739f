package render

import (
	"fmt"
	"strconv"
	"strings"

	"ralph/event"
	"ralph/internal/human"
	"ralph/internal/term"
)

// toolLines is how much of what a tool complained about is shown; the whole of it
// is in the transcript.
const toolLines = 5

// Terminal shows a run to a person who watches: what agents say as they say it.
// It writes lines below each other, never a full screen, so that everything can
// be scrolled back to.
type Terminal struct{ console }

// NewTerminal returns a sink for an interactive terminal. Close ends the goroutine that
// Options.Ticks need.
func NewTerminal(opts Options) *Terminal {
	opts = opts.withDefaults()
	t := &Terminal{console{page: page{out: opts.Out}, opts: opts}}
	t.columns = t.width
	t.byLine = func() bool { return t.jobs > 1 } // agents that run at once would talk across each other
	t.spoken = func(e event.Event, a *attempt) func(string) {
		return func(line string) { t.say(e, t.paint(a)(line)) }
	}
	if opts.Quiet {
		opts.Ticks = nil
	}
	t.ticks.beat(opts.Ticks, t.tick)
	return t
}

// Event shows an event.
func (t *Terminal) Event(e event.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := t.opts.at(e)
	a := t.follow(e, at)
	if !t.opts.silent(e) {
		t.render(e, a)
	}
	t.forget(e)
	if t.flush() || e.Type == event.TaskClaimed {
		t.shown = at
	}
}

func (t *Terminal) render(e event.Event, a *attempt) {
	if endsSpeech(e) {
		t.hush(e, a)
	}
	switch e.Type {
	case event.RunStarted:
		t.header(e)
	case event.TaskClaimed:
		t.heading(e, a)
	case event.AgentText, event.AgentThought:
		t.speak(e, a)
	case event.AgentTool:
		t.tool(e, a)
	case event.GateStarted, event.GateEnded:
		t.gate(e, a)
	case event.AttemptEnded:
		t.attemptEnded(e, a)
	case event.RunEnded:
		t.hushAll(e)
		t.footer(e)
	default:
		for _, s := range t.describe(t.opts, e, a) {
			t.tell(e, s)
		}
	}
}

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

// Bounds of a heading: a rule across a very wide window is noise, and a window
// too narrow for one gets one that wraps.
const (
	unknownWidth = 80
	maxHeading   = 100
	minTitle     = 12
)

// folderLabel names the folder of a run's files.
const folderLabel = "transcripts"

type setting struct{ label, value string }

func (o Options) settings(e event.Event) []setting {
	s := event.Setup{}
	if e.Setup != nil {
		s = *e.Setup
	}
	what := s.Scope
	if e.Counts != nil {
		left := e.Counts.Remaining
		what = or(what, "everything") + ", " + human.Count(left, "task") + " to do"
		if left < e.Counts.Total {
			what += fmt.Sprintf(" of %d", e.Counts.Total)
		}
	}
	jobs := ""
	if s.Jobs > 1 {
		jobs = strconv.Itoa(s.Jobs) + " at once"
	}
	pid := ""
	if o.Verbose && e.PID > 0 {
		pid = strconv.Itoa(e.PID)
	}
	var known []setting
	for _, line := range []setting{
		{"runs", what},
		{"agent", or(s.Agent, e.Agent)},
		{"credential", s.Credential},
		{"model", or(s.Model, e.Model)},
		{"limits", s.Limits},
		{"jobs", jobs},
		{"sandbox", s.Sandbox},
		{"verify", s.Verify},
		{"process", pid},
		{folderLabel, s.Folder},
	} {
		if line.value = Line(line.value); line.value != "" {
			known = append(known, line)
		}
	}
	return known
}

func (t *Terminal) header(e event.Event) {
	p := t.opts.Palette
	t.line(p.Bold("ralph run") + " " + p.Dim(Line(e.Run)))
	lines := t.opts.settings(e)
	width := 0
	for _, s := range lines {
		width = max(width, len(s.label))
	}
	for _, s := range lines {
		t.hanging("  "+p.Dim(fmt.Sprintf("%-*s", width, s.label))+"  "+s.value, width+4)
	}
}

// heading begins an iteration. Only the title is cut when there is too little
// room: the rest is what one looks for.
func (t *Terminal) heading(e event.Event, a *attempt) {
	p := t.opts.Palette
	front := "── "
	if e.Iteration > 0 {
		front += strconv.Itoa(e.Iteration) + " · "
	}
	id := Line(e.Task)
	back := ""
	if tail := facts(e, t.counts); len(tail) > 0 {
		back = " · " + strings.Join(tail, " · ")
	}
	width := min(t.width(), maxHeading)
	room := width - term.Width(front+id+back) - 3
	title := term.Cut(a.title, max(room, minTitle))
	rule := strings.Repeat("─", max(room-term.Width(title), 0)+1)
	t.line("")
	t.line(p.Dim(front) + p.Bold(id+" "+title) + p.Dim(back+" "+rule))
	if e.Reason != "" {
		t.tell(e, said{text: "model: " + Line(e.Reason), detail: true})
	}
}

// width is that of the terminal, or a guess.
func (t *Terminal) width() int {
	if w := t.opts.Width(); w > 0 {
		return w
	}
	return unknownWidth
}
