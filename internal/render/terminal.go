package render

import (
	"time"

	"ralph/event"
)

// toolLines is how much of what a tool complained about is shown; the whole of it
// is in the transcript.
const toolLines = 5

// Terminal shows a run to a person who watches: what agents say as they say it.
// It writes lines below each other, never a full screen, so that everything can
// be scrolled back to.
type Terminal struct {
	page
	progress
	opts  Options
	shown time.Time // when something was last written
	ticks pulse
}

// NewTerminal returns a sink for an interactive terminal. Close ends the
// goroutine that Options.Ticks need.
func NewTerminal(opts Options) *Terminal {
	opts = opts.withDefaults()
	t := &Terminal{page: page{out: opts.Out}, opts: opts}
	t.columns = t.width
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
	p := t.opts.Palette
	if endsSpeech(e) {
		t.hush(e, a)
	}
	switch e.Type {
	case event.RunStarted:
		t.header(e)
	case event.Recovered:
		t.say(e, p.Yellow("↻ recovered "+oneLine(e.Task)+" "+a.title)+p.Dim(with("", e.Reason)))
	case event.RecoveryDone:
		t.recovery(e)
	case event.TaskClaimed:
		t.heading(e, a)
	case event.AgentResumed:
		t.say(e, p.Dim("  "+resumed))
	case event.AgentStarted:
		t.detail(e, started(e))
	case event.AgentText, event.AgentThought:
		t.speak(e, a)
	case event.AgentTool:
		t.tool(e, a)
	case event.AgentPlan:
		for _, step := range e.Plan {
			t.detail(e, "plan: "+oneLine(step))
		}
	case event.AgentUsage:
		t.detail(e, "used "+usage(e))
	case event.AgentAsked:
		t.detail(e, asked(e))
	case event.Prompted:
		t.prompted(e, a)
	case event.GateStarted, event.GateEnded:
		t.gate(e, a)
	case event.VerifierStarted, event.VerifierEnded:
		t.judge(e)
	case event.Drifted:
		t.say(e, p.Yellow("! "+drifted(e)))
	case event.AttemptEnded:
		t.attemptEnded(e, a)
	case event.Waiting:
		if !t.waitsAlready(e) {
			t.say(e, p.Yellow("◷ "+t.opts.waits(e)))
		}
	case event.Warned:
		t.say(e, p.Yellow("! "+with("warning", or(e.Text, e.Reason))))
	case event.RunInterrupted:
		t.say(e, p.Yellow("! "+with("interrupted", or(e.Reason, e.Text))))
	case event.RunEnded:
		t.hushAll(e)
		t.footer(e)
	default:
		t.detail(e, with(oneLine(string(e.Type)), or(e.Text, e.Reason)))
	}
}
