package web

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// Route is an address of the API. What it answers is what its command prints with --json; its query are the command's flags.
type Route struct {
	Path    string // below /api/v1/; what is in braces are arguments of the command, in their order
	Command string
	streams bool // objects, one a line, as they come
}

// Routes lists them all.
var Routes = []Route{
	{Path: "status", Command: "status"},
	{Path: "tasks", Command: "task list"},
	{Path: "tasks/{id}", Command: "task show"},
	{Path: "tasks/{id}/why", Command: "task why"},
	{Path: "tasks/{id}/log", Command: "task log"},
	{Path: "tasks/{id}/logs", Command: "logs", streams: true},
	{Path: "features", Command: "feature list"},
	{Path: "features/{name}", Command: "feature show"},
	{Path: "inbox", Command: "inbox list"},
	{Path: "inbox/{id}", Command: "inbox show"},
	{Path: "runs", Command: "runs list"},
	{Path: "runs/{id}", Command: "report"},
	{Path: "runs/{id}/logs", Command: "logs", streams: true},
	{Path: "cost", Command: "cost"},
	{Path: "stats", Command: "stats"},
	{Path: "journal", Command: "journal list"},
	{Path: "knowledge", Command: "knowledge list"},
	{Path: "forecast", Command: "forecast"},
	{Path: "audit", Command: "audit"},
	{Path: "schedules", Command: "schedule list"},
	{Path: "version", Command: "version"},
}

//go:embed openapi.yaml
var openAPI []byte

// APIHeader is in every answer of the API, with its version: an answer without it is not of a ralph that has one.
const (
	APIHeader  = "Ralph-API"
	apiVersion = "1"
	maxBody    = 16 << 20 // of a command with its input
	maxCalls   = 64       // commands that are carried out at once
	maxStays   = 256      // the same for those without an end
	maxMaking  = 8        // pages that are made at once
)

// Exit statuses of commands, as docs/cli.md has them.
const (
	exitRefused     = 1
	exitNotFound    = 3
	exitUnavailable = 5
	exitUsage       = 64
	exitBug         = 70
)

// apiError is what the API answers if there is nothing else to say.
type apiError struct {
	Error  string `json:"error"`
	Hint   string `json:"hint,omitempty"`
	Status int    `json:"status"` // with which the command ended
}

func writeError(w http.ResponseWriter, status int, e apiError) {
	h := w.Header()
	h.Set(APIHeader, apiVersion)
	h.Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(e) // whoever asked may be gone
}

// httpStatus is that of each status of a command.
func httpStatus(exit int) int {
	switch exit {
	case exitRefused, 2, 4:
		return http.StatusConflict
	case exitNotFound:
		return http.StatusNotFound
	case exitUnavailable:
		return http.StatusServiceUnavailable
	case exitUsage:
		return http.StatusBadRequest
	}
	return http.StatusInternalServerError
}

func (s *Server) apiRoutes() {
	handle := func(pattern string, do http.HandlerFunc) {
		s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set(APIHeader, apiVersion)
			do(w, r)
		})
	}
	for _, to := range Routes {
		handle("GET /api/v1/"+to.Path, func(w http.ResponseWriter, r *http.Request) { s.serveRoute(w, r, to) })
	}
	handle("GET /api/v1/runs/{id}/events", s.serveEvents)
	handle("POST /api/v1/commands", s.serveCommand)
	handle("GET /api/v1/openapi.yaml", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/yaml")
		_, _ = w.Write(openAPI)
	})
	handle("/api/", func(w http.ResponseWriter, r *http.Request) {
		writeError(w, http.StatusNotFound, apiError{Error: r.Method + " " + r.URL.Path + " is not of the API", Hint: "see GET /api/v1/openapi.yaml", Status: exitNotFound})
	})
}

// admit lets as many requests in at once as the server has room for: few that read and change, which end soon, and more that stay
// and are told what happens. Those that stay never shut out a command that stops a run.
func (s *Server) admit(w http.ResponseWriter, stays bool) (leave func(), ok bool) {
	room := s.calls
	if stays {
		room = s.stays
	}
	select {
	case room <- struct{}{}:
		return func() { <-room }, true
	default:
		w.Header().Set("Retry-After", "1")
		writeError(w, http.StatusServiceUnavailable, apiError{Error: "the server is busy", Hint: "try again", Status: exitUnavailable})
		return nil, false
	}
}

// args are the command line that a request is for.
func (to Route) args(r *http.Request) []string {
	args := strings.Fields(to.Command)
	query := r.URL.Query()
	for _, name := range slices.Sorted(maps.Keys(query)) {
		for _, value := range query[name] {
			if value == "" { // ?all is ?all=true
				value = "true"
			}
			args = append(args, "--"+name+"="+value)
		}
	}
	args = append(args, "--json", "--")
	for part := range strings.SplitSeq(to.Path, "/") {
		if strings.HasPrefix(part, "{") {
			args = append(args, r.PathValue(strings.Trim(part, "{}")))
		}
	}
	return args
}

func (s *Server) serveRoute(w http.ResponseWriter, r *http.Request, to Route) {
	args := to.args(r)
	v, err := s.allowed(args)
	if err == nil && v.changes {
		err = &Refusal{Text: commandLine(args...) + " changes something", Hint: "send it to POST /api/v1/commands", Exit: exitUsage, HTTP: http.StatusBadRequest}
	}
	if err == nil && v.stays && !to.streams {
		err = &Refusal{Text: commandLine(args...) + " has no end", Hint: "send it to POST /api/v1/commands, which answers as it comes", Exit: exitUsage, HTTP: http.StatusBadRequest}
	}
	if err != nil {
		s.writeRefusal(w, err)
		return
	}
	leave, ok := s.admit(w, v.stays)
	if !ok {
		return
	}
	defer leave()
	var out, said bytes.Buffer
	var dest io.Writer = &out
	if to.streams {
		w.Header().Set("Content-Type", "application/x-ndjson")
		dest = &flushed{w: w}
	}
	status := s.opts.Command(r.Context(), Call{Args: args, Stdin: strings.NewReader(""), Stdout: dest, Stderr: &said, Via: "api"})
	if f, ok := dest.(*flushed); ok && f.begun {
		return // it was answered as it came
	}
	if status != 0 {
		e := apiError{Status: status}
		text, hint, _ := strings.Cut(strings.TrimSpace(said.String()), "\nhint: ")
		e.Error, e.Hint = s.opts.Redact(strings.TrimPrefix(text, "ralph: ")), s.opts.Redact(hint)
		writeError(w, httpStatus(status), e)
		return
	}
	if !to.streams {
		w.Header().Set("Content-Type", "application/json")
	}
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(out.Bytes())
}

// writeRefusal says why a command is not carried out.
func (s *Server) writeRefusal(w http.ResponseWriter, err error) {
	e, status := apiError{Error: s.opts.Redact(err.Error()), Status: exitUsage}, http.StatusBadRequest
	var r *Refusal
	if errors.As(err, &r) {
		e.Hint, e.Status, status = r.Hint, r.Exit, r.HTTP
	}
	writeError(w, status, e)
}

// flushed passes on what is written at once. A reader that does not take it in time is dropped.
type flushed struct {
	w     http.ResponseWriter
	begun bool
}

func (f *flushed) Write(p []byte) (int, error) {
	f.begun = true
	c := http.NewResponseController(f.w)
	_ = c.SetWriteDeadline(deadline(writeLimit)) // an error of it is that of the write
	n, err := f.w.Write(p)
	if err == nil {
		err = c.Flush()
	}
	return n, err
}

// Asked is the body of POST /api/v1/commands.
type Asked struct {
	Args     []string `json:"args"`
	Stdin    string   `json:"stdin,omitempty"`
	Stdin64  []byte   `json:"stdin64,omitempty"` // in base64, for what is no text
	Width    int      `json:"width,omitempty"`   // of the terminal on which the output is shown; 0 if that is none
	ErrWidth int      `json:"err_width,omitempty"`
}

// Told is a line of the answer: a part of what the command printed, or its end.
type Told struct {
	Out   string `json:"out,omitempty"`
	Err   string `json:"err,omitempty"`
	Out64 []byte `json:"out64,omitempty"` // in base64, for what is no text
	Err64 []byte `json:"err64,omitempty"`
	Exit  *int   `json:"exit,omitempty"` // the status of the command; the last line
}

// serveCommand carries out a command and answers with what it prints, as it comes.
func (s *Server) serveCommand(w http.ResponseWriter, r *http.Request) {
	if !sessionOf(r.Context()).api { // a browser has forms, which a page of another site cannot send
		writeError(w, http.StatusForbidden, apiError{Error: "commands need the server's token", Hint: "send it as: Authorization: Bearer TOKEN", Status: exitRefused})
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	var asked Asked
	if err := json.NewDecoder(r.Body).Decode(&asked); errors.As(err, new(*http.MaxBytesError)) {
		writeError(w, http.StatusRequestEntityTooLarge, apiError{Error: "the command and its input are larger than 16 MiB", Hint: "send it in parts, or type it where the project is", Status: exitUsage})
		return
	} else if err != nil {
		writeError(w, http.StatusBadRequest, apiError{Error: "the body is no command: " + err.Error(), Hint: `send {"args": ["task", "list"]}`, Status: exitUsage})
		return
	}
	_, _ = io.Copy(io.Discard, r.Body) // net/http looks whether the reader is there once it has all of the request
	v, err := s.allowed(asked.Args)
	if err != nil {
		s.writeRefusal(w, err)
		return
	}
	leave, ok := s.admit(w, v.stays)
	if !ok {
		return
	}
	defer leave()
	ctx := r.Context()
	if v.changes && !v.starts {
		ctx = context.WithoutCancel(ctx) // what was begun is not left in the middle because its reader has gone
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	out := &flushed{w: w}
	_, _ = out.Write(nil) // who asked knows that it began
	to := &told{to: json.NewEncoder(out)}
	var stdin io.Reader = strings.NewReader(asked.Stdin)
	if asked.Stdin64 != nil {
		stdin = bytes.NewReader(asked.Stdin64)
	}
	status := s.opts.Command(ctx, Call{
		Args: asked.Args, Stdin: stdin, Via: "api", Width: asked.Width, ErrWidth: asked.ErrWidth,
		Stdout: toldStream{to, func(text string, data []byte) Told { return Told{Out: text, Out64: data} }},
		Stderr: toldStream{to, func(text string, data []byte) Told { return Told{Err: text, Err64: data} }},
	})
	s.hub.poke()
	if ctx.Err() == nil { // or it was cut short, by the end of this server or of its reader
		_ = to.tell(Told{Exit: &status}) // whoever asked may be gone
	}
	to.end()
}
