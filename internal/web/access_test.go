package web

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"ralph/internal/bounded"
	"ralph/internal/testing/check"
)

const token = "a-token-of-26-characters-x"

// desk is a server with a clock, and what it was asked to do.
type desk struct {
	*Server
	t     *testing.T
	now   time.Time
	calls [][]string
}

func newDesk(t *testing.T, a Access) *desk {
	t.Helper()
	d := &desk{t: t, now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	s, err := New(Options{
		Now: func() time.Time { return d.now }, Redact: func(s string) string { return s }, Access: a,
		Open: func(context.Context) (*Project, error) { return nil, fmt.Errorf("no project here") },
		Command: func(_ context.Context, c Call) int {
			d.calls = append(d.calls, c.Args)
			_, _ = io.WriteString(c.Stdout, "done\n")
			return 0
		},
	})
	check.OK(t, err)
	d.Server, s.patience = s, time.Minute
	return d
}

// ask sends a request; pairs are headers.
func (d *desk) ask(method, target, body string, pairs ...string) *http.Response {
	d.t.Helper()
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.Host = "127.0.0.1:7447"
	if body != "" && !strings.HasPrefix(body, "{") {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(pairs); i += 2 {
		switch pairs[i] {
		case "Host":
			r.Host = pairs[i+1]
		case "From":
			r.RemoteAddr = pairs[i+1]
		default:
			r.Header.Set(pairs[i], pairs[i+1])
		}
	}
	w := httptest.NewRecorder()
	d.Handler().ServeHTTP(w, r)
	return w.Result()
}

func (d *desk) want(status int, res *http.Response) string {
	d.t.Helper()
	body, err := io.ReadAll(res.Body)
	check.OK(d.t, err)
	check.That(d.t, res.StatusCode == status, "got %d, want %d:\n%s", res.StatusCode, status, body)
	return string(body)
}

// enter opens a session by a link, and returns its cookie as a header.
func (d *desk) enter() string {
	d.t.Helper()
	res := d.ask("GET", d.Link(), "")
	d.want(200, res)
	return cookieOf(d.t, res)
}

func cookieOf(t *testing.T, res *http.Response) string {
	t.Helper()
	list := res.Cookies()
	check.Equal(t, "cookies", 1, len(list))
	return list[0].Name + "=" + list[0].Value
}

// form is the secret of the forms of a session.
func (d *desk) form(cookie string) string {
	r := httptest.NewRequest("GET", "/", http.NoBody)
	r.Header.Set("Cookie", cookie)
	s, ok := d.guard.session(r)
	check.That(d.t, ok, "%s is no session", cookie)
	return s.form
}

func TestALinkLetsInOnce(t *testing.T) {
	t.Parallel()
	d := newDesk(t, Access{Cookie: "one"})
	d.want(401, d.ask("GET", "/", ""))
	d.want(401, d.ask("GET", "/nothing", "")) // strangers do not learn what there is
	link := d.Link()
	d.ask("HEAD", link, "") // who only looks at it does not use it up
	res := d.ask("GET", link, "")
	d.want(200, res)
	c := res.Cookies()[0]
	check.That(t, c.HttpOnly && c.SameSite == http.SameSiteStrictMode && !c.Secure && c.Path == "/", "got %v", c)
	check.Contains(t, "another link", "This link was used", d.want(401, d.ask("GET", link, "")))
	cookie := cookieOf(t, res)
	d.want(404, d.ask("GET", "/nothing", "", "Cookie", cookie))
	d.want(200, d.ask("GET", link, "", "Cookie", cookie)) // it is in already

	first, second := d.Link(), d.Link()
	d.want(401, d.ask("GET", first, ""))
	d.want(200, d.ask("GET", second, ""))
	third := d.Link()
	d.want(200, d.ask("GET", third, "", "Cookie", cookie))
	d.want(401, d.ask("GET", third, "")) // who is in already uses it up, too
	d.want(401, d.ask("GET", "/?key=", ""))

	d.now = d.now.Add(sessionLife)
	d.want(401, d.ask("GET", "/nothing", "", "Cookie", cookie))
	other := newDesk(t, Access{Cookie: "one"}) // after a restart
	other.want(401, other.ask("GET", "/nothing", "", "Cookie", cookie))
}

func TestOtherSitesAndNamesAreRefused(t *testing.T) {
	t.Parallel()
	d := newDesk(t, Access{Cookie: "one", Hosts: []string{"ralph.example", "odd.example:8443"}})
	cookie := d.enter()
	form := "form=" + d.form(cookie) + "&arg=pause&back=/"
	for name, c := range map[string]struct {
		method, path string
		headers      []string
		want         int
	}{
		"another name":                       {"GET", "/nothing", []string{"Host", "evil.example"}, 421},
		"another name with our port":         {"GET", "/nothing", []string{"Host", "evil.example:7447"}, 421},
		"another name, for what is static":   {"GET", "/static/style.css", []string{"Host", "evil.example"}, 421},
		"another name, for a webhook":        {"POST", "/in/x", []string{"Host", "evil.example"}, 421},
		"a name that begins with an address": {"GET", "/nothing", []string{"Host", "127.0.0.1.evil.example"}, 421},
		"an address that is not ours":        {"GET", "/nothing", []string{"Host", "192.0.2.1:7447"}, 421},
		"no name":                            {"GET", "/nothing", []string{"Host", ""}, 421},
		"localhost":                          {"GET", "/nothing", []string{"Host", "localhost:7447"}, 404},
		"localhost as it may be written":     {"GET", "/nothing", []string{"Host", "LOCALHOST.:7447"}, 404},
		"localhost of another site":          {"GET", "/nothing", []string{"Host", "localhost.evil.example"}, 421},
		"the other loopback":                 {"GET", "/nothing", []string{"Host", "[::1]:7447"}, 404},
		"a configured name":                  {"GET", "/nothing", []string{"Host", "RALPH.example"}, 404},
		"from another site":                  {"POST", "/do", []string{"Origin", "http://evil.example"}, 403},
		"from another port":                  {"POST", "/do", []string{"Origin", "http://127.0.0.1:8000"}, 403},
		"from a file":                        {"POST", "/do", []string{"Origin", "null"}, 403},
		"from another site, without Origin":  {"POST", "/do", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		"from another port, without Origin":  {"POST", "/do", []string{"Sec-Fetch-Site", "same-site"}, 403},
		"by another method":                  {"PUT", "/do", []string{"Origin", "http://evil.example"}, 403},
		"from our page":                      {"POST", "/do", []string{"Origin", "http://127.0.0.1:7447", "Sec-Fetch-Site", "same-origin"}, 303},
		"without a browser":                  {"POST", "/do", nil, 303},
		"behind a proxy":                     {"POST", "/do", []string{"Origin", "https://ralph.example", "Host", "ralph.example"}, 303},
		"behind one that changes the name":   {"POST", "/do", []string{"Origin", "https://ralph.example"}, 303},
		"behind one, at another port":        {"POST", "/do", []string{"Origin", "https://ralph.example:8443", "Host", "ralph.example"}, 403},
		"behind one at an odd port":          {"POST", "/do", []string{"Origin", "https://odd.example:8443", "Host", "odd.example"}, 303},
	} {
		t.Run(name, func(t *testing.T) {
			body := ""
			if c.method != "GET" {
				body = form
			}
			d.t = t
			d.want(c.want, d.ask(c.method, c.path, body, append([]string{"Cookie", cookie}, c.headers...)...))
		})
	}
	check.Equal(t, "commands", 5, len(d.calls)) // those that were let through
	public := newDesk(t, Access{Token: token, Public: true})
	public.want(401, public.ask("GET", "/nothing", "", "Host", "192.0.2.1:7447")) // an address is no name of another site
	public.want(421, public.ask("GET", "/nothing", "", "Host", "evil.example"))
}

// TestBrowsersAreLedToTheServersOwnName, and nobody else is: programs, tunnels and proxies use the addresses that they know.
func TestBrowsersAreLedToTheServersOwnName(t *testing.T) {
	t.Parallel()
	const name = "shop-abcdefghij.localhost"
	d := newDesk(t, Access{Token: token, Cookie: "one", Name: name})
	browses := []string{"Sec-Fetch-Mode", "navigate", "Sec-Fetch-Site", "none"}
	for host, want := range map[string]string{
		"127.0.0.1:7447": "http://" + name + ":7447/tasks?all=1", "localhost:7447": "http://" + name + ":7447/tasks?all=1",
		"[::1]:7447": "http://" + name + ":7447/tasks?all=1", "127.0.0.1:8000": "http://" + name + ":8000/tasks?all=1", "localhost": "http://" + name + "/tasks?all=1",
	} {
		res := d.ask("GET", "/tasks?all=1", "", append(browses, "Host", host)...)
		d.want(307, res)
		check.Equal(t, "where "+host+" leads", want, res.Header.Get("Location"))
	}
	d.want(401, d.ask("GET", "/tasks", "", append(browses, "Host", name+":7447")...))
	d.want(421, d.ask("GET", "/tasks", "", append(browses, "Host", "shop.localhost:7447")...))
	d.want(401, d.ask("GET", "/tasks", ""))                                                         // no browser
	d.want(404, d.ask("GET", "/nothing", "", append(browses, "Authorization", "Bearer "+token)...)) // RALPH_SERVER
	d.want(401, d.ask("GET", "/api/v1/status", "", append(browses, "Authorization", "Bearer x")...))
	check.Contains(t, "a browser that does not find the name", `value="/"`, d.want(401, d.ask("GET", "/sign-in", "", browses...)))
	res := d.ask("POST", "/sign-in", "token="+token, "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Site", "same-origin", "Origin", "http://127.0.0.1:7447")
	d.want(200, res)
	d.want(404, d.ask("GET", "/nothing", "", append(browses, "Cookie", cookieOf(t, res))...))
	proxied := newDesk(t, Access{Token: token, Name: name, Hosts: []string{"ralph.example"}})
	proxied.want(401, proxied.ask("GET", "/tasks", "", append(browses, "Host", "ralph.example")...))
	proxied.want(401, proxied.ask("GET", "/tasks", "", browses...)) // a proxy may change the name
	linked := newDesk(t, Access{Name: name})
	linked.want(200, linked.ask("GET", linked.Link(), "", browses...)) // where the browser does not find the name
}

func TestAChangeNeedsTheFormOfItsSession(t *testing.T) {
	t.Parallel()
	d := newDesk(t, Access{Cookie: "one"})
	one, two := d.enter(), d.enter()
	d.want(403, d.ask("POST", "/do", "arg=pause", "Cookie", one))
	d.want(403, d.ask("POST", "/do", "arg=pause&form="+d.form(two), "Cookie", one))
	d.want(403, d.ask("POST", "/do?form="+d.form(one), "arg=pause", "Cookie", two))
	d.want(403, d.ask("POST", "/sign-out", "form=x", "Cookie", one))
	d.want(403, d.ask("POST", "/api/v1/commands", `{"args":["pause"]}`, "Cookie", one))
	check.Equal(t, "commands", 0, len(d.calls))
	check.Contains(t, "an old page", goBack, d.want(403, d.ask("POST", "/do", "arg=pause&form=x", "Cookie", one)))
	check.Contains(t, "a session that ended", goBack, d.want(401, d.ask("POST", "/do", "arg=pause&form=x")))
	check.Contains(t, "a long text", goBack, d.want(413, d.ask("POST", "/do", "form="+d.form(one)+"&stdin="+strings.Repeat("x", bounded.Form), "Cookie", one)))
	check.Equal(t, "commands", 0, len(d.calls))
	check.Contains(t, "an address that there is not", `href="/">Overview`, d.want(404, d.ask("GET", "/do", "", "Cookie", one)))
	check.That(t, !strings.Contains(d.want(404, d.ask("GET", "/in/x", "")), "<"), "a stranger sees a page")
	d.want(200, d.ask("POST", "/sign-out", "form="+d.form(one), "Cookie", one))
	d.want(401, d.ask("GET", "/nothing", "", "Cookie", one))
	d.want(404, d.ask("GET", "/nothing", "", "Cookie", two))
	other := newDesk(t, Access{Cookie: "two"})
	other.want(401, other.ask("GET", "/nothing", "", "Cookie", two))
}

func TestATokenOpensSessionsThatSurviveARestart(t *testing.T) {
	t.Parallel()
	d := newDesk(t, Access{Token: token, Cookie: "one", Hosts: []string{"ralph.example"}})
	check.Equal(t, "link", "", d.Link())
	check.Contains(t, "the form", `type="password"`, d.want(401, d.ask("GET", "/tasks/t-1?a=b", "")))
	check.Contains(t, "where to come back", `value="/tasks/t-1?a=b"`, d.want(401, d.ask("GET", "/tasks/t-1?a=b", "")))
	d.want(401, d.ask("GET", "/?key=x", ""))
	d.want(403, d.ask("POST", "/sign-in", "token="+token, "Origin", "http://evil.example"))
	check.Contains(t, "what is wrong", "not the token", d.want(401, d.ask("POST", "/sign-in", "token=wrong&back=/tasks")))
	res := d.ask("POST", "/sign-in", "token="+token+"&back=//evil.example/x", "Host", "ralph.example", "X-Forwarded-Proto", "https")
	d.want(200, res)
	check.Equal(t, "where it leads", "0; url=/", res.Header.Get("Refresh"))
	check.That(t, res.Cookies()[0].Secure, "the cookie of a page by https is not secure")
	check.That(t, !d.ask("POST", "/sign-in", "token="+token, "X-Forwarded-Proto", "https").Cookies()[0].Secure, "anybody may say that it is https")
	cookie := cookieOf(t, res)
	d.want(404, d.ask("GET", "/nothing", "", "Cookie", cookie))

	again := newDesk(t, Access{Token: token, Cookie: "one"})
	again.want(404, again.ask("GET", "/nothing", "", "Cookie", cookie))
	check.Equal(t, "form after a restart", d.form(cookie), again.form(cookie))
	changed := newDesk(t, Access{Token: token + "x", Cookie: "one"})
	changed.want(401, changed.ask("GET", "/nothing", "", "Cookie", cookie))
	elsewhere := newDesk(t, Access{Token: token, Cookie: "two"}) // another project with the same token
	elsewhere.want(401, elsewhere.ask("GET", "/nothing", "", "Cookie", strings.Replace(cookie, "ralph-one", "ralph-two", 1)))
	until := regexp.MustCompile(`=\d+`)
	d.want(401, d.ask("GET", "/nothing", "", "Cookie", until.ReplaceAllString(cookie, "=99999999999")))
	for _, bad := range []string{"", ".", "1.", "x-y.z", "99999999999-a", strings.Repeat("9", 400) + "."} {
		d.want(401, d.ask("GET", "/nothing", "", "Cookie", "ralph-one="+bad))
	}
}

func TestGuessesAreLimited(t *testing.T) {
	t.Parallel()
	d := newDesk(t, Access{Token: token, Public: true, Cookie: "one"})
	bearer := func(token, from string) *http.Response {
		return d.ask("GET", "/api/v1/nothing", "", "Authorization", "Bearer "+token, "From", from)
	}
	for i := range maxGuesses {
		d.want(401, bearer(fmt.Sprintf("guess-%d", i), "192.0.2.7:1000"))
	}
	d.want(429, bearer("guess", "192.0.2.7:1001"))
	d.want(429, bearer(token, "192.0.2.7:1001")) // or the answer would say that this one was right
	d.want(429, d.ask("POST", "/sign-in", "token="+token, "From", "192.0.2.7:1002"))
	d.want(404, bearer(token, "192.0.2.8:1000"))
	d.want(200, d.ask("POST", "/sign-in", "token="+token, "From", "192.0.2.8:1000"))
	d.now = d.now.Add(time.Minute)
	d.want(404, bearer(token, "192.0.2.7:1000"))
	linked := newDesk(t, Access{})
	linked.want(401, linked.ask("GET", "/api/v1/status", "", "Authorization", "Bearer "))
	linked.want(401, linked.ask("GET", "/api/v1/status", "", "Authorization", "Bearer x"))
}

func TestReadOnlyChangesNothing(t *testing.T) {
	t.Parallel()
	d := newDesk(t, Access{Token: token, ReadOnly: true, Cookie: "one"})
	cookie := cookieOf(t, d.ask("POST", "/sign-in", "token="+token))
	d.want(403, d.ask("POST", "/do", "arg=pause&form="+d.form(cookie), "Cookie", cookie))
	check.Contains(t, "why", `"error":"this server is read-only"`, d.want(403, d.ask("POST", "/api/v1/commands", `{"args":["pause"]}`, "Authorization", "Bearer "+token)))
	d.want(403, d.ask("POST", "/api/v1/commands", `{"args":["run"]}`, "Authorization", "Bearer "+token))
	check.Equal(t, "commands", 0, len(d.calls))
	d.want(200, d.ask("POST", "/api/v1/commands", `{"args":["task","list"]}`, "Authorization", "Bearer "+token))
	d.want(200, d.ask("GET", "/api/v1/tasks", "", "Cookie", cookie))
}

func TestPagesCannotBeFramedOrRunInlineScript(t *testing.T) {
	t.Parallel()
	d := newDesk(t, Access{})
	for _, path := range []string{"/", "/static/style.css", "/nothing"} {
		h := d.ask("GET", path, "").Header
		check.Equal(t, "policy of "+path, policy, h.Get("Content-Security-Policy"))
		check.Equal(t, "frames of "+path, "DENY", h.Get("X-Frame-Options"))
	}
	check.That(t, !strings.Contains(policy, "unsafe"), "got %s", policy)
	for _, path := range []string{"/static/", "/static/../server.go", "/static/..%2fserver.go", "/static/%2e%2e/page/layout.html", "/static/nothing.js"} {
		res := d.ask("GET", (&url.URL{Path: "/static/"}).String()+strings.TrimPrefix(path, "/static/"), "")
		check.That(t, res.StatusCode != 200, "%s is served", path)
	}
	d.want(200, d.ask("GET", "/static/style.css", ""))
	d.want(200, d.ask("HEAD", "/static/style.css", ""))
}
