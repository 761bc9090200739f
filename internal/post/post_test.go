package post

import (
	"bufio"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// secret is the part of every address that must never be seen.
const secret = "/services/T000/B000/s3cr3tt0ken?key=s3cr3tt0ken"

func serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

func TestAServerGetsWhatWasPosted(t *testing.T) {
	t.Parallel()
	var got string
	handler := func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		user, word, _ := r.BasicAuth()
		got = fmt.Sprintf("%s %s %s %s %s:%s %s", r.Method, r.URL.RequestURI(), r.Header.Get("Content-Type"), r.Header.Get("X-Mine"), user, word, body)
		w.WriteHeader(http.StatusAccepted)
	}
	plain := serve(t, handler)
	secure := httptest.NewTLSServer(http.HandlerFunc(handler))
	t.Cleanup(secure.Close)
	roots := x509.NewCertPool()
	roots.AddCert(secure.Certificate())
	for _, address := range []string{plain.URL, secure.URL} {
		address = strings.Replace(address, "://", "://me:word@", 1)
		body := strings.Repeat("ü", 100_000)
		reply, err := Client{Roots: roots}.Post(t.Context(), address+"/a%20b?c=d", map[string]string{"Content-Type": "x/y", "X-Mine": "yes"}, []byte(body))
		if err != nil || reply.Status != 202 || !reply.OK() || reply.Again() {
			t.Errorf("got %+v, %v", reply, err)
		}
		if want := "POST /a%20b?c=d x/y yes me:word " + body; got != want {
			t.Errorf("got %.80q, want %.80q", got, want)
		}
	}
	if _, err := (Client{}).Post(t.Context(), secure.URL, nil, nil); err == nil {
		t.Error("a certificate that nobody signed was believed")
	}
}

func TestWhatAServerAnswers(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, tc := range map[string]struct {
		status    int
		after     string
		ok, again bool
		want      time.Duration
	}{
		"taken":                  {200, "", true, false, 0},
		"moved is not followed":  {307, "", false, false, 0},
		"not found":              {404, "", false, false, 0},
		"too many, with seconds": {429, "7", false, true, 7 * time.Second},
		"busy, with a time":      {503, "Fri, 02 Jan 2026 03:04:15 GMT", false, true, 10 * time.Second},
		"a time that has passed": {503, "Fri, 02 Jan 2026 03:04:00 GMT", false, true, 0},
		"seconds without sense":  {503, "-4", false, true, 0},
		"no time at all":         {500, "soon", false, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", "/elsewhere")
				w.Header().Set("Retry-After", tc.after)
				w.WriteHeader(tc.status)
			})
			got, err := Client{Now: func() time.Time { return now }}.Post(t.Context(), s.URL+secret, nil, []byte("x"))
			if err != nil || got.Status != tc.status || got.OK() != tc.ok || got.Again() != tc.again || got.After != tc.want {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}

// speak is a server that says these bytes and hangs up.
func speak(t *testing.T, answer string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = bufio.NewReader(conn).ReadString('\n')
			_, _ = io.WriteString(conn, answer)
			conn.Close()
		}
	}()
	return "http://" + l.Addr().String() + secret
}

func TestBadServersAreErrorsThatKeepTheAddressToThemselves(t *testing.T) {
	t.Parallel()
	closed := httptest.NewServer(nil)
	closed.Close()
	for name, address := range map[string]string{
		"nobody there":         closed.URL + secret,
		"it hangs up":          speak(t, ""),
		"half an answer":       speak(t, "HTTP/1.1 200 OK\r\nA: b"),
		"another protocol":     speak(t, "SSH-2.0-x\r\n\r\n"),
		"no number":            speak(t, "HTTP/1.1 two OK\r\n\r\n"),
		"an endless answer":    speak(t, "HTTP/1.1 200 OK\r\nA: "+strings.Repeat("x", 1<<20)+"\r\n\r\n"),
		"no host of that name": "http://no-such-host.invalid" + secret,
		"another scheme":       "ftp://example.org" + secret,
		"no host":              "https://" + secret,
		"no address":           "https://exa mple.org" + secret,
		"a broken escape":      "http://example.org/%zz" + secret,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reply, err := Client{}.Post(t.Context(), address, nil, []byte("x"))
			if err == nil {
				t.Fatalf("got %+v, want an error", reply)
			}
			if strings.Contains(err.Error(), "s3cr3t") || strings.Contains(err.Error(), "T000") {
				t.Errorf("the error tells the secret: %v", err)
			}
		})
	}
	open := serve(t, func(http.ResponseWriter, *http.Request) {})
	if _, err := (Client{}).Post(t.Context(), open.URL, map[string]string{"A": "b\r\nC: d"}, nil); err == nil {
		t.Error("a header with two lines was sent")
	}
}

func TestAServerThatHangsIsLeftWhenTheContextEnds(t *testing.T) {
	t.Parallel()
	arrived, release := make(chan struct{}), make(chan struct{})
	s := serve(t, func(http.ResponseWriter, *http.Request) {
		close(arrived)
		<-release
	})
	defer close(release)
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	go func() {
		<-arrived
		cancel(why)
	}()
	if _, err := (Client{}).Post(ctx, s.URL+secret, nil, []byte("x")); !errors.Is(err, why) {
		t.Errorf("got %v, want the cause", err)
	}
}

func TestProxies(t *testing.T) {
	t.Parallel()
	env := map[string]string{"HTTPS_PROXY": "proxy.example:3128", "http_proxy": "http://u:p@plain.example", "NO_PROXY": "spared.example, .inner.example"}
	for address, want := range map[string]string{
		"https://hooks.example/x":   "http://proxy.example:3128",
		"http://hooks.example/x":    "http://u:p@plain.example",
		"https://spared.example":    "",
		"https://a.spared.example":  "",
		"https://a.inner.example":   "",
		"https://notspared.example": "http://proxy.example:3128",
		"http://127.0.0.1:4318/v1":  "",
		"http://localhost/v1":       "",
		"http://[::1]/v1":           "",
	} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if p := ProxyFrom(func(name string) string { return env[name] })(u); p != nil {
			got = p.String()
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", address, got, want)
		}
	}
}

func TestARequestGoesThroughAProxy(t *testing.T) {
	t.Parallel()
	var asked []string
	secure := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) }))
	t.Cleanup(secure.Close)
	roots := x509.NewCertPool()
	roots.AddCert(secure.Certificate())
	proxy := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.RequestURI+" "+r.Header.Get("Proxy-Authorization"))
		if r.Method != http.MethodConnect {
			w.WriteHeader(201)
			return
		}
		there, err := net.Dial("tcp", r.Host)
		if err != nil {
			w.WriteHeader(502)
			return
		}
		w.WriteHeader(200)
		here, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		go func() { _, _ = io.Copy(there, here) }()
		_, _ = io.Copy(here, there)
		here.Close()
		there.Close()
	})
	through, err := url.Parse(strings.Replace(proxy.URL, "://", "://u:p@", 1))
	if err != nil {
		t.Fatal(err)
	}
	c := Client{Roots: roots, Proxy: func(*url.URL) *url.URL { return through }}
	if reply, err := c.Post(t.Context(), secure.URL+secret, nil, []byte("x")); err != nil || reply.Status != 204 {
		t.Errorf("got %+v, %v", reply, err)
	}
	if reply, err := c.Post(t.Context(), "http://hooks.example/x", nil, []byte("x")); err != nil || reply.Status != 201 {
		t.Errorf("got %+v, %v", reply, err)
	}
	want := fmt.Sprintf("[CONNECT %s Basic dTpw POST http://hooks.example/x Basic dTpw]", strings.TrimPrefix(secure.URL, "https://"))
	if got := fmt.Sprint(asked); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if _, err := c.Post(t.Context(), "https://127.0.0.1:1/x", nil, nil); err == nil || !strings.Contains(err.Error(), "the proxy answers with status 502") {
		t.Errorf("got %v", err)
	}
}
