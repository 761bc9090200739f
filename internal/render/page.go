package render

import (
	"bytes"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"ralph/event"
	"ralph/internal/term"
)

// erase takes back the line that was written in place.
const erase = "\r\x1b[K"

// page is where a sink for people writes: whole lines, text that streams, and at
// most one line in place below them. What one event gives is written at once.
type page struct {
	mu      sync.Mutex // held by the sink while it renders and writes
	out     io.Writer
	buf     bytes.Buffer
	columns func() int          // how wide a line may be; nil or 0 means that lines are not broken
	midline bool                // text streams, and its line is not complete
	words   term.Wrapper        // of the text that streams
	voice   func(string) string // that it is painted with
	inPlace string              // the line that the next output takes back
	err     error               // the first that writing gave
}

// line writes one line, below whatever is there. Where it has to be broken, its
// second part is set off from its beginning.
func (p *page) line(s string) {
	plain := term.Strip(s)
	p.hanging(s, len(plain)-len(strings.TrimLeft(plain, " "))+len(indent))
}

// hanging writes one line that is broken, if it has to be, with so much space before
// its other parts.
func (p *page) hanging(s string, space int) {
	p.fresh()
	for _, part := range term.Wrap(s, p.width(), strings.Repeat(" ", space)) {
		p.buf.WriteString(part)
		p.buf.WriteByte('\n')
	}
}

func (p *page) width() int {
	if p.columns == nil {
		return 0
	}
	return p.columns()
}

// fresh begins a new line unless one has just begun.
func (p *page) fresh() {
	p.takeBack()
	if p.midline {
		p.showHeld()
		p.buf.WriteByte('\n')
		p.midline, p.words = false, term.Wrapper{}
	}
}

// stream writes text in lines that are broken at words; paint is applied to it whole.
// The last word is held until it is whole.
func (p *page) stream(text string, paint func(string) string) {
	if text == "" {
		return
	}
	p.midline, p.voice = text[len(text)-1] != '\n', paint
	if text = p.words.Add(text, p.width()); text != "" {
		p.takeBack()
		p.buf.WriteString(paint(text))
	}
}

// showHeld writes the word that stream holds.
func (p *page) showHeld() {
	if p.words.Held() {
		p.takeBack()
		p.buf.WriteString(p.voice(p.words.End(p.width())))
	}
}

// replace writes a line in place of the last such line. It must fit the width of
// the terminal: a line that wraps cannot be taken back.
func (p *page) replace(s string) {
	if s == p.inPlace {
		return
	}
	p.fresh()
	p.inPlace = s
	p.buf.WriteString(s)
}

func (p *page) takeBack() {
	if p.inPlace != "" {
		p.buf.WriteString(erase)
		p.inPlace = ""
	}
}

// flush writes what the event gave, in one call, and says whether there was any.
// A reader that went away must not end the run, so an error is only kept.
func (p *page) flush() bool {
	if p.buf.Len() == 0 {
		return false
	}
	if _, err := p.out.Write(p.buf.Bytes()); err != nil && p.err == nil {
		p.err = err
	}
	p.buf.Reset()
	return true
}

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

// Close takes back what was written in place, and returns the first error that writing
// gave, once.
func (c *console) Close() error {
	c.ticks.end()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fresh()
	c.flush()
	err := c.err
	c.err = nil
	return err
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
