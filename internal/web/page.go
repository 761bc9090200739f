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
	"ralph/internal/human"
	"ralph/internal/plain"
	"ralph/internal/render"
	"ralph/report"
)

//go:embed page
var pageFiles embed.FS

// page is what an address shows.
type page struct {
	path  string // as net/http's patterns have it
	name  string // of its template, page/NAME.html, and of its place in the navigation
	title string
	load  func(*visit) (any, error) // reads what is shown, in one transaction
}

// pageTable lists the pages. Those without a name in their address are the navigation, in its order.
var pageTable = []page{
	{"/{$}", "overview", "Overview", loadOverview},
}

// visit is one request for a page, with the project open.
type visit struct {
	*Server
	*http.Request
	project *Project
	g       *dag.Graph
	now     time.Time
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

// funcs are what templates may call. Nothing here returns a type that html/template does not escape.
var funcs = template.FuncMap{
	"line": render.Line[string], "plural": human.Count, "span": human.Span, "bytes": human.Bytes, "dollars": human.Dollars,
	"clock":   func(t time.Time) string { return t.Local().Format("15:04") },
	"stamp":   func(t time.Time) string { return t.Local().Format(time.DateTime) },
	"iso":     func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
	"command": func(args []string) string { return commandLine(args...) },
}

// navigation lists the pages that every page links to.
func navigation() (list []struct{ Path, Name, Title string }) {
	for _, p := range pageTable {
		if !strings.Contains(strings.TrimSuffix(p.path, "{$}"), "{") {
			list = append(list, struct{ Path, Name, Title string }{strings.TrimSuffix(p.path, "{$}"), p.name, p.title})
		}
	}
	return list
}

// commandLine is a command as somebody would type it.
func commandLine(args ...string) string {
	text := "ralph"
	for _, a := range args {
		text += " " + plain.ShellQuote(a)
	}
	return text
}

// Act is a button that carries out a command.
type act struct {
	Label    string
	Args     []string
	Form     string
	Back     string
	ReadOnly bool
}

// Act makes a button that carries out a command and comes back to this page.
func (s shown) Act(label string, args ...string) act {
	return act{Label: label, Args: args, Form: s.Form, Back: s.URL, ReadOnly: s.ReadOnly}
}

// servePage shows a page.
func (s *Server) servePage(w http.ResponseWriter, r *http.Request, p page) {
	err := s.visit(r, func(v *visit) error {
		data, err := p.load(v)
		if err != nil {
			return err
		}
		return v.show(w, http.StatusOK, p.name, p.title, data)
	})
	if err != nil {
		s.fail(w, r, err)
	}
}

// visit opens the project for a request and reads it in one transaction.
func (s *Server) visit(r *http.Request, fn func(*visit) error) error {
	p, err := s.opts.Open(r.Context())
	if err != nil {
		return err
	}
	defer p.Close()
	return p.Store.View(r.Context(), func(g *dag.Graph) error {
		return fn(&visit{Server: s, Request: r, project: p, g: g, now: s.opts.Now()})
	})
}

// show writes a page. A browser that has the same one already is told so.
func (v *visit) show(w http.ResponseWriter, status int, name, title string, data any) error {
	asked, err := waiting(v.g)
	if err != nil {
		return err
	}
	out, err := v.render(name, shown{Title: title, Asks: asked, Data: data}, v.Request)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(out)
	tag := `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`
	h := w.Header()
	h.Set("ETag", tag)
	h.Set("Cache-Control", "no-cache")
	h.Set("Content-Type", "text/html; charset=utf-8")
	if status == http.StatusOK && v.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	w.WriteHeader(status)
	_, _ = w.Write(out) // whoever asked may be gone
	return nil
}

// render fills a template with a page and what is around it.
func (s *Server) render(name string, p shown, r *http.Request) ([]byte, error) {
	session := sessionOf(r.Context())
	p.Project, p.Page, p.URL, p.Form, p.ReadOnly, p.Now = s.opts.Name, name, r.URL.RequestURI(), session.form, s.guard.ReadOnly, s.opts.Now()
	p.Flash = s.flash.take(r.URL.Query().Get("said"))
	var out bytes.Buffer
	err := s.pages[name].Execute(&out, p)
	return out.Bytes(), err
}

// fail shows what went wrong.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		return // nobody is there any more
	}
	status := http.StatusInternalServerError
	if errors.Is(err, dag.ErrNotFound) || errors.Is(err, dag.ErrNoRun) {
		status = http.StatusNotFound
	}
	out, rerr := s.render("error", shown{Title: http.StatusText(status), Data: s.opts.Redact(err.Error())}, r)
	if rerr != nil {
		http.Error(w, s.opts.Redact(err.Error()), status)
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

// overview is the first page.
type overview struct {
	report.Overview
}

func loadOverview(v *visit) (any, error) {
	o, err := report.LoadOverview(v.g, report.OverviewOptions{
		Life: v.opts.Life, Now: v.now, MaxRetries: v.project.Config.Run.MaxRetries, Folder: v.project.Feature,
	})
	return overview{o}, err
}
