package show

import (
	"time"

	"ralph/loop"
)

// Plain writes a run to a log: one line a step, each with its time and its task,
// so that any line can be found and understood alone. No line begins with text
// of an agent, which a CI service might take for a command to itself.
type Plain struct {
	page
	progress
	opts Options
}

// NewPlain returns a sink for CI and logs. The palette, the width and the ticks
// of the options do not matter.
func NewPlain(opts Options) *Plain {
	opts = opts.withDefaults()
	return &Plain{page: page{out: opts.Out}, opts: opts}
}

// Event writes the lines of an event, if it has any.
func (p *Plain) Event(e loop.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := p.follow(e, p.opts.at(e))
	if !p.opts.silent(e) {
		if endsSpeech(e) {
			p.hush(e, a)
		}
		p.render(e, a)
	}
	p.forget(e)
	p.flush()
}

// Close returns the first error that writing gave.
func (p *Plain) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.takeError()
}

// say writes one line: when, what about, what.
func (p *Plain) say(e loop.Event, s string) {
	p.line(p.opts.at(e).Format(time.RFC3339) + " " + or(oneLine(e.Task), oneLine(e.Run), "-") + " " + s)
}

func (p *Plain) detail(e loop.Event, s string) {
	if p.opts.Verbose {
		p.say(e, s)
	}
}

func (p *Plain) render(e loop.Event, a *attempt) {
	switch e.Type {
	case loop.RunStarted:
		for _, s := range p.opts.settings(e) {
			p.say(e, s.label+": "+s.value)
		}
	case loop.Recovered:
		p.say(e, with("recovered", e.Reason))
	case loop.RecoveryDone:
		p.recovery(e)
	case loop.TaskClaimed:
		p.say(e, claimed(e, a.title, p.counts))
		if e.Reason != "" {
			p.detail(e, "model: "+oneLine(e.Reason))
		}
	case loop.AgentResumed:
		p.say(e, resumed)
	case loop.AgentStarted:
		p.detail(e, started(e))
	case loop.AgentText:
		p.speak(e, a)
	case loop.AgentThought:
		if p.opts.Verbose {
			p.speak(e, a)
		} else {
			p.hush(e, a)
		}
	case loop.AgentTool:
		p.tool(e, a)
	case loop.AgentPlan:
		for _, step := range e.Plan {
			p.detail(e, "plan: "+oneLine(step))
		}
	case loop.AgentUsage:
		p.detail(e, "used "+usage(e))
	case loop.AgentAsked:
		p.detail(e, asked(e))
	case loop.Prompted:
		p.prompted(e, a)
	case loop.GateStarted, loop.GateEnded:
		p.gate(e, a)
	case loop.JudgeStarted, loop.JudgeEnded:
		p.judge(e)
	case loop.Drifted:
		p.say(e, drifted(e))
	case loop.AttemptEnded:
		p.attemptEnded(e, a)
	case loop.Waiting:
		if !p.waitsAlready(e) {
			p.say(e, p.opts.waits(e))
		}
	case loop.Warned:
		p.say(e, with("warning", or(e.Text, e.Reason)))
	case loop.RunInterrupted:
		p.say(e, with("interrupted", or(e.Reason, e.Text)))
	case loop.RunEnded:
		p.hushAll(e)
		p.footer(e)
	default:
		p.detail(e, with(oneLine(string(e.Type)), or(e.Text, e.Reason)))
	}
}
