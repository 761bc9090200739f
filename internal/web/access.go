package web

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"io"
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
	Token    string   // opens sessions and the API; without one, links do that, each once, for browsers that somebody gives them to
	Hosts    []string // names under which the server is reached besides those of this machine, with a port if it is not the usual one
	Public   bool     // it listens beyond this machine, so that its own addresses are unknown; a page of another site has a name, not an address
	Name     string   // the host by which browsers of this machine reach it, which nobody can guess: they send cookies to every port of a host; "" if none
	Cookie   string   // tells its cookie from those of other servers of this machine, which browsers do not tell apart
	ReadOnly bool     // pages are shown and nothing is changed

	Confined func(local, remote net.Addr) bool // the other end of a connection is in a sandbox, whose processes never get in; nil: it cannot be known
}

// guard checks every request before anything else sees it.
type guard struct {
	Access
	now    func() time.Time
	signIn func(http.ResponseWriter, *http.Request, int, string) // shows how to get in, and what was wrong
	secret []byte                                                // signs sessions

	mu      sync.Mutex
	key     string              // of the link that was printed last, until it is used
	ended   map[string]struct{} // sessions that were signed out
	guesses map[string][]time.Time
}

func newGuard(a Access, now func() time.Time) *guard {
	g := &guard{Access: a, now: now, ended: map[string]struct{}{}, guesses: map[string][]time.Time{}}
	g.secret = []byte(rand.Text()) // sessions of links end with the server
	if a.Token != "" {
		g.secret = g.sign([]byte(a.Token), "session") // those of a token end with that
	}
	return g
}

func (g *guard) sign(key []byte, text string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}

// signInPath lets browsers in under whatever name they use, also those that do not find the server's own.
const signInPath = "/sign-in"

const policy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// check refuses requests from other sites, under other names and without a session.
func (g *guard) check(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		_ = control.SetWriteDeadline(deadline(time.Minute)) // streams say when they need more
		w = answered{w, control}
		if r.ContentLength != 0 {
			_ = control.SetReadDeadline(deadline(time.Minute))
			r.Body = timely{r.Body, control}
		}
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		reads := r.Method == http.MethodGet || r.Method == http.MethodHead
		switch {
		case confined(r):
			deny(w, r, http.StatusForbidden, "this request comes from inside a sandbox of ralph: agents and gates cannot use the server")
		case !g.known(r.Host):
			deny(w, r, http.StatusMisdirectedRequest, "this server is not known under that name; [serve] hosts lists those that it has")
		case !reads && !g.sameOrigin(r):
			deny(w, r, http.StatusForbidden, "a request from another site")
		case strings.HasPrefix(r.URL.Path, "/in/"), strings.HasPrefix(r.URL.Path, "/static/"): // signed, or for everybody
			next.ServeHTTP(w, r)
		case r.URL.Path == signInPath && r.Method == http.MethodPost:
			g.serveSignIn(w, r)
		case r.Method == http.MethodGet && r.URL.Path == "/" && r.URL.Query().Has("key"):
			g.serveLink(w, r)
		case strings.HasPrefix(r.Header.Get("Authorization"), "Bearer "): // a proxy may want others for itself
			if g.bearer(w, r) {
				next.ServeHTTP(w, r.WithContext(withSession(r.Context(), session{api: true})))
			}
		default:
			s, ok := g.session(r)
			switch {
			case !ok && g.leads(r):
				_, port, _ := net.SplitHostPort(r.Host) // of a tunnel, where there is one
				http.Redirect(w, r, "http://"+strings.TrimSuffix(net.JoinHostPort(g.Name, port), ":")+r.URL.RequestURI(), http.StatusTemporaryRedirect)
			case !ok && !reads:
				g.refuse(w, r, http.StatusUnauthorized, "Nothing was done: the session of this browser has ended. Sign in again in another window; then "+tooOld+".")
			case !ok:
				g.refuse(w, r, http.StatusUnauthorized, "")
			case r.URL.Path == "/sign-out" && r.Method == http.MethodPost:
				g.serveSignOut(w, r, s)
			default:
				next.ServeHTTP(w, r.WithContext(withSession(r.Context(), s)))
			}
		}
	})
}

type confinedKey struct{}

// watch has the other end of a connection looked at, when its first request has come.
func (g *guard) watch(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, confinedKey{}, sync.OnceValue(func() bool { return g.Confined != nil && g.Confined(c.LocalAddr(), c.RemoteAddr()) }))
}

func confined(r *http.Request) bool {
	look, ok := r.Context().Value(confinedKey{}).(func() bool)
	return ok && look()
}

// timely is a body that has to come within its deadline. After its end, net/http reads on to see whether the other side is there.
type timely struct {
	io.ReadCloser
	control *http.ResponseController
}

func (b timely) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		_ = b.control.SetReadDeadline(time.Time{}) // an error of it is that of the next read
	}
	return n, err
}

// answered has its time from when it begins, however long it took to find out what it is.
type answered struct {
	http.ResponseWriter
	control *http.ResponseController
}

func (a answered) WriteHeader(status int) {
	_ = a.control.SetWriteDeadline(deadline(time.Minute)) // an error of it is that of the write
	a.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (a answered) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// deny tells who should not have asked, in the words of a page or of the API.
func deny(w http.ResponseWriter, r *http.Request, status int, why string) {
	if strings.HasPrefix(r.URL.Path, "/api/") {
		writeError(w, status, apiError{Error: why, Status: exitRefused})
		return
	}
	http.Error(w, why, status)
}

// refuse tells who was not let in how to come in: people by a page, programs by an object.
func (g *guard) refuse(w http.ResponseWriter, r *http.Request, status int, why string) {
	if strings.HasPrefix(r.URL.Path, "/api/") {
		if why == "" {
			why = "the API needs the server's token"
		}
		writeError(w, status, apiError{Error: why, Hint: "send it as: Authorization: Bearer TOKEN; a server has one if it is started with --token-file or [serve] token_env", Status: exitRefused})
		return
	}
	g.signIn(w, r, status, why)
}

// known says whether a Host header names this server: otherwise a page of another site could reach it under a name of its own.
func (g *guard) known(host string) bool {
	ip := net.ParseIP(hostname(host))
	return isLoopback(host) || ip != nil && g.Public || g.Name != "" && strings.EqualFold(hostname(host), g.Name) || g.configured(host)
}

func isLoopback(host string) bool {
	name := hostname(host)
	ip := net.ParseIP(name)
	return strings.EqualFold(strings.TrimSuffix(name, "."), "localhost") || ip != nil && ip.IsLoopback()
}

// leads says whether a browser opens a page under a name of this machine that everybody knows, so that it is to go on to the
// server's own. A proxy may call the server by such a name: where hosts are configured, nobody is sent on.
func (g *guard) leads(r *http.Request) bool {
	return g.Name != "" && len(g.Hosts) == 0 && isLoopback(r.Host) && r.Method == http.MethodGet && r.URL.Path != signInPath &&
		r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Authorization") == ""
}

// configured says whether a host is one of those that the user named. A proxy in front of the server is one of them, so
// what it says about a request counts.
func (g *guard) configured(host string) bool {
	return slices.ContainsFunc(g.Hosts, func(h string) bool {
		return strings.EqualFold(h, host) || strings.EqualFold(hostname(h), hostname(host))
	})
}

// hostname is a host without its port.
func hostname(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	return strings.Trim(host, "[]")
}

// sameOrigin says whether a page of this server sent a request, or no page at all.
func (g *guard) sameOrigin(r *http.Request) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
		return false
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return true // no browser leaves it out of a form that another site sends; the form's own secret is checked as well
	}
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" {
		return false
	}
	usual := map[string]string{"http": ":80", "https": ":443"}[u.Scheme]
	own := func(host string) bool {
		return strings.EqualFold(strings.TrimSuffix(u.Host, usual), strings.TrimSuffix(host, usual))
	}
	return own(r.Host) || slices.ContainsFunc(g.Hosts, own) // a proxy may call the server by another name than the browser does
}

// secure says whether the browser is connected by https.
func (g *guard) secure(r *http.Request) bool {
	return r.TLS != nil || g.configured(r.Host) && r.Header.Get("X-Forwarded-Proto") == "https"
}
