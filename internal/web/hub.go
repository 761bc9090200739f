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
	wake    chan struct{} // a reader came, or somebody knows of a change
	poked   bool
}

const (
	hubLook    = 250 * time.Millisecond // from one look at the database to the next
	hubRefresh = 5 * time.Second        // after which pages look again anyway: a run that died reports nothing
	writeLimit = 10 * time.Second       // for one event; a reader that takes longer is dropped
	keepAlive  = 25 * time.Second
)

func newHub(opts Options) *hub {
	return &hub{opts: opts, boot: rand.Text()[:8], changed: make(chan struct{}), wake: make(chan struct{}, 1)}
}

// run looks for changes until the context ends.
func (h *hub) run(ctx context.Context) {
	var p *Project
	var version int64
	defer func() {
		if p != nil {
			_ = p.Close()
		}
	}()
	tick := time.NewTicker(hubLook)
	defer tick.Stop()
	last := h.opts.Now()
	for {
		if h.idle() {
			select {
			case <-ctx.Done():
				return
			case <-h.wake:
			}
		} else {
			select {
			case <-ctx.Done():
				return
			case <-h.wake:
			case <-tick.C:
			}
		}
		if p != nil && !p.Intact() {
			_ = p.Close()
			p = nil
			h.bump()
		}
		if p == nil {
			p, _ = h.opts.Open(ctx) // the next look tries again, and the page says what is wrong
			if p == nil {
				continue
			}
			version, _ = p.Version(ctx)
			h.bump()
			continue
		}
		now, err := p.Version(ctx)
		if at := h.opts.Now(); err != nil || now != version || at.Sub(last) >= hubRefresh || h.takePoke() {
			version, last = now, at
			h.bump()
		}
	}
}

func (h *hub) idle() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.readers == 0
}

// poke says that something was changed by this process.
func (h *hub) poke() {
	h.mu.Lock()
	h.poked = true
	h.mu.Unlock()
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

func (h *hub) takePoke() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	poked := h.poked
	h.poked = false
	return poked
}

func (h *hub) bump() {
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

func (h *hub) enter(by int) {
	h.mu.Lock()
	h.readers += by
	h.mu.Unlock()
	h.poke()
}

// serveLive tells a page whenever something has changed. One that comes back with the number of the last change that it saw
// is told at once what it missed: that it has to look again.
func (s *Server) serveLive(w http.ResponseWriter, r *http.Request) {
	s.hub.enter(1)
	defer s.hub.enter(-1)
	out := newStream(w)
	seen := r.Header.Get("Last-Event-ID")
	for {
		id, next := s.hub.state()
		if id != seen {
			if out.event(id, "changed", "") != nil {
				return
			}
			seen = id
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
