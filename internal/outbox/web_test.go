package outbox

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

	"ralph/internal/testing/check"
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
	for _, address := range []string{plain.URL, secure.URL} {
		address = strings.Replace(address, "://", "://me:word@", 1)
		body := strings.Repeat("ü", 100_000)
		check.OK(t, Web{Roots: trusting(secure)}.Post(t.Context(), address+"/a%20b?c=d", map[string]string{"Content-Type": "x/y", "X-Mine": "yes"}, []byte(body)))
		want := "POST /a%20b?c=d x/y yes me:word " + body
		check.That(t, got == want, "got %.80q, want %.80q", got, want)
	}
	check.That(t, Web{}.Post(t.Context(), secure.URL, nil, nil) != nil, "a certificate that nobody signed was believed")
}

// trusting returns the roots that vouch for a server.
func trusting(s *httptest.Server) *x509.CertPool {
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	return roots
}

func TestWhatAServerAnswers(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	never := errors.New("HTTP status")
	for name, tc := range map[string]struct {
		status int
		after  string
		want   error
	}{
		"taken":                  {200, "", nil},
		"a redirect":             {307, "", Never(never)},
		"not found":              {404, "", Never(never)},
		"too many, with seconds": {429, "7", After(never, 7*time.Second)},
		"busy, with a time":      {503, "Fri, 02 Jan 2026 03:04:15 GMT", After(never, 10*time.Second)},
		"a time that has passed": {503, "Fri, 02 Jan 2026 03:04:00 GMT", After(never, 0)},
		"seconds without sense":  {503, "-4", After(never, 0)},
		"no time at all":         {500, "soon", After(never, 0)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				check.That(t, r.URL.Path != "/elsewhere", "the redirect was followed")
				w.Header().Set("Location", "/elsewhere")
				w.Header().Set("Retry-After", tc.after)
				w.WriteHeader(tc.status)
			})
			err := Web{Now: func() time.Time { return now }}.Post(t.Context(), s.URL+secret, map[string]string{"Authorization": "Bearer x"}, []byte("x"))
			got, want := fmt.Sprintf("%T %v", err, delayOf(err)), fmt.Sprintf("%T %v", tc.want, delayOf(tc.want))
			check.That(t, got == want, "got %s (%v), want %s", got, err, want)
		})
	}
}

func delayOf(err error) time.Duration {
	var l later
	errors.As(err, &l)
	return l.after
}

// listen serves connections, one after the other, and returns its address.
func listen(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check.OK(t, err)
	ended := make(chan struct{})
	t.Cleanup(func() { l.Close(); <-ended })
	go func() {
		defer close(ended)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			serve(conn)
			conn.Close()
		}
	}()
	return l.Addr().String()
}

// speak is a server that says these bytes and hangs up.
func speak(t *testing.T, answer string) string {
	return "http://" + listen(t, func(conn net.Conn) {
		_, _ = bufio.NewReader(conn).ReadString('\n')
		_, _ = io.WriteString(conn, answer)
	}) + secret
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
			err := Web{}.Post(t.Context(), address, nil, []byte("x"))
			text := fmt.Sprint(err)
			check.That(t, err != nil && !strings.Contains(text, "s3cr3t") && !strings.Contains(text, "T000"), "got %s, want an error without the secret", text)
		})
	}
	open := serve(t, func(http.ResponseWriter, *http.Request) {})
	check.That(t, Web{}.Post(t.Context(), open.URL, map[string]string{"A": "b\r\nC: d"}, nil) != nil, "a header with two lines was sent")
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
	err := Web{}.Post(ctx, s.URL+secret, nil, []byte("x"))
	check.That(t, errors.Is(err, why), "got %v, want the cause", err)
}

func TestWhichProxyAnAddressGoesThrough(t *testing.T) {
	t.Parallel()
	env := map[string]string{
		"HTTPS_PROXY": "proxy.example:3128", "http_proxy": "socks5://u:p@plain.example",
		"NO_PROXY": "spared.example, .inner.example, 10.0.0.0/8, fd00::/8, 192.0.2.7, ported.example:8443",
	}
	for address, want := range map[string]string{
		"https://hooks.example/x":      "http://proxy.example:3128",
		"http://hooks.example/x":       "socks5://u:p@plain.example",
		"https://spared.example":       "",
		"https://a.spared.example":     "",
		"https://a.inner.example":      "",
		"https://notspared.example":    "http://proxy.example:3128",
		"https://10.20.30.40/x":        "",
		"https://11.20.30.40/x":        "http://proxy.example:3128",
		"http://[fd12::1]:4318/v1":     "",
		"https://192.0.2.7":            "",
		"https://ported.example:8443":  "",
		"https://ported.example:18443": "http://proxy.example:3128",
		"http://127.0.0.1:4318/v1":     "",
		"http://localhost/v1":          "",
		"http://[::1]/v1":              "",
	} {
		u, err := url.Parse(address)
		check.OK(t, err)
		p, err := Web{Getenv: func(name string) string { return env[name] }}.proxy()(u)
		check.OK(t, err)
		check.That(t, p == nil && want == "" || p != nil && p.String() == want, "%s: got %v, want %q", address, p, want)
	}
}

// pass connects two ends until one of them hangs up. What comes from here is read from a
// reader, which may have read ahead.
func pass(here net.Conn, from io.Reader, to string) {
	defer here.Close()
	there, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer there.Close()
	go func() {
		_, _ = io.Copy(there, from)
		there.Close()
	}()
	_, _ = io.Copy(here, there)
}

// proxying is an HTTP proxy that reaches one server, whatever it is asked for, and
// records what it was asked for.
func proxying(to string, asked chan<- string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		asked <- r.Method + " " + r.RequestURI + " " + r.Header.Get("Proxy-Authorization")
		switch {
		case r.Method != http.MethodConnect:
			w.WriteHeader(http.StatusCreated)
		case to == "":
			w.WriteHeader(http.StatusBadGateway)
		default:
			w.WriteHeader(http.StatusOK)
			if here, ahead, err := http.NewResponseController(w).Hijack(); err == nil {
				pass(here, ahead, to)
			}
		}
	}
}

// socks is a SOCKS 5 proxy that wants credentials, reaches one server, whatever it is asked
// for, and records both.
func socks(t *testing.T, to string, asked chan<- string) string {
	return listen(t, func(conn net.Conn) {
		read := func(answer ...byte) []byte {
			message := make([]byte, 512)
			n, _ := conn.Read(message)
			_, _ = conn.Write(answer)
			return message[:n]
		}
		read(5, 2) // the methods that the client knows
		asked <- fmt.Sprintf("%q %q", read(1, 0), read(5, 0, 0, 1, 0, 0, 0, 0, 0, 0))
		pass(conn, conn, to)
	})
}

// TestARequestGoesThroughAProxy has the address example.com, which the certificate of
// httptest is for: no request for this machine itself goes through a proxy.
func TestARequestGoesThroughAProxy(t *testing.T) {
	t.Parallel()
	secure := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) }))
	t.Cleanup(secure.Close)
	target := secure.Listener.Addr().String()
	asked := make(chan string, 1)
	plain := serve(t, proxying(target, asked))
	encrypted := httptest.NewTLSServer(proxying(target, asked))
	t.Cleanup(encrypted.Close)
	broken := serve(t, proxying("", asked))
	with := func(address string) string { return strings.Replace(address, "://", "://u:p@", 1) }
	for name, tc := range map[string]struct{ proxy, address, asked, fails string }{
		"http":                    {with(plain.URL), "https://example.com" + secret, "CONNECT example.com:443 Basic dTpw", ""},
		"http, without a scheme":  {plain.Listener.Addr().String(), "https://example.com" + secret, "CONNECT example.com:443 ", ""},
		"http, plain request":     {with(plain.URL), "http://hooks.example/x", "POST http://hooks.example/x Basic dTpw", ""},
		"https":                   {with(encrypted.URL), "https://example.com" + secret, "CONNECT example.com:443 Basic dTpw", ""},
		"socks5":                  {"socks5://u:p@" + socks(t, target, asked), "https://example.com" + secret, `"\x01\x01u\x01p" "\x05\x01\x00\x03\vexample.com\x01\xbb"`, ""},
		"one that cannot connect": {broken.URL, "https://example.com" + secret, "CONNECT example.com:443 ", "example.com: the proxy returned HTTP status 502"},
	} {
		t.Run(name, func(t *testing.T) { // one after the other: they share what was asked
			web := Web{Roots: trusting(secure), Getenv: func(name string) string {
				return map[string]string{"https_proxy": tc.proxy, "HTTP_PROXY": tc.proxy}[name]
			}}
			check.Err(t, "post", tc.fails, web.Post(t.Context(), tc.address, nil, []byte("x")))
			select {
			case got := <-asked:
				check.That(t, got == tc.asked, "the proxy was asked for %q, want %q", got, tc.asked)
			default:
				t.Error("the proxy was not asked")
			}
		})
	}
}
