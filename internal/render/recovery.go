package render

import (
	"ralph/event"
)

// recovery tells what was made of all that dead runs left; that there was nothing
// is for those who want to know everything.
func (t *Terminal) recovery(e event.Event) {
	if clean(e) {
		t.detail(e, oneLine(e.Reason))
		return
	}
	t.say(e, t.opts.Palette.Yellow("↻ "+with("recovery", e.Reason)))
}

func (p *Plain) recovery(e event.Event) {
	if clean(e) {
		p.detail(e, oneLine(e.Reason))
		return
	}
	p.say(e, with("recovery", e.Reason))
}

func clean(e event.Event) bool { return e.Recovery == nil || *e.Recovery == (event.Recovery{}) }
