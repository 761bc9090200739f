package acp

import (
	"io"
	"os"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/rs/zerolog"

	"ralph/internal/redact"
)

const (
	maxStderr  = 16 << 20 // kept of one session
	stderrTail = 8 << 10  // kept for errors
)

// stderrLog copies an agent's stderr, redacted, and remembers its end. It reads to
// the end whatever happens: an agent must not block on it.
type stderrLog struct {
	r    *os.File
	w    io.Writer // nil when there is none, or no more
	log  zerolog.Logger
	tail *ring
	size int
	done chan struct{}
}

func copyStderr(r *os.File, w io.Writer, hide *redact.Redactor, log zerolog.Logger) *stderrLog {
	s := &stderrLog{r: r, w: w, log: log, tail: &ring{limit: stderrTail}, done: make(chan struct{})}
	go func() {
		defer close(s.done)
		defer r.Close()
		clean := hide.Writer(s)
		_, _ = io.Copy(clean, r) // neither fails but at the end of r
		_ = clean.Close()
	}()
	return s
}

// Write keeps text that is redacted. It never fails.
func (s *stderrLog) Write(p []byte) (int, error) {
	_, _ = s.tail.Write(p)
	if s.w == nil {
		return len(p), nil
	}
	kept := p
	if s.size += len(p); s.size > maxStderr {
		kept = []byte("\nralph: the rest of stderr was not kept\n")
	}
	_, err := s.w.Write(kept)
	if err != nil {
		s.log.Warn().Err(err).Msg("stderr log ends early")
	}
	if err != nil || s.size > maxStderr {
		s.w = nil
	}
	return len(p), nil
}

func (s *stderrLog) last() string {
	text, _ := s.tail.text()
	return text
}

// ring keeps the last bytes written to it. It grows as it is filled, up to
// its limit.
type ring struct {
	limit int
	alive func() // called at every write; may be nil

	mu  sync.Mutex
	buf []byte
	cut bool // something was lost from the beginning
}

// Write never waits and never fails.
func (r *ring) Write(p []byte) (int, error) {
	if r.alive != nil {
		r.alive()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	written := len(p)
	if len(p) > r.limit {
		p, r.buf, r.cut = p[len(p)-r.limit:], r.buf[:0], true
	}
	r.buf = append(r.buf, p...)
	// Twice the limit is held before the old half is moved out, so that a
	// flood costs one copy of each byte and not one of the whole each time.
	if len(r.buf) > 2*r.limit {
		r.buf = r.buf[:copy(r.buf, r.buf[len(r.buf)-r.limit:])]
		r.cut = true
	}
	return written, nil
}

// text is what is kept, from the beginning of a rune on, and whether that is
// not all there was. Bytes that are no UTF-8 are replaced.
func (r *ring) text() (text string, truncated bool) {
	r.mu.Lock()
	kept, truncated := r.buf, r.cut
	if len(kept) > r.limit {
		kept, truncated = kept[len(kept)-r.limit:], true
	}
	if truncated {
		for i := 0; i < utf8.UTFMax && len(kept) > 0 && !utf8.RuneStart(kept[0]); i++ {
			kept = kept[1:]
		}
	}
	text = string(kept)
	r.mu.Unlock()
	return strings.ToValidUTF8(text, "\uFFFD"), truncated
}
