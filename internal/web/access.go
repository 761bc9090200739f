package web

import (
	"crypto/rand"
	"crypto/subtle"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// Access is who may use a server.
type Access struct {
	Token    string   // opens a session and the API; without one, a link does that once, for browsers on this machine
	Hosts    []string // names and addresses under which the server is reached, without ports; loopback ones always count
	ReadOnly bool     // pages are shown and nothing is changed
}

// guard checks every request before anything else sees it.
type guard struct {
	Access
	now func() time.Time

	mu       sync.Mutex
	once     string             // the key of the link, until it was used
	sessions map[string]session // by the value of the cookie
}

// session is a browser that was let in.
type session struct {
	who  string
	form string // what its forms have to contain
}

const cookieName = "ralph"

func newGuard(a Access, now func() time.Time) (*guard, error) {
	return &guard{Access: a, now: now, once: rand.Text(), sessions: map[string]session{}}, nil
}

func (g *guard) link(base string) string {
	if g.Token != "" {
		return ""
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return base + "/?key=" + g.once
}

// check refuses requests from other sites, for other names and without a session.
func (g *guard) check(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		switch {
		case !g.known(r.Host):
			http.Error(w, "this server is not known under that name", http.StatusMisdirectedRequest)
		case strings.HasPrefix(r.URL.Path, "/in/"), strings.HasPrefix(r.URL.Path, "/static/"): // signed, or for everybody
			next.ServeHTTP(w, r)
		case r.Method != http.MethodGet && r.Method != http.MethodHead && !g.sameOrigin(r):
			http.Error(w, "a request from another site", http.StatusForbidden)
		case r.URL.Query().Get("key") != "":
			g.enter(w, r)
		default:
			if s, ok := g.session(r); ok {
				next.ServeHTTP(w, r.WithContext(withSession(r.Context(), s)))
				return
			}
			http.Error(w, "open the link that ralph serve printed", http.StatusUnauthorized)
		}
	})
}

// known says whether a Host header names this server: otherwise a page of another site could reach it under a name of its own.
func (g *guard) known(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.Trim(name, "[]")
	if ip := net.ParseIP(name); ip != nil && ip.IsLoopback() || name == "localhost" {
		return true
	}
	return slices.Contains(g.Hosts, name)
}

func (g *guard) sameOrigin(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return r.Header.Get("Sec-Fetch-Site") == ""
	}
	u, err := url.Parse(origin)
	return err == nil && u.Host == r.Host
}

// enter opens a session for who has the key, and forgets the key.
func (g *guard) enter(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.once == "" || subtle.ConstantTimeCompare([]byte(r.URL.Query().Get("key")), []byte(g.once)) != 1 {
		http.Error(w, "this link was used, or is not of this server: start ralph serve again", http.StatusUnauthorized)
		return
	}
	g.once = ""
	id := rand.Text() + rand.Text()
	g.sessions[id] = session{form: rand.Text()}
	http.SetCookie(w, &http.Cookie{Name: cookieName, Value: id, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode, MaxAge: 30 * 24 * 3600})
	// A browser sends a strict cookie only from a page of this site, so the way on is one.
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write([]byte(`<!doctype html><meta http-equiv="refresh" content="0; url=/"><a href="/">ralph</a>`))
}

func (g *guard) session(r *http.Request) (session, bool) {
	c, err := r.Cookie(cookieName)
	if err != nil {
		return session{}, false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	s, ok := g.sessions[c.Value]
	return s, ok
}
