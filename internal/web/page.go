package web

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"ralph/dag"
)

//go:embed page
var pageFiles embed.FS

// page is what an address shows.
type page struct {
	path  string // as net/http's patterns have it
	name  string // of its template, page/NAME.html, and of its place in the navigation
	title string
	load  func(*visit) (any, error) // reads what is shown, in one transaction; what it returns may have finish, for what takes long and needs none
}

// pageTable lists the pages. Those without a name in their address are the navigation, in its order.
var pageTable = []page{
	{"/{$}", "overview", "Overview", loadOverview},
	{"/tasks", "tasks", "Tasks", loadTasks},
	{"/inbox", "inbox", "Inbox", loadInbox},
	{"/tasks/{id}", "task", "Task", loadTask},
	{"/attempts/{id}/diff", "diff", "Diff", loadDiff},
	{"/graph", "graph", "Graph", loadGraph},
	{"/runs", "runs", "Runs", loadRuns},
	{"/runs/{id}", "run", "Run", loadRun},
	{"/attempts/{id}", "attempt", "Attempt", loadAttempt},
	{"/cost", "cost", "Cost", loadCost},
	{"/journal", "journal", "Journal", loadJournal},
	{"/knowledge", "knowledge", "Knowledge", loadKnowledge},
	{"/knowledge/{title}", "knowledge", "Knowledge", loadKnowledge},
}

// visit is one request for a page, with the project open.
type visit struct {
	*Server
	*http.Request
	project *Project
	g       *dag.Graph
	now     time.Time
	state   string // of the hub, before anything was read
	asks    int    // requests that wait for an answer
}

// shown is what every template gets: the page's own data and what is around it.
type shown struct {
	Project  string
	Page     string // name
	Title    string
	URL      string
	Form     string // what forms have to contain
	ReadOnly bool
	Asks     int // requests that wait for an answer
	Flash    *flash
	State    string // of the hub: a page that hears of another one looks again
	Now      time.Time
	Data     any
}

// pages are the templates by name, each with the layout.
type pages map[string]*template.Template

func parsePages() (pages, error) {
	names, err := fs.Glob(pageFiles, "page/*.html")
	if err != nil {
		return nil, err
	}
	base, err := template.New("layout.html").Funcs(funcs).Funcs(template.FuncMap{"nav": navigation}).ParseFS(pageFiles, "page/layout.html", "page/parts.html")
	if err != nil {
		return nil, err
	}
	list := pages{}
	for _, name := range names {
		short := strings.TrimSuffix(path.Base(name), ".html")
		if short == "layout" || short == "parts" {
			continue
		}
		t, err := base.Clone()
		if err == nil {
			t, err = t.ParseFS(pageFiles, name)
		}
		if err != nil {
			return nil, fmt.Errorf("page %s: %w", short, err)
		}
		list[short] = t
	}
	return list, nil
}

// moved is the error of a load that shows nothing: the page is elsewhere.
type moved struct{ to string }

func (m moved) Error() string { return "see " + m.to }

// servePage shows a page. Those that look again because something has changed share what is rendered.
func (s *Server) servePage(w http.ResponseWriter, r *http.Request, p page) {
	load := func() (rendered, error) {
		select { // pages of large projects take memory while they are made, and SQLite keeps the handles of the most that ever were
		case s.making <- struct{}{}:
			defer func() { <-s.making }()
		case <-r.Context().Done():
			return rendered{}, r.Context().Err()
		}
		var v *visit
		var data any
		err := s.visit(r, func(in *visit) (err error) {
			if data, err = p.load(in); err == nil {
				v, err = in, in.count()
			}
			return err
		})
		if err != nil {
			return rendered{}, err
		}
		if slow, ok := data.(interface{ finish(*visit) any }); ok {
			data = slow.finish(v)
		}
		title := p.title
		if t, ok := data.(interface{ PageTitle() string }); ok {
			title = t.PageTitle()
		}
		return v.page(p.name, title, data)
	}
	var out rendered
	var err error
	if state := r.Header.Get("Ralph-State"); state != "" {
		r = r.WithContext(context.WithoutCancel(r.Context())) // others may wait for it, too
		out, err = s.cache.get(state, sessionOf(r.Context()).form+" "+r.URL.RequestURI(), load)
	} else {
		out, err = load()
	}
	var m moved
	switch {
	case errors.As(err, &m):
		http.Redirect(w, r, m.to, http.StatusFound)
	case err != nil:
		s.fail(w, r, err)
	default:
		out.write(w, r, http.StatusOK)
	}
}

// visit opens the project for a request and reads it in one transaction.
func (s *Server) visit(r *http.Request, fn func(*visit) error) error {
	state, _ := s.hub.state()
	p, err := s.opts.Open(r.Context())
	if err != nil {
		return err
	}
	defer func() { _ = p.Close() }() // it was only read
	return p.Store.View(r.Context(), func(g *dag.Graph) error {
		return fn(&visit{Server: s, Request: r, project: p, g: g, now: s.opts.Now(), state: state})
	})
}

// rendered is a page as it is sent.
type rendered struct {
	html []byte
	tag  string
}

// show writes a page.
func (v *visit) show(w http.ResponseWriter, status int, name, title string, data any) error {
	err := v.count()
	if err != nil {
		return err
	}
	out, err := v.page(name, title, data)
	if err == nil {
		out.write(w, v.Request, status)
	}
	return err
}

func (v *visit) count() (err error) {
	v.asks, err = waiting(v.g)
	return err
}

func (v *visit) page(name, title string, data any) (rendered, error) {
	html, err := v.render(name, shown{Title: title, Asks: v.asks, State: v.state, Data: data}, v.Request)
	sum := sha256.Sum256(bytes.Replace(html, []byte(v.state), nil, 1)) // which is news of no page
	return rendered{html, `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`}, err
}

// write sends a page. A browser that has the same one already is told so.
func (p rendered) write(w http.ResponseWriter, r *http.Request, status int) {
	h := w.Header()
	h.Set("ETag", p.tag)
	h.Set("Cache-Control", "no-cache")
	h.Set("Content-Type", "text/html; charset=utf-8")
	if status == http.StatusOK && r.Header.Get("If-None-Match") == p.tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	w.WriteHeader(status)
	_, _ = w.Write(p.html) // whoever asked may be gone
}

// render fills a template with a page and what is around it.
func (s *Server) render(name string, p shown, r *http.Request) ([]byte, error) {
	session := sessionOf(r.Context())
	p.Project, p.Page, p.URL, p.Form, p.ReadOnly, p.Now = s.opts.Name, name, r.URL.RequestURI(), session.form, s.guard.ReadOnly, s.opts.Now()
	p.Flash = s.works.said(r.URL.Query().Get("said"))
	var out bytes.Buffer
	err := s.pages[name].Execute(&out, p)
	return []byte(s.opts.Redact(out.String())), err
}

// fail shows what went wrong.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		return // nobody is there any more
	}
	status := http.StatusInternalServerError
	if errors.Is(err, dag.ErrNotFound) || errors.Is(err, dag.ErrNoRun) || errors.Is(err, dag.ErrAmbiguous) {
		status = http.StatusNotFound
	}
	s.failWith(w, r, status, err)
}

func (s *Server) failWith(w http.ResponseWriter, r *http.Request, status int, err error) {
	text := s.opts.Redact(strings.TrimSpace(err.Error() + "\n" + s.opts.Hint(err)))
	out, rerr := s.render("error", shown{Title: http.StatusText(status), Data: text}, r)
	if rerr != nil {
		http.Error(w, text, status)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(out)
}

type sessionKey struct{}

func withSession(ctx context.Context, s session) context.Context {
	return context.WithValue(ctx, sessionKey{}, s)
}

func sessionOf(ctx context.Context) session {
	s, _ := ctx.Value(sessionKey{}).(session)
	return s
}

// local is an address of this server to come back to, or its first page.
func local(to string) string {
	u, err := url.Parse(to)
	if err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(u.Path, "/") || strings.HasPrefix(u.Path, "//") {
		return "/"
	}
	q := u.Query()
	q.Del("said")
	u.RawQuery = q.Encode()
	return u.RequestURI()
}
