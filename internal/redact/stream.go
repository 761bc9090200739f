package redact

import (
	"io"
	"slices"
	"strings"
	"sync"
)

// Stream redacts text that comes in pieces. The end of what came is held back as
// long as it could be the beginning of a secret, and no longer. All that a Stream
// returns, joined, is what Text makes of all that it was given.
type Stream struct {
	redactor *Redactor
	held     string
	covered  int    // bytes at the start of held that are known to belong to a secret
	hidden   bool   // the last byte that was returned belonged to one
	before   string // the last two bytes before held
}

// Stream returns a Stream of its own for one text.
func (r *Redactor) Stream() *Stream { return &Stream{redactor: r} }

// Push takes the next piece and returns what can be shown.
func (s *Stream) Push(piece string) string {
	known := s.redactor.known()
	text := s.held + piece
	return s.take(known, text, len(text)-known.partial(s.before, text))
}

// Flush ends the text and returns the rest of it. The Stream can be used for
// another one.
func (s *Stream) Flush() string {
	out := s.take(s.redactor.known(), s.held, len(s.held))
	s.hidden, s.before = false, ""
	return out
}

// Holds says that the end of the text so far is held back.
func (s *Stream) Holds() bool { return s.held != "" }

// take returns text up to end, redacted, and holds back the rest.
func (s *Stream) take(known *patterns, text string, end int) string {
	spans := known.find(s.before, text)
	if s.covered > 0 {
		spans = join(append(spans, span{0, s.covered}))
	}
	s.before = lastTwo(s.before, text[:end])
	s.held, s.covered = text[end:], 0
	if i := slices.IndexFunc(spans, func(sp span) bool { return sp.to > end }); i >= 0 {
		last := spans[i]
		if spans = spans[:i]; last.from <= end {
			s.covered = last.to - end
		}
		if last.from < end {
			spans = append(spans, span{last.from, end})
		}
	}
	if len(spans) == 0 && !s.hidden {
		return text[:end]
	}
	var b strings.Builder
	s.write(&b, text[:end], spans)
	return b.String()
}

// write writes text with a placeholder for each span.
func (s *Stream) write(b *strings.Builder, text string, spans []span) {
	at := 0
	for _, sp := range spans {
		if sp.from > at {
			b.WriteString(text[at:sp.from])
			s.hidden = false
		}
		if !s.hidden {
			b.WriteString(Placeholder)
		}
		s.hidden, at = true, sp.to
	}
	if at < len(text) {
		b.WriteString(text[at:])
		s.hidden = false
	}
}

// Whole returns a writer to w that takes each write for a text of its own and holds
// nothing back: for a terminal, which is written to in whole lines.
func (r *Redactor) Whole(w io.Writer) io.Writer { return whole{r, w} }

type whole struct {
	redactor *Redactor
	to       io.Writer
}

func (w whole) Write(p []byte) (int, error) {
	if _, err := w.to.Write(w.redactor.Bytes(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Writer redacts what is written through it. Close writes what was held back.
type Writer struct {
	mu     sync.Mutex
	to     io.Writer
	stream *Stream
}

// Writer returns a writer to w, which it never closes.
func (r *Redactor) Writer(w io.Writer) *Writer { return &Writer{to: w, stream: r.Stream()} }

// Write takes all of p, also if part of it is held back.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.pass(w.stream.Push(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Close writes what was held back. The Writer can still be used.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.pass(w.stream.Flush())
}

func (w *Writer) pass(text string) error {
	if text == "" {
		return nil
	}
	_, err := io.WriteString(w.to, text)
	return err
}
