package model

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
)

// Server is a model that listens on loopback.
type Server struct {
	URL string

	http   *httptest.Server
	closed chan struct{}

	mu     sync.Mutex
	script Script
	seen   []Prompt
	tries  map[string][]string // prompts by kind and task
	faults map[string]int      // played so far
	errs   []string
}

// protocol reads requests of a provider and writes its answers.
type protocol interface {
	parse(body []byte) (request, error)
	write(w io.Writer, r request, text string, c *call) error
	failure(status int, text string) any
}

// New starts a server that plays a script.
func New(script Script) *Server {
	s := &Server{script: script, tries: map[string][]string{}, faults: map[string]int{}, closed: make(chan struct{})}
	mux := http.NewServeMux()
	mux.Handle("POST /v1/messages", s.serve(anthropic{}))
	mux.Handle("POST /v1/chat/completions", s.serve(chat{}))
	mux.Handle("POST /v1/responses", s.serve(responses{}))
	mux.HandleFunc("POST /v1beta/models/{call}", s.serveGemini)
	mux.HandleFunc("POST /v1/messages/count_tokens", func(w http.ResponseWriter, _ *http.Request) { reply(w, 200, map[string]any{"input_tokens": tokensIn}) })
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, 200, map[string]any{"object": "list", "data": []any{}, "models": []any{}})
	})
	s.http = httptest.NewServer(mux)
	s.URL = s.http.URL
	return s
}

// Play changes the script; what was seen and played is forgotten.
func (s *Server) Play(script Script) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script, s.seen, s.errs = script, nil, nil
	clear(s.tries)
	clear(s.faults)
}

// Seen lists the requests so far, without those that agents make for themselves.
func (s *Server) Seen() []Prompt {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.seen)
}

// Errors lists what a script wanted and could not be done.
func (s *Server) Errors() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.errs)
}

// Close ends the server; requests that hang are let go.
func (s *Server) Close() {
	close(s.closed)
	s.http.CloseClientConnections()
	s.http.Close()
}

func (s *Server) serve(p protocol) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, hr *http.Request) {
		body, err := io.ReadAll(hr.Body)
		if err != nil {
			return
		}
		r, err := p.parse(body)
		if err != nil {
			s.fail("%v in %.300s", err, body)
			reply(w, 400, p.failure(400, err.Error()))
			return
		}
		prompt, answer, fault := s.next(r)
		c, err := toolCall(answer, r.tools)
		if err != nil {
			s.fail("%s %s: %v", prompt.Kind, prompt.Task, err)
		}
		switch {
		case fault.Status != 0:
			w.Header().Set("Retry-After", "1")
			reply(w, fault.Status, p.failure(fault.Status, "scripted fault"))
			return
		case fault.Hang:
			select {
			case <-hr.Context().Done():
			case <-s.closed:
			}
			return
		}
		if r.stream {
			w.Header().Set("Content-Type", "text/event-stream")
		} else {
			w.Header().Set("Content-Type", "application/json")
		}
		out := io.Writer(w)
		if fault.Cut {
			out = &cutter{w: w, left: 400}
		}
		if err := p.write(out, r, answer.Text, c); err != nil {
			panic(http.ErrAbortHandler) // the connection breaks, as the fault wants it
		}
	})
}

// next asks the script, and says whether a fault is still to be played.
func (s *Server) next(r request) (Prompt, Answer, Fault) {
	p := r.prompt()
	if p.Kind == Side {
		text := "A title"
		if len(r.form.Properties) > 0 {
			text = arguments(&call{args: r.form.fill(nil)})
		}
		return p, Answer{Text: text}, Fault{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := string(p.Kind) + " " + p.Task
	if !slices.Contains(s.tries[key], p.Text) {
		s.tries[key] = append(s.tries[key], p.Text)
	}
	p.Try = slices.Index(s.tries[key], p.Text) + 1
	s.seen = append(s.seen, p)
	a := s.script(p)
	key = fmt.Sprint(key, " ", p.Try, " ", p.Turn)
	if n := s.faults[key]; a.Fault.Times >= 0 && n >= a.Fault.Times {
		return p, a, Fault{}
	}
	s.faults[key]++
	return p, a, a.Fault
}

func (s *Server) fail(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.errs = append(s.errs, fmt.Sprintf(format, args...))
}

// cutter lets so many bytes through and then breaks.
type cutter struct {
	w    http.ResponseWriter
	left int
}

func (c *cutter) Write(p []byte) (int, error) {
	if len(p) > c.left {
		_, _ = c.w.Write(p[:c.left])
		if f, ok := c.w.(http.Flusher); ok {
			f.Flush()
		}
		return c.left, io.ErrUnexpectedEOF
	}
	c.left -= len(p)
	return c.w.Write(p)
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a client that is gone wants no answer
}

// events writes server-sent events; the first error ends it.
type events struct {
	w   io.Writer
	err error
}

// send writes one event; without a name only its data.
func (e *events) send(name string, data any) {
	if e.err != nil {
		return
	}
	var b strings.Builder
	if name != "" {
		b.WriteString("event: " + name + "\n")
	}
	raw, err := json.Marshal(data)
	if err != nil {
		e.err = err
		return
	}
	b.WriteString("data: " + string(raw) + "\n\n")
	_, e.err = io.WriteString(e.w, b.String())
	if f, ok := e.w.(http.Flusher); ok {
		f.Flush()
	}
}

// pieces cuts a text as models do, so that sigils arrive in parts.
func pieces(text string) []string {
	var out []string
	for len(text) > 7 {
		out, text = append(out, text[:7]), text[7:]
	}
	return append(out, text)
}

// What every answer is said to have used.
const (
	tokensIn     = 1000
	tokensCached = 200
	tokensOut    = 50
)

type object = map[string]any

func arguments(c *call) string {
	raw, err := json.Marshal(c.args)
	if err != nil {
		panic(err) // maps of strings, numbers and lists can be written
	}
	return string(raw)
}
