package render

import "ralph/event"

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

// Close takes back what was written in place, and returns the first error that
// writing gave.
func (t *Terminal) Close() error {
	t.ticks.end()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.fresh()
	t.flush()
	return t.takeError()
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
