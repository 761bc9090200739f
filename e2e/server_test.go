package e2e

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

// Kind is what a prompt asks for.
type Kind string

const (
	Work   Kind = "work"   // a task
	Verify Kind = "verify" // a verdict about a task
	Other  Kind = "other"  // anything else that is said to the agent
	Side   Kind = "side"   // what agents ask for themselves, such as a title
)

// Prompt is one request, as a script sees it.
type Prompt struct {
	Kind  Kind
	Task  string // t-...; empty if there is none
	Try   int    // the nth different prompt of this kind for this task
	Turn  int    // how many tools were called since the prompt
	Text  string
	Model string // as the agent asked for it
	Tool  string // what the last tool said
}

// Answer is what the model says: some text and at most one tool call.
type Answer struct {
	Text  string
	Write *File // by the agent's own tool
	Shell string
	Plan  bool // update the agent's to-do list, or do nothing if it has none
	Own   *Own
	Fault Fault // happens first, so many times
}

type File struct{ Path, Content string }

// Own is a call of one of ralph's own tools, whatever the agent calls it.
type Own struct {
	Name string
	Args object
}

// Fault is a way to fail.
type Fault struct {
	Status int  // answered instead; 429, 529, 401, ...
	Hang   bool // no answer at all, until the client gives up
	Cut    bool // the connection breaks in the middle of the answer
	Times  int  // how often; 0 means that there is no fault, -1 for ever
}

// Script decides what to answer. It is called from many goroutines.
type Script func(Prompt) Answer

// Server is a language model on loopback that plays a script. It speaks what coding
// agents speak to their providers, streaming or not, and fails as providers do.
type Server struct {
	*httptest.Server
	closed chan struct{}

	mu     sync.Mutex
	script Script
	seen   []Prompt
	tries  map[string][]string // prompts by kind and task
	faults map[string]int      // played so far
	errs   []string
}

func newServer(script Script) *Server {
	s := &Server{closed: make(chan struct{})}
	s.Play(script)
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/messages", s.serve(dialect{writeAnthropic, anthropicFailure}))
	mux.HandleFunc("POST /v1/chat/completions", s.serve(dialect{writeChat, openAIFailure}))
	mux.HandleFunc("POST /v1/responses", s.serve(dialect{writeResponses, openAIFailure}))
	mux.HandleFunc("POST /v1beta/models/{call}", s.serve(dialect{writeGemini, geminiFailure}))
	mux.HandleFunc("POST /v1/messages/count_tokens", func(w http.ResponseWriter, _ *http.Request) { reply(w, 200, object{"input_tokens": tokensIn}) })
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, 200, object{"object": "list", "data": []any{}, "models": []any{}})
	})
	s.Server = httptest.NewServer(mux)
	return s
}

// Play changes the script; what was seen and played is forgotten.
func (s *Server) Play(script Script) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script, s.seen, s.errs = script, nil, nil
	s.tries, s.faults = map[string][]string{}, map[string]int{}
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
	s.CloseClientConnections()
	s.Server.Close()
}

// dialect is how a provider writes its answers. Requests are read alike.
type dialect struct {
	write   func(w io.Writer, r request, text string, c *call) error
	failure func(status int, text string) object
}

func (s *Server) serve(d dialect) http.HandlerFunc {
	return func(w http.ResponseWriter, hr *http.Request) {
		body, err := io.ReadAll(hr.Body)
		if err != nil {
			return
		}
		r, err := parse(body)
		if err != nil {
			s.fail("%v in %.300s", err, body)
			reply(w, 400, d.failure(400, err.Error()))
			return
		}
		// Google has these in the path: MODEL:METHOD.
		if name, method, ok := strings.Cut(hr.PathValue("call"), ":"); ok {
			r.Model, r.Stream = name, method == "streamGenerateContent"
			if method == "countTokens" {
				reply(w, 200, object{"totalTokens": tokensIn})
				return
			}
		}
		prompt, answer, fault := s.next(r)
		c, err := toolCall(answer, r.tools)
		if err != nil {
			s.fail("%s %s: %v", prompt.Kind, prompt.Task, err)
		}
		switch {
		case fault.Status != 0:
			w.Header().Set("Retry-After", "1")
			reply(w, fault.Status, d.failure(fault.Status, "scripted fault"))
			return
		case fault.Hang:
			select {
			case <-hr.Context().Done():
			case <-s.closed:
			}
			return
		case r.Stream:
			w.Header().Set("Content-Type", "text/event-stream")
		default:
			w.Header().Set("Content-Type", "application/json")
		}
		out := io.Writer(w)
		if fault.Cut {
			out = &cutter{w: w, left: 400}
		}
		if err := d.write(out, r, answer.Text, c); err != nil {
			panic(http.ErrAbortHandler) // the connection breaks, as the fault wants it
		}
	}
}

// next asks the script, and says whether a fault is still to be played.
func (s *Server) next(r request) (Prompt, Answer, Fault) {
	p := r.prompt()
	if p.Kind == Side {
		text := "A title"
		if form := r.Config.Form; len(form.Properties) > 0 {
			text = encode(form.fill(nil))
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
		c.w.(http.Flusher).Flush()
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
