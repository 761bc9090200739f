package web

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// hub tells open pages that something has changed. It looks at the database while anybody is there, so that 200 pages cost
// one look, and a server that nobody watches costs nothing.
type hub struct {
	opts Options
	boot string // tells the numbers of this server from those of the one before it

	mu      sync.Mutex
	n       int           // changes so far
	changed chan struct{} // closed at the next one
	readers int
	wake    chan struct{} // the first reader came
}

const (
	hubLook    = 250 * time.Millisecond // from one look at the database to the next
	hubReader  = 10 * time.Millisecond  // longer for each reader: each looks at its page again
	hubRefresh = 5 * time.Second        // after which pages look again anyway: a run that died reports nothing
	writeLimit = 10 * time.Second       // for one event; a reader that takes longer is dropped
	keepAlive  = 25 * time.Second
)

func newHub(opts Options) *hub {
	return &hub{opts: opts, boot: rand.Text()[:8], changed: make(chan struct{}), wake: make(chan struct{}, 1)}
}

// run looks for changes until the context ends.
func (h *hub) run(ctx context.Context) {
	var seen watched
	defer seen.close()
	for {
		var wait <-chan time.Time // for ever, while nobody is there
		if pause := h.pause(); pause > 0 {
			wait = time.After(pause)
		}
		select {
		case <-ctx.Done():
			return
		case <-h.wake:
		case <-wait:
		}
		if h.pause() > 0 && seen.look(ctx, h.opts) {
			h.poke()
		}
	}
}

// pause is the time from one look to the next, and from one event to the next; 0 while there is nobody to tell.
func (h *hub) pause() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.readers == 0 {
		return 0
	}
	return max(hubLook, time.Duration(h.readers)*hubReader)
}

// watched is the project as it was seen last.
type watched struct {
	p       *Project
	version int64
	at      time.Time
}

// look says whether anything may have changed since the last look: also that the database is gone, or another one.
func (w *watched) look(ctx context.Context, opts Options) bool {
	gone := w.p != nil && !w.p.Intact()
	if gone {
		w.close()
	}
	if w.p == nil {
		var err error
		if w.p, err = opts.Open(ctx); err != nil {
			w.p = nil // the next look tries again, and the page says what is wrong
			return gone
		}
		w.version, _ = w.p.Version(ctx)
		w.at = opts.Now()
		return true
	}
	now, err := w.p.Version(ctx)
	if at := opts.Now(); err != nil || now != w.version || at.Sub(w.at) >= hubRefresh {
		w.version, w.at = now, at
		return true
	}
	return false
}

func (w *watched) close() {
	if w.p != nil {
		_ = w.p.Close()
		w.p = nil
	}
}

// poke tells everybody that something has changed.
func (h *hub) poke() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.n++
	close(h.changed)
	h.changed = make(chan struct{})
}

// state is the number of the last change, and what is closed at the next one.
func (h *hub) state() (id string, next <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return fmt.Sprintf("%s-%d", h.boot, h.n), h.changed
}

// enter counts the readers. While there is none, nobody looks.
func (h *hub) enter(by int) {
	h.mu.Lock()
	h.readers += by
	first := h.readers == 1 && by == 1
	h.mu.Unlock()
	if first {
		select {
		case h.wake <- struct{}{}:
		default:
		}
	}
}

// serveLive tells a page whenever something has changed. One that comes back with the number of the last change that it saw
// is told at once what it missed: that it has to look again.
func (s *Server) serveLive(w http.ResponseWriter, r *http.Request) {
	s.hub.enter(1)
	defer s.hub.enter(-1)
	out := newStream(w)
	if out.comment() != nil { // a browser knows that it is connected
		return
	}
	seen := r.Header.Get("Last-Event-ID")
	for {
		id, next := s.hub.state()
		if id != seen {
			if out.event(id, "changed", "") != nil {
				return
			}
			seen = id
			select { // many changes are one
			case <-r.Context().Done():
				return
			case <-time.After(s.hub.pause()):
			}
			continue
		}
		select {
		case <-r.Context().Done():
			return
		case <-next:
		case <-time.After(keepAlive):
			if out.comment() != nil {
				return
			}
		}
	}
}

// stream writes server-sent events.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
}

func newStream(w http.ResponseWriter) stream {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // proxies pass events on at once
	return stream{w, http.NewResponseController(w)}
}

// event writes one; data is one line. A reader that does not take it in time is dropped.
func (s stream) event(id, name, data string) error {
	return s.write(fmt.Sprintf("id: %s\nevent: %s\ndata: %s\n\n", id, name, data))
}

func (s stream) comment() error { return s.write(":\n\n") }

func (s stream) write(text string) error {
	_ = s.control.SetWriteDeadline(deadline(writeLimit)) // an error of it is that of the write
	if _, err := s.w.Write([]byte(text)); err != nil {
		return err
	}
	return s.control.Flush()
}
