package web

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// session is a browser that was let in, or a program that has the token.
type session struct {
	who    string
	form   string // what its forms have to contain
	cookie string
	api    bool // it sent the token itself, so that no page of another site can be behind it
}

const (
	sessionLife = 30 * 24 * time.Hour
	maxEnded    = 1000 // sessions whose end is remembered
	maxGuesses  = 10   // wrong tokens a minute that one address may send
)

func (g *guard) cookieName() string { return "ralph-" + g.Cookie }

// session is that of the cookie of a request. A cookie says until when it counts and is signed, so that a server with a
// token knows it after a restart, and nothing is stored for those who come.
func (g *guard) session(r *http.Request) (session, bool) {
	c, err := r.Cookie(g.cookieName())
	if err != nil {
		return session{}, false
	}
	text, signed, _ := strings.Cut(c.Value, ".")
	until, _, _ := strings.Cut(text, "-")
	seconds, err := strconv.ParseInt(until, 10, 64)
	if err != nil || !hmac.Equal([]byte(signed), []byte(g.seal("cookie", text))) || !g.now().Before(time.Unix(seconds, 0)) {
		return session{}, false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, over := g.ended[c.Value]; over {
		return session{}, false
	}
	return session{form: g.seal("form", c.Value), cookie: c.Value}, true
}

func (g *guard) seal(what, text string) string {
	return hex.EncodeToString(g.sign(g.secret, what+" "+g.Cookie+" "+text))
}

// open starts a session and leads on. A browser sends a strict cookie only from a page of this site, so the way on is one.
func (g *guard) open(w http.ResponseWriter, r *http.Request, to string) {
	text := strconv.FormatInt(g.now().Add(sessionLife).Unix(), 10) + "-" + rand.Text()
	g.setCookie(w, r, text+"."+g.seal("cookie", text), int(sessionLife.Seconds()))
	g.leadOn(w, to)
}

func (g *guard) setCookie(w http.ResponseWriter, r *http.Request, value string, age int) {
	http.SetCookie(w, &http.Cookie{
		Name: g.cookieName(), Value: value, Path: "/", MaxAge: age,
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: g.secure(r),
	})
}

func (g *guard) leadOn(w http.ResponseWriter, to string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Refresh", "0; url="+to)
	_, _ = w.Write([]byte(`<!doctype html><title>ralph</title><link rel="icon" href="/static/icon.svg"><a href="/">Continue</a>`))
}

// link makes the path of a page that opens a session, once. The one before it no longer does.
func (g *guard) link() string {
	if g.Token != "" {
		return ""
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.key = rand.Text()
	return "/?key=" + g.key
}

// serveLink lets in who has the key of the link, and forgets the key.
func (g *guard) serveLink(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	right := g.key != "" && subtle.ConstantTimeCompare([]byte(r.URL.Query().Get("key")), []byte(g.key)) == 1
	if right {
		g.key = ""
	}
	g.mu.Unlock()
	if _, in := g.session(r); in { // who follows it again
		g.leadOn(w, "/")
		return
	}
	if !right {
		g.refuse(w, r, http.StatusUnauthorized, "This link was used, or a newer one was made, or it is of another server.")
		return
	}
	g.open(w, r, "/")
}

// serveSignIn lets in who types the token.
func (g *guard) serveSignIn(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
	if why, status := g.verify(r, strings.TrimSpace(r.PostFormValue("token"))); why != "" {
		g.refuse(w, r, status, why)
		return
	}
	g.open(w, r, local(r.PostForm.Get("back")))
}

// bearer lets a program in that sends the token.
func (g *guard) bearer(w http.ResponseWriter, r *http.Request) bool {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	why, status := g.verify(r, token)
	if why != "" {
		g.refuse(w, r, status, why)
	}
	return why == ""
}

// verify says what is wrong with a token. Who has guessed too often is not heard for a minute; everybody else is.
func (g *guard) verify(r *http.Request, token string) (why string, status int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	from, now := g.client(r), g.now()
	recent := g.guesses[from]
	for len(recent) > 0 && now.Sub(recent[0]) >= time.Minute {
		recent = recent[1:]
	}
	if len(recent) >= maxGuesses {
		return "too many wrong tokens from this address: try again in a minute", http.StatusTooManyRequests
	}
	if g.Token != "" && subtle.ConstantTimeCompare([]byte(token), []byte(g.Token)) == 1 {
		return "", 0
	}
	for a, list := range g.guesses {
		if now.Sub(list[len(list)-1]) >= time.Minute {
			delete(g.guesses, a)
		}
	}
	g.guesses[from] = append(recent, now)
	if g.Token == "" {
		return "this server has no token: it lets browsers in by links", http.StatusUnauthorized
	}
	return "that is not the token of this server", http.StatusUnauthorized
}

// client is the address that a request comes from; a proxy that the user named says whose request it passes on.
func (g *guard) client(r *http.Request) string {
	from := hostname(r.RemoteAddr)
	near := net.ParseIP(from)
	if passed := r.Header.Values("X-Forwarded-For"); len(passed) > 0 && near != nil && near.IsLoopback() && g.configured(r.Host) {
		list := strings.Split(passed[len(passed)-1], ",")
		from = strings.TrimSpace(list[len(list)-1]) // those before it may be made up
	}
	if ip := net.ParseIP(from); ip != nil && ip.To4() == nil {
		from = ip.Mask(net.CIDRMask(64, 128)).String() // one of these is a household
	}
	return from
}

// ours says whether a form is one of this session's pages.
func (s session) ours(r *http.Request) bool {
	return subtle.ConstantTimeCompare([]byte(r.PostFormValue("form")), []byte(s.form)) == 1
}

// serveSignOut ends a session.
func (g *guard) serveSignOut(w http.ResponseWriter, r *http.Request, s session) {
	r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
	if !s.ours(r) {
		http.Error(w, "this page is too old: load it again", http.StatusForbidden)
		return
	}
	g.mu.Lock()
	if len(g.ended) >= maxEnded {
		clear(g.ended) // their browsers have forgotten them
	}
	g.ended[s.cookie] = struct{}{}
	g.mu.Unlock()
	g.setCookie(w, r, "", -1)
	g.refuse(w, r, http.StatusOK, "You are signed out.")
}
