package proxy

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"ralph/internal/testing/check"
)

func TestWhatIsNamed(t *testing.T) {
	t.Parallel()
	h, err := Parse([]string{"api.example.com", "*.example.org", "Odd.Example.net:8080", "192.0.2.1", "[2001:db8::1]:81", "10.0.0.0/8", "localhost:99"})
	check.OK(t, err)
	for target, want := range map[string]bool{
		"api.example.com:443": true, "api.example.com:80": true, "API.example.com.:443": true, "api.example.com:22": false,
		"example.com:443": false, "xapi.example.com:443": false, "api.example.com.evil.net:443": false,
		"a.example.org:443": true, "a.b.example.org:443": true, "example.org:443": false, ".example.org:443": false, "xexample.org:443": false,
		"odd.example.net:8080": true, "odd.example.net:443": false,
		"192.0.2.1:443": true, "192.0.2.2:443": false, "2001:db8::1:81": true, "2001:db8::1:443": false,
		"10.1.2.3:443": true, "::ffff:10.1.2.3:80": true, "11.1.2.3:443": false,
		"localhost:99": true, "localhost:443": false, "127.0.0.1:99": true, "127.0.0.1:80": false,
	} {
		at := strings.LastIndex(target, ":")
		check.Equal(t, target, want, h.named(target[:at], target[at+1:]))
	}
	for _, bad := range []string{"", "*", "*.", ".", "https://example.com", "example.com/path", "a*.example.com", "*example.com", "example.com:", "example.com:0", "example.com:99999", "a b", "user@example.com"} {
		_, err := Parse([]string{bad})
		check.That(t, err != nil, "%q was taken", bad)
	}
}

func TestWhatIsNotPublic(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"127.0.0.1": true, "127.9.9.9": true, "10.0.0.1": true, "172.16.0.1": true, "192.168.1.1": true, "169.254.169.254": true, "100.64.0.1": true,
		"0.0.0.0": true, "::": true, "::1": true, "fe80::1": true, "fc00::1": true, "224.0.0.1": true, "255.255.255.255": true, "64:ff9b::a9fe:a9fe": true,
		"8.8.8.8": false, "2606:4700::1": false,
	} {
		check.Equal(t, address, want, isInner(netip.MustParseAddr(address)))
	}
}

// start serves on a socket, and returns a client that knows no other way.
func start(t *testing.T, hosts ...string) (client *http.Client, dial func() net.Conn, refused func() []string) {
	t.Helper()
	list, err := Parse(hosts)
	check.OK(t, err)
	var mu sync.Mutex
	var said []string
	p, err := Listen(filepath.Join(t.TempDir(), "s"), list, func(host string) {
		mu.Lock()
		defer mu.Unlock()
		said = append(said, host)
	})
	check.OK(t, err)
	t.Cleanup(func() { check.OK(t, p.Close()) })
	transport := &http.Transport{
		Proxy:       http.ProxyURL(&url.URL{Scheme: "http", Host: "proxy"}),
		DialContext: func(context.Context, string, string) (net.Conn, error) { return net.Dial("unix", p.Socket()) },
	}
	t.Cleanup(transport.CloseIdleConnections)
	dial = func() net.Conn {
		conn, err := net.Dial("unix", p.Socket())
		check.OK(t, err)
		t.Cleanup(func() { conn.Close() })
		return conn
	}
	return &http.Client{Transport: transport}, dial, func() []string { mu.Lock(); defer mu.Unlock(); return said }
}

// TestANameLeadsOnlyToPublicAddresses: who controls a name that is listed, or its server of names, cannot reach this machine by it.
func TestANameLeadsOnlyToPublicAddresses(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "inside") }))
	defer server.Close()
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	names, err := net.LookupHost("localhost")
	if err != nil || len(names) == 0 {
		t.Skip("localhost has no address here")
	}
	// The trailing entry makes the name known without its addresses.
	list := Hosts{names: []entry{{name: "localhost", port: port}}}
	for _, tc := range []struct {
		hosts Hosts
		want  int
	}{{list, http.StatusForbidden}, {Hosts{names: list.names, addresses: []entry{{prefix: netip.MustParsePrefix("127.0.0.0/8"), port: port}}}, http.StatusOK}} {
		said := make(chan string, 1)
		p, err := Listen(filepath.Join(t.TempDir(), "s"), tc.hosts, func(host string) { said <- host })
		check.OK(t, err)
		client := &http.Client{Transport: &http.Transport{
			DisableKeepAlives: true, Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: "proxy"}),
			DialContext: func(context.Context, string, string) (net.Conn, error) { return net.Dial("unix", p.Socket()) },
		}}
		res, err := client.Get("http://localhost:" + port)
		check.OK(t, err)
		check.Equal(t, "status", tc.want, res.StatusCode)
		if tc.want == http.StatusForbidden {
			check.That(t, strings.Contains(<-said, "is not public"), "it was not said why")
		}
		res.Body.Close()
		check.OK(t, p.Close())
	}
}

func TestRefusalsAreSaidOnceForEachHost(t *testing.T) {
	t.Parallel()
	client, dial, refused := start(t, "api.example.com")
	for range 3 {
		res, err := client.Get("http://evil.example.com/")
		check.OK(t, err)
		body, _ := io.ReadAll(res.Body)
		res.Body.Close()
		check.Equal(t, "status", http.StatusForbidden, res.StatusCode)
		check.Equal(t, "body", "ralph's proxy refuses \"evil.example.com\": it is not in [sandbox.network] hosts\n", string(body))
	}
	check.Equal(t, "said", []string{`"evil.example.com": it is not in [sandbox.network] hosts`}, refused())
	for i := range 2 * maxSaid {
		res, err := client.Get(fmt.Sprintf("http://h%d.example.com/", i))
		check.OK(t, err)
		res.Body.Close()
	}
	check.Equal(t, "said of a flood", maxSaid, len(refused()))
	for _, request := range []string{"GET / HTTP/1.1\r\nHost: api.example.com\r\n\r\n", "GET ftp://api.example.com/ HTTP/1.1\r\nHost: x\r\n\r\n", "CONNECT api.example.com:22 HTTP/1.1\r\nHost: x\r\n\r\n", "nonsense\r\n\r\n"} {
		conn := dial()
		_, err := io.WriteString(conn, request)
		check.OK(t, err)
		line, _ := bufio.NewReader(conn).ReadString('\n')
		check.That(t, strings.Contains(line, " 400 ") || strings.Contains(line, " 403 "), "got %q to %q", line, request)
	}
}

// TestClosingEndsTunnels that would last for ever otherwise.
func TestClosingEndsTunnels(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check.OK(t, err)
	defer l.Close()
	list, err := Parse([]string{l.Addr().String()})
	check.OK(t, err)
	p, err := Listen(filepath.Join(t.TempDir(), "s"), list, func(string) {})
	check.OK(t, err)
	conn, err := net.Dial("unix", p.Socket())
	check.OK(t, err)
	fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: x\r\n\r\n", l.Addr())
	there, err := l.Accept()
	check.OK(t, err)
	r := bufio.NewReader(conn)
	line, err := r.ReadString('\n')
	check.OK(t, err)
	check.Equal(t, "answer", "HTTP/1.1 200 Connection established\r\n", line)
	fmt.Fprint(there, "hello\n")
	_, _ = r.ReadString('\n')
	line, err = r.ReadString('\n')
	check.OK(t, err)
	check.Equal(t, "through it", "hello\n", line)
	check.OK(t, p.Close())
	_, err = r.ReadByte()
	check.That(t, err != nil, "it is still open")
	_, err = bufio.NewReader(there).ReadByte()
	check.That(t, err != nil, "the other end is still open")
}

// TestNothingIsPrinted: what a server does wrong is for the client, which gets half an answer.
func TestNothingIsPrinted(t *testing.T) {
	var printed strings.Builder // the standard logger is everybody's: not in parallel
	log.SetOutput(&printed)
	defer log.SetOutput(os.Stderr)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		fmt.Fprint(w, "half")
	}))
	defer server.Close()
	list, err := Parse([]string{server.Listener.Addr().String()})
	check.OK(t, err)
	p, err := Listen(filepath.Join(t.TempDir(), "s"), list, func(string) {})
	check.OK(t, err)
	conn, err := net.Dial("unix", p.Socket())
	check.OK(t, err)
	defer conn.Close()
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", server.URL)
	answer, err := io.ReadAll(conn)
	check.OK(t, err)
	check.Contains(t, "answer", "half", string(answer))
	check.OK(t, p.Close())
	check.Equal(t, "printed", "", printed.String())
}
