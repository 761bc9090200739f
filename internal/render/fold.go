package render

import "ralph/internal/event"

// fold is the part of a log that a CI service shows folded.
type fold struct {
	title string
	begin string // begins it, if that is not written yet
	end   string // ends it; empty when nothing is folded
}

// refused says that a gate did not accept the work.
func refused(e event.Event) bool {
	return e.Gate != nil && !e.Gate.Accepted() && e.Reason == ""
}

// newFold writes a line as the title of what follows, if that can be folded: the steps of
// tasks that run at once cannot.
func (c *Console) newFold(e event.Event, s string) {
	if c.opts.Fold == nil || c.opts.Quiet || c.setup.Jobs > 1 {
		c.say(e, s)
		return
	}
	c.endFold()
	c.beginFold(c.lead(e) + s)
}

func (c *Console) beginFold(title string) {
	c.fold.title = title
	c.fold.begin, c.fold.end = c.opts.Fold(title)
}

// openFold writes the title of what is folded when there is something to fold: a
// warning, which is never folded, would leave an empty part with the same title.
func (c *Console) openFold() {
	if c.fold.begin != "" {
		c.fresh()
		c.buf.WriteString(c.fold.begin)
		c.fold.begin = ""
	}
}

func (c *Console) endFold() {
	c.openFold()
	c.fresh()
	c.buf.WriteString(c.fold.end)
	c.fold = fold{}
}

// outsideFold interrupts what is folded.
func (c *Console) outsideFold(write func()) {
	title := c.fold.title
	if c.fold.begin == "" {
		c.endFold()
	}
	c.fold = fold{}
	write()
	if title != "" {
		c.beginFold(title)
	}
}

// showHeldGate writes the failed gate that was held back, when the next event says whether
// it belongs to the steps or is why the attempt ended, which is never folded.
func (c *Console) showHeldGate(e event.Event, a *attempt) {
	if e.Type == event.AttemptEnded {
		c.endFold()
	}
	if a.held == nil || utterance(e) {
		return
	}
	held := *a.held
	a.held = nil
	c.gateEnded(held, a)
}
