// Package chatserver has small servers that speak like Telegram's Bot API and like Slack, for tests only. They refuse what the
// real ones refuse.
package chatserver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"time"

	"ralph/internal/testing/check"
)

// Call is one call of a method.
type Call struct {
	Method string
	Values map[string]any // of the body
	Auth   string
	ID     int64 // of the message that Telegram makes of it
}

// Text is a value as text, "" if there is none.
func (c Call) Text(name string) string {
	if v, ok := c.Values[name]; ok {
		return fmt.Sprint(v)
	}
	return ""
}

// Buttons are the labels and the data of the buttons, in pairs.
func (c Call) Buttons() (list []string) {
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, inner := range v {
				walk(inner)
			}
		case map[string]any:
			if data, ok := v["callback_data"]; ok {
				list = append(list, v["text"].(string), data.(string))
			}
			if v["type"] == "button" {
				list = append(list, v["text"].(map[string]any)["text"].(string), v["value"].(string))
			}
			walk(v["inline_keyboard"])
			walk(v["elements"])
		}
	}
	walk(c.Values["reply_markup"])
	if blocks := c.Text("blocks"); blocks != "" {
		var v any
		if json.Unmarshal([]byte(blocks), &v) == nil {
			walk(v)
		}
	}
	return list
}

// Fault is what a method answers instead. A status of 0 drops the connection.
type Fault struct {
	Status int
	Header map[string]string
	Body   string
}

// base is what both servers have.
type base struct {
	*httptest.Server
	t check.TB

	mu      sync.Mutex
	changed chan struct{}
	calls   []Call
	taken   []bool // by Await
	fault   func(Call) *Fault
	next    int64
	closing chan struct{}
}

func (b *base) serve(t check.TB, handler http.Handler) {
	b.t, b.changed, b.closing = t, make(chan struct{}), make(chan struct{})
	b.Server = httptest.NewServer(handler)
}

// Close ends calls that wait, too.
func (b *base) Close() {
	close(b.closing)
	b.CloseClientConnections()
	b.Server.Close()
}

// signal wakes whoever waits. The lock is held.
func (b *base) signal() {
	close(b.changed)
	b.changed = make(chan struct{})
}

// Break makes calls answer what fault says, unless that is nil.
func (b *base) Break(fault func(Call) *Fault) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fault = fault
}

// took records a call, and answers it if it is to fail.
func (b *base) took(w http.ResponseWriter, c Call) (answered bool) {
	b.mu.Lock()
	b.calls, b.taken = append(b.calls, c), append(b.taken, false)
	fault := b.fault
	b.signal()
	b.mu.Unlock()
	if fault == nil {
		return false
	}
	f := fault(c)
	if f == nil {
		return false
	}
	if f.Status == 0 {
		panic(http.ErrAbortHandler)
	}
	for name, value := range f.Header {
		w.Header().Set(name, value)
	}
	w.WriteHeader(f.Status)
	_, _ = w.Write([]byte(f.Body))
	return true
}

// Await returns the first call of a method that has a text somewhere and that it has not returned before, and waits for it.
func (b *base) Await(method, text string) Call {
	b.t.Helper()
	var found Call
	b.until("a call of "+method+" with "+text, func() bool {
		for i, c := range b.calls {
			if !b.taken[i] && c.Method == method && strings.Contains(fmt.Sprint(c.Values), text) {
				b.taken[i], found = true, c
				return true
			}
		}
		return false
	})
	return found
}

// Calls lists the calls of a method so far.
func (b *base) Calls(method string) []Call {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(b.calls), func(c Call) bool { return c.Method != method })
}

// until waits for what other goroutines bring about. It is looked at with the lock held.
func (b *base) until(what string, ok func() bool) {
	b.t.Helper()
	late := time.After(time.Minute) // a test that takes so long has failed
	for {
		b.mu.Lock()
		done, changed := ok(), b.changed
		calls := b.calls
		b.mu.Unlock()
		if done {
			return
		}
		select {
		case <-changed:
		case <-late:
			b.t.Fatalf("%s: it does not come; got %v", what, calls)
		}
	}
}

func answer(w http.ResponseWriter, status int, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		status = http.StatusInternalServerError
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(data)
}
