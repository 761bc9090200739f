package show

import (
	"time"

	"ralph/loop"
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
func (t *Terminal) Event(e loop.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := t.opts.at(e)
	a := t.follow(e, at)
	if !t.opts.silent(e) {
		t.render(e, a)
	}
	t.forget(e)
	if t.flush() || e.Type == loop.TaskClaimed {
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

func (t *Terminal) render(e loop.Event, a *attempt) {
	p := t.opts.Palette
	if endsSpeech(e) {
		t.hush(e, a)
	}
	switch e.Type {
	case loop.RunStarted:
		t.header(e)
	case loop.Recovered:
		t.say(e, p.Yellow("↻ recovered "+oneLine(e.Task)+" "+a.title)+p.Dim(with("", e.Reason)))
	case loop.RecoveryDone:
		t.recovery(e)
	case loop.TaskClaimed:
		t.heading(e, a)
	case loop.AgentResumed:
		t.say(e, p.Dim("  "+resumed))
	case loop.AgentStarted:
		t.detail(e, started(e))
	case loop.AgentText, loop.AgentThought:
		t.speak(e, a)
	case loop.AgentTool:
		t.tool(e, a)
	case loop.AgentPlan:
		for _, step := range e.Plan {
			t.detail(e, "plan: "+oneLine(step))
		}
	case loop.AgentUsage:
		t.detail(e, "used "+usage(e))
	case loop.AgentAsked:
		t.detail(e, asked(e))
	case loop.Prompted:
		t.prompted(e, a)
	case loop.GateStarted, loop.GateEnded:
		t.gate(e, a)
	case loop.JudgeStarted, loop.JudgeEnded:
		t.judge(e)
	case loop.Drifted:
		t.say(e, p.Yellow("! "+drifted(e)))
	case loop.AttemptEnded:
		t.attemptEnded(e, a)
	case loop.Waiting:
		if !t.waitsAlready(e) {
			t.say(e, p.Yellow("◷ "+t.opts.waits(e)))
		}
	case loop.Warned:
		t.say(e, p.Yellow("! "+with("warning", or(e.Text, e.Reason))))
	case loop.RunInterrupted:
		t.say(e, p.Yellow("! "+with("interrupted", or(e.Reason, e.Text))))
	case loop.RunEnded:
		t.hushAll(e)
		t.footer(e)
	default:
		t.detail(e, with(oneLine(string(e.Type)), or(e.Text, e.Reason)))
	}
}
