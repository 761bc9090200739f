package render

import (
	"maps"
	"slices"
	"time"

	"ralph/event"
)

// console is what the sinks for people have in common.
type console struct {
	page
	progress
	opts   Options
	shown  time.Time // when something was last written
	ticks  pulse
	byLine func() bool // speech is written by the line, not as it comes
	spoken func(e event.Event, a *attempt) func(line string)
}

func (c *console) speak(e event.Event, a *attempt) {
	thought := e.Type == event.AgentThought
	if a.speech.thought != thought {
		c.hush(e, a)
		a.speech.thought = thought
	}
	if c.byLine() {
		a.speech.lines(e.Text, c.spoken(e, a))
		return
	}
	c.stream(a.speech.stream(e.Text), c.paint(a))
}

// hush ends what an agent was saying.
func (c *console) hush(e event.Event, a *attempt) {
	if !a.speech.begun {
		return
	}
	if c.byLine() {
		a.speech.end(c.spoken(e, a))
		return
	}
	c.stream(a.speech.clean.end(), c.paint(a))
	a.speech.begun = false
	c.fresh()
}

// hushAll ends what agents were saying when the run ended over it.
func (c *console) hushAll(e event.Event) {
	for _, task := range slices.Sorted(maps.Keys(c.attempts)) {
		e.Task = task
		c.hush(e, c.attempts[task])
	}
}

func (c *console) paint(a *attempt) func(string) string {
	if a.speech.thought {
		return c.opts.Palette.Dim
	}
	return func(s string) string { return s }
}
