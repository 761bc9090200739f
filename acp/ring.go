package acp

import (
	"strings"
	"sync"
	"unicode/utf8"
)

// ring keeps the last bytes written to it. It grows as it is filled, up to
// its limit.
type ring struct {
	mu    sync.Mutex
	buf   []byte
	limit int
	cut   bool // something was lost from the beginning
}

func newRing(limit int) *ring { return &ring{limit: limit} }

// add never waits.
func (r *ring) add(p []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
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
