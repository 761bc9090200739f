package web

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// item is one thing in a file that grows, and where it ends there.
type item struct {
	end  int64
	size int
	data any
}

// reader reads what is new in a file.
type reader struct {
	from int64 // where it begins
	read func(add func(item)) error
}

// followers share one look at each file among all who read it: 200 open pages cost as much as one.
type followers struct {
	mu   sync.Mutex
	open map[string]*follower
}

// follower keeps the last things of one file.
type follower struct {
	reader  // used by one goroutine at a time, with mu
	path    string
	readers int // under the mutex of followers
	first   sync.Once
	stop    chan struct{}

	mu      sync.Mutex
	items   []item
	size    int
	changed chan struct{} // closed when there is more
	looks   int
}

// What is kept of a file. Who has seen less than its beginning loads the page again.
const (
	keptItems = 5000
	keptBytes = 4 << 20
	fileLook  = 250 * time.Millisecond
	lingering = 10 * time.Second
)

// enter finds who follows a file, or begins to. Whoever enters leaves.
func (f *followers) enter(path string, begin func() reader) *follower {
	f.mu.Lock()
	at := f.open[path]
	if at == nil {
		at = &follower{path: path, stop: make(chan struct{}), changed: make(chan struct{})}
		if f.open == nil {
			f.open = map[string]*follower{}
		}
		f.open[path] = at
	}
	at.readers++
	f.mu.Unlock()
	at.first.Do(func() { // the others wait for it, but not who reads other files
		at.reader = begin()
		at.look()
		go at.run()
	})
	return at
}

// leave ends what was entered. The file is followed a while longer: a page that is loaded comes back for what is new.
func (f *followers) leave(at *follower) {
	time.AfterFunc(lingering, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if at.readers--; at.readers == 0 && f.open[at.path] == at {
			delete(f.open, at.path)
			close(at.stop)
		}
	})
}

// end stops following all files: the server ends.
func (f *followers) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, at := range f.open {
		close(at.stop)
	}
	f.open = nil
}

func (f *follower) run() {
	tick := time.NewTicker(fileLook)
	defer tick.Stop()
	for {
		select {
		case <-f.stop:
			return
		case <-tick.C:
			f.look()
		}
	}
}

// look reads what is new. What cannot be read now may be read at the next look.
func (f *follower) look() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.looks++
	before := len(f.items)
	_ = f.read(func(i item) { f.items, f.size = append(f.items, i), f.size+i.size })
	if len(f.items) == before {
		return
	}
	drop := 0
	for ; len(f.items)-drop > keptItems || f.size > keptBytes && drop < len(f.items)-1; drop++ {
		f.size -= f.items[drop].size
		f.from = f.items[drop].end
	}
	f.items = append([]item(nil), f.items[drop:]...)
	close(f.changed)
	f.changed = make(chan struct{})
}

// after returns what follows a place, and what is closed when there is more. False means that the place is too far back.
func (f *follower) after(place int64) (items []item, next <-chan struct{}, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	at := 0
	for at < len(f.items) && f.items[at].end <= place {
		at++
	}
	return f.items[at:len(f.items):len(f.items)], f.changed, place >= f.from
}

// serve sends what follows the place that the reader has seen, as it comes: events named "add" with HTML, whose IDs are
// places in the file. A reader that is too far back is told "again": to load the page.
func (f *follower) serve(w http.ResponseWriter, r *http.Request, html func([]item) (template.HTML, error)) {
	seen, err := strconv.ParseInt(cmp.Or(r.Header.Get("Last-Event-ID"), r.URL.Query().Get("after")), 10, 64)
	if err != nil {
		seen = 0
	}
	out := newStream(w)
	if out.comment() != nil { // the browser knows that it is connected
		return
	}
	for {
		items, next, ok := f.after(seen)
		if !ok {
			_ = out.event(strconv.FormatInt(seen, 10), "again", "")
			return
		}
		for len(items) > 0 {
			part := items[:min(len(items), 200)]
			items = items[len(part):]
			text, err := html(part)
			if err != nil {
				return
			}
			data, _ := json.Marshal(string(text)) // one line
			seen = part[len(part)-1].end
			if out.event(strconv.FormatInt(seen, 10), "add", string(data)) != nil {
				return
			}
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

// fragment fills a part of a page's template.
func (s *Server) fragment(page, name string, data any) (template.HTML, error) {
	var b bytes.Buffer
	if err := s.pages[page].ExecuteTemplate(&b, name, data); err != nil {
		return "", fmt.Errorf("%s of %s: %w", name, page, err)
	}
	return template.HTML(b.String()), nil // html/template has made it
}
