package show

import (
	"bytes"
	"io"
	"sync"
)

// erase takes back the line that was written in place.
const erase = "\r\x1b[K"

// page is where a sink for people writes: whole lines, text that streams, and at
// most one line in place below them. What one event gives is written at once.
type page struct {
	mu      sync.Mutex // held by the sink while it renders and writes
	out     io.Writer
	buf     bytes.Buffer
	midline bool   // text streams, and its line is not complete
	inPlace string // the line that the next output takes back
	err     error  // the first that writing gave
}

// line writes one line, below whatever is there.
func (p *page) line(s string) {
	p.fresh()
	p.buf.WriteString(s)
	p.buf.WriteByte('\n')
}

// fresh begins a new line unless one has just begun.
func (p *page) fresh() {
	p.takeBack()
	if p.midline {
		p.buf.WriteByte('\n')
		p.midline = false
	}
}

// stream writes text as it is; paint is applied to it whole.
func (p *page) stream(text string, paint func(string) string) {
	if text == "" {
		return
	}
	p.takeBack()
	p.midline = text[len(text)-1] != '\n'
	p.buf.WriteString(paint(text))
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

// takeError returns the first error of writing, once.
func (p *page) takeError() error {
	err := p.err
	p.err = nil
	return err
}
