package modelagent

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"

	"ralph/internal/testing/check"
)

const testPage = `<!DOCTYPE html><html><head><title>A  title</title><style>p { color: red }</style><script>alert("x")</script></head>
<body><header><h1>Heading <em>one</em></h1></header>
<p>Some <b>bold</b> text, with
a <a href="/other?x=1">link</a>. <a href="#here">Here</a></p>
<ul>
  <li>first</li>
  <li> <p>second</p> </li></ul>
<pre>code  is
  kept</pre><table><tr><td>a</td><td>b</td></tr></table><noscript>no</noscript>&lt;end&gt;</body></html>`

func TestFetch(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	say := func(path, kind, text string) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			fmt.Fprint(w, text)
		})
	}
	say("/page", "text/html; charset=utf-8", testPage)
	say("/json", "application/json", `{"a": 1}`)
	say("/image", "image/png", "\x89PNG\r\n\x1a\n\x00")
	say("/large", "text/plain", strings.Repeat("x", maxText+1))
	say("/empty", "text/plain", "")
	mux.HandleFunc("/gone", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "it is gone", http.StatusGone) })
	mux.HandleFunc("/once", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/json", http.StatusFound) })
	for n := range maxRedirects + 1 {
		mux.HandleFunc(fmt.Sprintf("/hop%d", n+1), func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, []string{"/json", fmt.Sprintf("/hop%d", n)}[min(n, 1)], http.StatusFound)
		})
	}
	mux.HandleFunc("/away", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://elsewhere.example/", http.StatusFound)
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	b := box(t, nil)
	b.env = nil
	tests := map[string]struct {
		url, want string
		failed    bool
	}{
		"a page":                        {server.URL + "/page", "A title\n\n# Heading one\n\nSome bold text, with a link (" + server.URL + "/other?x=1). Here\n\n- first\n- second\n\ncode  is\n  kept\n\n | a | b\n\n<end>\n", false},
		"other text":                    {server.URL + "/json", `{"a": 1}`, false},
		"nothing":                       {server.URL + "/empty", "(nothing)", false},
		"an image":                      {server.URL + "/image", "what is there is not text but image/png of 9 bytes", true},
		"too much":                      {server.URL + "/large", "the page: it has more than 4 MiB", true},
		"an error":                      {server.URL + "/gone", "it is gone\n(HTTP 410 Gone)", true},
		"a redirect":                    {server.URL + "/once", `{"a": 1}`, false},
		"a redirect to another host":    {server.URL + "/away", `Get "http://elsewhere.example/": it leads to http://elsewhere.example/, use that address`, true},
		"as many redirects as allowed":  {server.URL + "/hop5", `{"a": 1}`, false},
		"one more":                      {server.URL + "/hop6", `Get "/json": it leads to ` + server.URL + `/json, use that address`, true},
		"another kind of address":       {"file:///etc/passwd", "a URL begins with http:// or https://", true},
		"an address that leads nowhere": {"http://127.0.0.1:1/", `Get "http://127.0.0.1:1/": dial tcp 127.0.0.1:1: connect: connection refused`, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := call(t, b, "fetch", arguments("url", test.url))
			check.Equal(t, "the text", test.want, r.Text)
			check.Equal(t, "failed", test.failed, r.Failed)
		})
	}
}

func TestALongResultIsCut(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "begin"+strings.Repeat("é", 2*maxResult)+"end")
	}))
	defer server.Close()
	r := call(t, box(t, nil), "fetch", arguments("url", server.URL))
	check.That(t, strings.HasPrefix(r.Text, "begin") && strings.HasSuffix(r.Text, "end"), "an end is missing")
	check.That(t, utf8.RuneCountInString(r.Text) <= maxResult, "it has %d characters", utf8.RuneCountInString(r.Text))
}

func TestFetchGoesThroughTheProxy(t *testing.T) {
	t.Parallel()
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "the proxy was asked for %s", r.URL)
	}))
	defer proxy.Close()
	b := box(t, nil)
	b.env = []string{"http_proxy=" + proxy.URL}
	check.Equal(t, "the text", "the proxy was asked for http://nowhere.invalid/x", call(t, b, "fetch", arguments("url", "http://nowhere.invalid/x")).Text)
}
