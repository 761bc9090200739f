// Package web serves a project to browsers and to other machines: pages, their changes as they happen, and an API. Whatever
// changes something is a command of ralph, carried out as if it were typed; the package itself only reads.
package web

import (
	"context"
	"embed"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"sync"
	"time"

	"ralph/dag"
	"ralph/internal/git"
	"ralph/internal/project"
	"ralph/internal/report"
)

// Options are what a server needs.
type Options struct {
	Name    string                                   // of the project
	Open    func(context.Context) (*Project, error)  // the project as it is now; whoever opens it closes it
	Command func(context.Context, Call) (status int) // carries out a command
	Parse   func([]string) (Line, error)             // understands a command line, and refuses what names files of this machine; nil takes its first words
	Start   func(context.Context, ...string) error   // starts a command in a process that outlives this one
	Life    func(dag.Process) dag.Life               // of the process of a run
	Now     func() time.Time
	Redact  func(string) string // removes secrets
	Hint    func(error) string  // what to do about an error, as the command line says it; nil knows nothing
	Warn    func(string)        // tells whoever started the server
	Access  Access
	In      http.Handler // answers webhooks below /in/; nil if there are none
}

// Project is an open project.
type Project struct {
	project.Project
	Config  project.Loaded
	Store   *dag.Store
	Version func(context.Context) (int64, error)                       // of the database: another one when another connection has changed something
	Intact  func() bool                                                // the database is still the file that was opened
	Diff    func(context.Context, dag.Attempt) (git.Difference, error) // what an attempt changed, or has changed so far; an error is said to people as it is
	Close   func() error
}

// Call is a command that somebody asks for: a page, the API or another ralph.
type Call struct {
	Args   []string // without the program
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	Who    string // asks; the audit names them
	Via    string // they ask: "web" or "api"

	Width, ErrWidth int // of the terminals that show Stdout and Stderr; 0 if they are none
}

// Server answers requests. It keeps nothing that a restart loses but sessions.
type Server struct {
	opts   Options
	guard  *guard
	hub    *hub
	pages  pages
	cache  cache
	works  works
	files  followers
	mux    *http.ServeMux
	calls  chan struct{} // one for each command of the API that is being carried out
	making chan struct{} // one for each page that is being made
	stays  chan struct{} // the same for those without an end

	starting sync.Mutex // held while a run starts
	patience time.Duration
}

//go:embed static
var static embed.FS

// New makes a server.
func New(opts Options) (*Server, error) {
	tmpl, err := parsePages()
	if err != nil {
		return nil, err
	}
	if opts.Parse == nil {
		opts.Parse = firstWords
	}
	if opts.Hint == nil {
		opts.Hint = func(error) string { return "" }
	}
	s := &Server{
		opts: opts, guard: newGuard(opts.Access, opts.Now), hub: newHub(opts), pages: tmpl, mux: http.NewServeMux(), patience: patience,
		calls: make(chan struct{}, maxCalls), stays: make(chan struct{}, maxStays), making: make(chan struct{}, maxMaking),
	}
	s.guard.signIn = s.showSignIn
	s.routes()
	s.apiRoutes()
	return s, nil
}

func (s *Server) routes() {
	files, _ := fs.Sub(static, "static") // its name is valid
	s.mux.Handle("GET /static/", http.StripPrefix("/static/", http.FileServerFS(files)))
	s.mux.Handle("GET /static/{$}", http.NotFoundHandler()) // no list of them
	s.mux.HandleFunc("GET /static/report.css", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/css; charset=utf-8")
		_, _ = io.WriteString(w, report.Style())
	})
	for _, p := range pageTable {
		s.mux.HandleFunc("GET "+p.path, func(w http.ResponseWriter, r *http.Request) { s.servePage(w, r, p) })
	}
	s.viewRoutes()
	s.mux.HandleFunc("/", s.serveNothing)
	s.mux.HandleFunc("GET /live", s.serveLive)
	s.mux.HandleFunc("POST /do", s.serveDo)
	s.mux.HandleFunc("GET /said/{id}", s.serveSaid)
	if s.opts.In != nil {
		s.mux.Handle("POST /in/{name}", s.opts.In)
	}
}

// serveNothing answers for addresses that there are not.
func (s *Server) serveNothing(w http.ResponseWriter, r *http.Request) {
	why := "there is nothing at " + r.Method + " " + r.URL.Path
	if sessionOf(r.Context()) == (session{}) { // a stranger, who sees no page of the project
		http.Error(w, why, http.StatusNotFound)
		return
	}
	s.failWith(w, r, http.StatusNotFound, errors.New(why))
}

// deadline is when the network has to be done. It has the clock of the machine.
func deadline(in time.Duration) time.Time { return time.Now().Add(in) } //nolint:forbidigo // as the kernel counts

// Handler answers every request, after it was checked.
func (s *Server) Handler() http.Handler { return s.guard.check(s.mux) }

// showSignIn shows strangers how to come in, and nothing of the project.
func (s *Server) showSignIn(w http.ResponseWriter, r *http.Request, status int, why string) {
	back := r.URL.RequestURI()
	if r.Method == http.MethodPost {
		back = r.PostFormValue("back")
	}
	if back == signInPath {
		back = "/"
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_ = s.pages["signin"].ExecuteTemplate(w, "signin.html", map[string]any{"Why": why, "Token": s.guard.Token != "", "Back": local(back)}) // whoever asked may be gone
}

// Link makes the path of a page that opens a session, once; the one before it no longer does. It is empty if a token does that.
func (s *Server) Link() string { return s.guard.link() }

// Serve answers on a listener until the context ends. Pages that are open are told to come back later.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	srv := &http.Server{
		Handler: s.Handler(), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		BaseContext: func(net.Listener) context.Context { return ctx }, ConnContext: s.guard.watch,
	}
	hub, stop := context.WithCancel(ctx)
	defer stop()
	defer s.files.end()
	go s.hub.run(hub)
	done := make(chan error, 1)
	go func() { done <- srv.Serve(l) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	err := srv.Shutdown(last)
	s.works.wait(last)
	if errors.Is(err, context.DeadlineExceeded) {
		err = srv.Close()
	}
	return err
}
