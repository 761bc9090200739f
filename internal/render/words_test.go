package render

import (
	"strings"
	"testing"

	"ralph/event"
	"ralph/internal/term"
)

func TestAReasonThatSaysTheSameIsNotRepeated(t *testing.T) {
	t.Parallel()
	for want, e := range map[string]event.Event{
		"interrupted in 3s":                {Outcome: "interrupted", Status: "pending", Reason: "interrupted", Duration: 3000},
		"interrupted in 3s: stopped by me": {Outcome: "interrupted", Status: "pending", Reason: "stopped by me", Duration: 3000},
	} {
		if got, _, _ := ended(e, &attempt{}); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestATerminalBreaksNoWord has terminals of several widths: no line but a single word is wider than they are.
func TestATerminalBreaksNoWord(t *testing.T) {
	t.Parallel()
	for _, width := range []int{40, 60, 80, 120} {
		for _, verbose := range []bool{false, true} {
			opts := Options{Width: func() int { return width }, Palette: term.Palette{On: true}, Verbose: verbose}
			shown := rendered(t, func(o Options) Sink { return NewTerminal(o) }, opts, sampleRun())
			for line := range strings.Lines(shown) {
				line = strings.TrimRight(term.Strip(line), "\n")
				if term.Width(line) > width && len(strings.Fields(line)) > 1 && !strings.HasPrefix(line, "── ") {
					t.Errorf("on %d columns %q is too wide", width, line)
				}
			}
		}
	}
}

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
