package e2e

import (
	"cmp"
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
	Body  string // all of the request
}

// Answer is what the model says: some text and at most one tool call.
type Answer struct {
	Text  string
	Write *File // by the agent's own tool
	Shell string
	Plan  bool // update the agent's to-do list, or do nothing if it has none
	Own   *Own
	Raw   *Raw
	Short bool  // the answer is longer than allowed, and ends there
	Fault Fault // happens first, so many times
}

type File struct{ Path, Content string }

// Own is a call of one of ralph's own tools, whatever the agent calls it.
type Own struct {
	Name string
	Args object
}

// Raw is a call as a model writes it that makes mistakes: of any name, with anything for arguments.
type Raw struct{ Name, Args string }

// Fault is a way to fail.
type Fault struct {
	Status  int    // answered instead; 429, 529, 401, ...
	After   string // Retry-After of it, in seconds; "none" for none, and empty for 1
	TooLong bool   // it says that the request does not fit into the window
	Hang    bool   // no answer at all, until the client gives up
	Stall   bool   // the same in the middle of the answer
	Cut     bool   // the connection breaks in the middle of the answer
	Error   bool   // the stream says in the middle of the answer that the model is overloaded, and ends
	Times   int    // how often; 0 means that there is no fault, -1 for ever
}

// Script decides what to answer. It is called from many goroutines.
type Script func(Prompt) Answer

// Server is a language model on loopback that plays a script. It speaks what coding
// agents speak to their providers, streaming or not, and fails as providers do.
type Server struct {
	*httptest.Server
	closed chan struct{}

	mu     sync.Mutex
	offers []string // models
	window int      // of each of them, in tokens; 0 if it takes anything
	script Script
	seen   []Prompt
	bills  []bill
	held   int                 // requests that hang
	tries  map[string][]string // prompts by kind and task
	faults map[string]int      // played so far
	errs   []string
}

// newServer plays a script; it offers the models, or does not say which there are.
func newServer(script Script, models ...string) *Server {
	s := &Server{closed: make(chan struct{}), offers: models}
	s.Play(script)
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/messages", s.serve(dialect{writeAnthropic, anthropicFailure, anthropicTooLong}))
	mux.HandleFunc("POST /v1/chat/completions", s.serve(dialect{writeChat, openAIFailure, openAITooLong}))
	mux.HandleFunc("POST /v1/responses", s.serve(dialect{writeResponses, openAIFailure, openAITooLong}))
	mux.HandleFunc("POST /v1beta/models/{call}", s.serve(dialect{writeGemini, geminiFailure, geminiTooLong}))
	mux.HandleFunc("POST /v1/messages/count_tokens", func(w http.ResponseWriter, _ *http.Request) { reply(w, 200, object{"input_tokens": 1000}) })
	mux.HandleFunc("GET /v1/models", s.list)
	s.Server = httptest.NewServer(mux)
	return s
}

// Narrow gives the models a window of so many tokens. A longer request is refused, and is an error of the script.
func (s *Server) Narrow(tokens int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.window = tokens
}

func (s *Server) tooLong(body []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	tokens := len(body) / 4
	if s.window == 0 || tokens <= s.window {
		return false
	}
	s.errs = append(s.errs, fmt.Sprintf("a request of %d tokens in a window of %d", tokens, s.window))
	return true
}

// list tells the models in the words of all dialects: each reads its own.
func (s *Server) list(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	data := []object{}
	for _, id := range s.offers {
		one := object{
			"id": id, "object": "model", "created": 0, "owned_by": "test", // OpenAI
			"type": "model", "display_name": id, "created_at": "2026-01-01T00:00:00Z", // Anthropic
		}
		if s.window > 0 {
			one["max_input_tokens"], one["context_length"] = s.window, s.window // Anthropic, and servers like OpenAI's
		}
		data = append(data, one)
	}
	reply(w, 200, object{"object": "list", "data": data, "has_more": false, "models": []any{}})
}

// Play changes the script; what was seen and played is forgotten.
func (s *Server) Play(script Script) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script, s.seen, s.bills, s.held, s.errs = script, nil, nil, 0, nil
	s.tries, s.faults = map[string][]string{}, map[string]int{}
}

// Seen lists the requests so far, without those that agents make for themselves.
func (s *Server) Seen() []Prompt {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.seen)
}

// Held counts the requests that hang, or hung.
func (s *Server) Held() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held
}

// bill is what one answer has used.
type bill struct {
	Prompt
	used
}

// Bills lists what the answers have used that were given to their end, those included that agents ask for themselves.
func (s *Server) Bills() []bill {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.bills)
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
	write   func(w io.Writer, r request, a said) error
	failure func(status int, text string) object
	tooLong string
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
				reply(w, 200, object{"totalTokens": 1000})
				return
			}
		}
		prompt, answer, fault := s.next(r, body)
		if s.tooLong(body) {
			fault = Fault{Status: 400, TooLong: true}
		}
		c, err := toolCall(answer, r.tools)
		if err != nil {
			s.fail("%s %s: %v", prompt.Kind, prompt.Task, err)
		}
		if d.fails(w, fault) {
			return
		}
		if fault.Hang {
			s.wait(hr)
			return
		}
		w.Header().Set("Content-Type", map[bool]string{true: "text/event-stream", false: "application/json"}[r.Stream])
		a := said{answer.Text, c, answer.Short, count(body, answer.Text, c)}
		if fault == (Fault{}) {
			s.charge(prompt, a.used) // before the client has it, so that nobody asks for the sum too early
		}
		switch err := d.write(d.failing(w, fault), r, a); {
		case err == nil:
		case fault.Stall:
			s.wait(hr)
		case !fault.Error:
			panic(http.ErrAbortHandler) // the connection breaks, as the fault wants it
		}
	}
}

// wait is until the client gives up.
func (s *Server) wait(hr *http.Request) {
	s.mu.Lock()
	s.held++
	s.mu.Unlock()
	select {
	case <-hr.Context().Done():
	case <-s.closed:
	}
}

// charge notes what was used.
func (s *Server) charge(p Prompt, u used) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bills = append(s.bills, bill{p, u})
}

// fails answers with a status, if the fault has one.
func (d dialect) fails(w http.ResponseWriter, f Fault) bool {
	if f.Status == 0 {
		return false
	}
	if f.After != "none" {
		w.Header().Set("Retry-After", cmp.Or(f.After, "1"))
	}
	text := "scripted fault"
	if f.TooLong {
		text = d.tooLong
	}
	reply(w, f.Status, d.failure(f.Status, text))
	return true
}

// failing is where an answer with the fault is written to.
func (d dialect) failing(w http.ResponseWriter, f Fault) io.Writer {
	const enough = 400 // bytes, in which a stream has begun
	switch {
	case f.Error:
		return &cutter{w: w, left: enough, last: "event: error\ndata: " + encode(d.failure(529, "Overloaded")) + "\n\n"}
	case f.Cut, f.Stall:
		return &cutter{w: w, left: enough}
	}
	return w
}

// next asks the script, and says whether a fault is still to be played.
func (s *Server) next(r request, body []byte) (Prompt, Answer, Fault) {
	p := r.prompt()
	p.Body = string(body)
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

// cutter lets so many bytes through and then breaks, or says something last.
type cutter struct {
	w    http.ResponseWriter
	left int
	last string // after a whole write
}

func (c *cutter) Write(p []byte) (int, error) {
	if len(p) <= c.left {
		c.left -= len(p)
		return c.w.Write(p)
	}
	last := p[:c.left]
	if c.last != "" {
		last = []byte(c.last)
	}
	_, _ = c.w.Write(last)
	c.w.(http.Flusher).Flush()
	return 0, io.ErrUnexpectedEOF
}

// Flush sends what was written, so that a part arrives before the rest is held back.
func (c *cutter) Flush() { c.w.(http.Flusher).Flush() }

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a client that is gone wants no answer
}
