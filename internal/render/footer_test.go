package render

import (
	"ralph/event"
)

// footerOnly says at the end of a run what happened, what failed and what to type
// next, and nothing before: what Terminal and Plain end with, alone.
type footerOnly struct {
	page
	tally tally
	opts  Options
}

// newFooter returns a sink that writes nothing before the run has ended.
func newFooter(opts Options) *footerOnly {
	opts = opts.withDefaults()
	return &footerOnly{page: page{out: opts.Out}, opts: opts}
}

// Event remembers what the footer will tell, and writes it at run_ended.
func (f *footerOnly) Event(e event.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tally.add(e)
	if e.Type == event.RunEnded {
		for _, line := range f.opts.footer(e, f.tally, f.opts.Width(), true) {
			f.line(line)
		}
		f.flush()
	}
}

// Close returns the first error that writing gave.
func (f *footerOnly) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.takeError()
}
