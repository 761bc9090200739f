package render

import (
	"bytes"
	"io"
	"strings"
	"sync"

	"ralph/internal/term"
)

// erase removes the line that was written in place.
const erase = "\r\x1b[K"

// page is where a sink for people writes: whole lines, text that streams, and at
// most one line in place below them. What one event gives is written at once.
type page struct {
	mu      sync.Mutex // held by the sink while it renders and writes
	out     io.Writer
	buf     bytes.Buffer
	columns func() int          // how wide a line may be; 0 means that lines are not broken
	midline bool                // text streams, and its line is not complete
	words   term.Wrapper        // of the text that streams
	voice   func(string) string // that it is painted with
	inPlace string              // the line that the next output removes
	err     error               // the first that writing gave
}

// line writes one line, below what is there. Where it has to be broken, its
// second part is set off from its beginning.
func (p *page) line(s string) {
	plain := term.Strip(s)
	p.hanging(s, len(plain)-len(strings.TrimLeft(plain, " "))+len(indent))
}

// hanging writes one line that is broken, if it has to be, with so much space before
// its other parts.
func (p *page) hanging(s string, space int) {
	p.fresh()
	for _, part := range term.Wrap(s, p.columns(), strings.Repeat(" ", space)) {
		p.buf.WriteString(part)
		p.buf.WriteByte('\n')
	}
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
	if text = p.words.Add(text, p.columns()); text != "" {
		p.takeBack()
		p.buf.WriteString(paint(text))
	}
}

// showHeld writes the word that stream holds.
func (p *page) showHeld() {
	if p.words.Held() {
		p.takeBack()
		p.buf.WriteString(p.voice(p.words.End(p.columns())))
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
