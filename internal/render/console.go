package render

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"ralph/internal/event"
	"ralph/internal/human"
	"ralph/internal/term"
)

const (
	toolLines    = 5   // of the error of a tool that are shown; the transcript has all of it
	unknownWidth = 80  // of a terminal
	maxHeading   = 100 // a rule across a very wide window is noise
	minTitle     = 12  // what a title is cut to at most; a narrower window wraps it
	indent       = "  "
)

// How long nothing may be shown before a console says that the run still runs: on a
// terminal, in the middle of a line that an agent is writing, and in a log.
const (
	patience       = time.Second
	patienceInLine = 5 * time.Second
	patienceInLog  = time.Minute
)

// Console shows a run to people, in lines below each other so that everything can be
// scrolled back to: on a terminal what agents say as they say it, in a log a line when a
// task starts and one when it ends. Each line of a log has its time and its task, so that it can
// be found and understood alone, and none begins with the text of an agent, which a CI
// service might take for a command to itself.
type Console struct {
	page
	progress
	opts  Options
	log   bool
	fold  fold
	run   string
	shown time.Time // when something was last written
	stop  func()    // ends the goroutine of the ticks
}

// NewTerminal returns a sink for an interactive terminal. Close ends the goroutine that
// Options.Ticks need.
func NewTerminal(opts Options) *Console {
	if opts.Quiet {
		opts.Ticks = nil
	}
	return newConsole(opts, false)
}

// NewPlain returns a sink for CI and logs, without colours. The steps of a task are for
// verbose output, or folded. Close ends the goroutine that Options.Ticks need.
func NewPlain(opts Options) *Console {
	opts.Palette = term.Palette{}
	return newConsole(opts, true)
}

func newConsole(opts Options, log bool) *Console {
	c := &Console{opts: opts, log: log, progress: progress{attempts: map[string]*attempt{}}}
	c.out, c.columns = opts.Out, c.width
	c.stop = beat(opts.Ticks, c.tick)
	return c
}

// Event writes the lines of an event, if it has any.
func (c *Console) Event(e event.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.opts.at(e)
	a := c.follow(e, at)
	c.run = e.Run
	switch {
	case c.wants(e):
		if endsSpeech(e) {
			c.hush(e, a)
		}
		c.showHeldGate(e, a)
		c.render(e, a)
	case e.Type == event.AgentTool:
		a.tool(e.Tool) // it counts
	}
	c.forget(e)
	if c.flush() || c.shown.IsZero() {
		c.shown = at
	}
}

// wants says that an event is shown. Every log has what starts, what ends and what a person
// should know of; the steps between them are for verbose output, or folded.
func (c *Console) wants(e event.Event) bool {
	switch {
	case c.opts.silent(e):
		return false
	case !c.log, c.opts.Verbose, c.fold.end != "":
		return true
	}
	switch e.Type {
	case event.RunStarted, event.Recovered, event.RecoveryDone, event.TaskClaimed, event.AttemptEnded, event.Waiting, event.Warned, event.RunEnded, event.Asked, event.Answered,
		event.SlotSetup, event.MergeConflict, event.MergeWaiting, event.MergeHeld, event.MergeLanded, event.TaskSkipped, event.Notified:
		return true
	case event.GateEnded:
		return refused(e)
	case event.TargetMoved:
		return len(e.Files) > 0 || e.Task == ""
	}
	return false
}

// Close erases the line that was written in place, and returns the first error that
// writing gave, once.
func (c *Console) Close() error {
	c.stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fresh()
	c.flush()
	err := c.err
	c.err = nil
	return err
}

// tick shows that the run is alive while nothing else is shown.
func (c *Console) tick(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	silence, enough := now.Sub(c.shown), patience
	switch {
	case c.log:
		enough = patienceInLog
	case c.midline:
		enough = patienceInLine
	case len(c.attempts) == 0:
		enough = 0
	}
	text := c.soFar(now)
	switch {
	case text == "" || silence < enough:
		if !c.log && silence >= patience { // a word must not wait for long
			c.showHeld()
		}
	case c.log:
		about := event.Event{At: now, Run: c.run}
		if len(c.attempts) == 1 {
			for about.Task = range c.attempts {
			}
		}
		c.say(about, "still running: "+text)
		c.shown = now
	default:
		// One column stays free: some terminals wrap when the last one is written.
		c.replace(c.opts.Palette.Dim(term.Cut("… "+text, c.width()-1)))
	}
	c.flush()
}

func (c *Console) render(e event.Event, a *attempt) {
	switch e.Type {
	case event.RunStarted:
		c.header(e)
	case event.TaskClaimed:
		c.heading(e, a)
	case event.AgentText, event.AgentThought:
		c.speak(e, a)
	case event.AgentTool:
		c.tool(e, a)
	case event.GateStarted, event.GateEnded:
		c.gate(e, a)
	case event.AttemptEnded:
		c.attemptEnded(e, a)
	case event.RunEnded:
		for _, task := range slices.Sorted(maps.Keys(c.attempts)) { // it may end while agents speak
			c.hush(event.Event{At: e.At, Task: task}, c.attempts[task])
		}
		c.endFold()
		c.footer(e)
	case event.Warned:
		c.outsideFold(func() { c.show(e, c.describe(e, a)...) })
	default:
		if e.Type == event.Prompted && a.prompts == 0 {
			c.openFold() // the agent may be silent for long
		}
		c.show(e, c.describe(e, a)...)
	}
}

// say writes a line.
func (c *Console) say(e event.Event, s string) { c.put(e, Clip(s, c.all(e))) }

// all is the command that shows all of a line.
func (c *Console) all(e event.Event) string {
	return "ralph logs " + or(Line(e.Task), Line(c.run)) + " --full"
}

// put writes a line that may be as long as it is. In a log, and when several tasks run
// at once, every line says whose it is.
func (c *Console) put(e event.Event, s string) {
	switch {
	case c.log:
		c.openFold()
		s = c.lead(e) + s
	case c.margin(e) > 0:
		s = c.opts.Palette.Dim(Line(e.Task)) + " " + s
	}
	c.line(s)
}

// lead begins a line of a log.
func (c *Console) lead(e event.Event) string {
	return c.opts.at(e).Format(time.RFC3339) + " " + or(Line(e.Task), Line(e.Run), "-") + " "
}

// margin is how wide the name of the task is before a line on a terminal.
func (c *Console) margin(e event.Event) int {
	if c.setup.Jobs < 2 || e.Task == "" {
		return 0
	}
	return term.Width(Line(e.Task)) + 1
}

// width is that of the terminal, or a guess. The lines of a log are not broken.
func (c *Console) width() int {
	switch {
	case c.log:
		return 0
	case c.opts.Width == nil:
		return unknownWidth
	}
	return cmp.Or(max(c.opts.Width(), 0), unknownWidth)
}

// cut shortens text to what a line can take beside what else is in it.
func (c *Console) cut(e event.Event, text string, used int) string {
	if c.log {
		return text
	}
	return term.Cut(text, max(c.width()-used-c.margin(e), minTitle))
}

func (c *Console) show(e event.Event, lines ...said) {
	p := c.opts.Palette
	for _, s := range lines {
		switch {
		case s.detail && !c.opts.Verbose:
		case c.log:
			c.say(e, s.text+s.aside)
		case s.sign == "":
			c.say(e, p.Dim(indent+s.text+s.aside))
		default:
			c.say(e, s.tone.Paint(p, s.sign+" "+s.text)+p.Dim(s.aside))
		}
	}
}

// tool shows a call once, and again when it failed.
func (c *Console) tool(e event.Event, a *attempt) {
	t, shown := a.tool(e.Tool)
	if !shown {
		return
	}
	mark, paint := "→ ", c.opts.Palette.Cyan
	switch {
	case t.failed && c.log:
		mark = "tool failed: "
	case t.failed:
		mark, paint = "✗ ", c.opts.Palette.Red
	case c.log:
		mark = "tool: "
	}
	kind := inBrackets(t.kind)
	c.say(e, paint(mark+c.cut(e, t.title, term.Width(mark+kind)))+c.opts.Palette.Dim(kind))
	c.complaint(e, e.Tool.Error, toolLines)
}

func (c *Console) complaint(e event.Event, text string, most int) {
	for _, line := range term.MarkedTail(text, most) {
		c.say(e, indent+indent+c.opts.Palette.Red(c.cut(e, line, 2*len(indent))))
	}
}

func (c *Console) gate(e event.Event, a *attempt) {
	switch {
	case e.Gate == nil:
	case e.Type == event.GateStarted:
		c.show(e, said{text: strings.TrimSpace("checking "+Line(e.Reason)) + ": " + Line(e.Gate.Command), detail: c.log})
	case c.log && e.Reason != "" && !c.opts.Verbose: // not about the work
	case c.fold.end != "" && refused(e):
		a.held = &e
	default:
		c.gateEnded(e, a)
	}
}

func (c *Console) gateEnded(e event.Event, a *attempt) {
	p, command := c.opts.Palette, Line(e.Gate.Command)
	result, aside, tone := Gate(*e.Gate)
	result += In(e.Duration)
	again := a.seen(e) && (c.fold.end != "" || !a.folded) // why an attempt ended is never only in a fold
	if again {
		result += " again, with the same output"
	}
	switch {
	case c.log && again:
		c.say(e, "gate "+result)
	case c.log:
		c.say(e, strings.TrimSpace("gate "+result+" "+Line(e.Reason))+": "+command+aside)
	case e.Reason != "": // not about the work
		c.show(e, said{text: command + " " + result + " " + Line(e.Reason)})
	case tone == Good:
		c.say(e, p.Green("✓ ")+command+p.Dim(" "+result+aside))
	case tone == Notable:
		c.say(e, p.Yellow("~ "+command+" "+result+aside))
	default:
		c.say(e, p.Red("✗ "+command+" "+result))
	}
	if again || e.Gate.Passed || e.Reason != "" || tone == Notable && !c.log {
		return
	}
	a.refused, a.folded = &e, c.fold.end != ""
	c.complaint(e, e.Text, term.GateLines)
	if e.Gate.Log != "" {
		c.say(e, p.Dim(indent+indent+"all of it: "+Line(e.Gate.Log)))
	}
}

// attemptEnded ends an iteration. Quiet output has no heading, so the title is here.
func (c *Console) attemptEnded(e event.Event, a *attempt) {
	how, evidence, tone := ended(e, a)
	parts, title := human.Parts(append(spent(e), human.Some(len(a.excused), "excused gate"))...), ""
	if c.opts.Quiet {
		title = a.title
	}
	if c.log {
		if title != "" {
			how = title + ": " + how
		}
		c.say(e, how+inBrackets(parts...))
	} else {
		sign := tone.Sign()
		if tone == Notable {
			sign = "↻"
		}
		line := strings.Join(human.Parts(sign, Line(e.Task), title, how), " ")
		line = tone.Paint(c.opts.Palette, line) + c.opts.Palette.Dim(human.Lead(" · ", strings.Join(parts, " · ")))
		c.line(Clip(line, c.all(e)))
	}
	c.complaint(e, evidence, term.GateLines)
	if r := Remedy(e.Rejected, Line(e.Task), e.Status); r.Command != "" {
		c.say(e, c.opts.Palette.Dim(indent)+c.opts.Palette.Cyan(r.Command)+c.opts.Palette.Dim(": "+r.Why))
	}
}
