package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// provider is a host that only the proxy knows.
const provider = "provider.example.com:443"

// proxy lets through what is meant for the provider, to the scripted model, and nothing else. It notes who was asked for.
type proxy struct {
	*httptest.Server
	model string // address

	mu    sync.Mutex
	asked []string
}

func newProxy(model string) *proxy {
	p := &proxy{model: model}
	p.Server = httptest.NewServer(p)
	return p
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.asked = append(p.asked, r.Host)
	p.mu.Unlock()
	if r.Method != http.MethodConnect || r.Host != provider {
		http.Error(w, "not allowed", http.StatusForbidden)
		return
	}
	there, err := net.Dial("tcp", p.model)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer there.Close()
	here, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer here.Close()
	if _, err := io.WriteString(here, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	go func() {
		_, _ = io.Copy(there, here) // either side may end it
		_ = there.Close()
	}()
	_, _ = io.Copy(here, there)
}

func (p *proxy) saw(host string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Contains(p.asked, host)
}

// goesThrough gives an agent a provider that only a proxy reaches, and wants of it what ralph says that it does.
func (p *place) goesThrough(t *testing.T, agent string) {
	root, leaf := certificates(t)
	secure := httptest.NewUnstartedServer(p.server.Config.Handler)
	secure.TLS = &tls.Config{Certificates: []tls.Certificate{leaf}}
	secure.StartTLS()
	t.Cleanup(secure.Close)
	via := newProxy(secure.Listener.Addr().String())
	t.Cleanup(via.Close)
	authority := filepath.Join(p.home, "authority.pem")
	p.write(t, authority, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root})))
	p.env = append(p.env, "NODE_EXTRA_CA_CERTS="+authority, "SSL_CERT_FILE="+authority)
	for _, name := range []string{"HTTPS_PROXY", "HTTP_PROXY"} {
		p.env = append(p.env, name+"="+via.URL, strings.ToLower(name)+"="+via.URL)
	}
	const here = "localhost,127.0.0.1,::1" // where some agents have a server of their own
	p.env = append(p.env, "NO_PROXY="+here, "no_proxy="+here)
	out := p.run(t, "ralph", "agents", "test", agent)
	obeys := p.describe(t, agent).Proxy
	t.Logf("status %d, asked for %v\n%s", out.status, via.asked, out.stderr)
	if saw := via.saw(provider); saw != obeys || (out.status == 0) != obeys {
		t.Errorf("got status %d, came to the proxy: %v, want %v\n%s", out.status, saw, obeys, out.stderr)
	}
}

// reachesOnly has an agent work whose network is ralph's own proxy: it reaches its model, and its commands reach nothing that is not listed, by the
// proxy or around it. The model has an address of this machine that is not on loopback, where no proxy is used.
func reachesOnly(t *testing.T, agent string, newPlaceAt func(url string) *place) {
	outer := outerAddress(t)
	listen := func() net.Listener {
		l, err := net.Listen("tcp", net.JoinHostPort(outer, "0"))
		check(t, err)
		return l
	}
	serve := func(l net.Listener, h http.Handler) {
		s := &httptest.Server{Listener: l, Config: &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}}
		s.Start()
		t.Cleanup(s.Close)
	}
	model, other, reached := listen(), listen(), make(chan string, 10)
	serve(other, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { reached <- r.URL.Path }))
	p := newPlaceAt("http://" + model.Addr().String())
	serve(model, p.server.Config.Handler)
	p.write(t, filepath.Join(p.dir, ".ralph.toml"), fmt.Sprintf("%s[sandbox.network]\nhosts = [%q]\n", p.read(t, ".ralph.toml"), model.Addr()))
	p.server.Play(func(pr Prompt) Answer {
		switch {
		case pr.Kind == Verify:
			return Answer{Text: "I have looked at it.\n<verify-pass/>\n"}
		case pr.Turn == 0:
			at := other.Addr().String()
			return Answer{Text: "I look elsewhere.", Shell: fmt.Sprintf("curl -s -m 20 http://%s/by-proxy > got.txt; curl -s -m 20 --noproxy '*' http://%s/around; echo $? >> got.txt", at, at)}
		}
		return Answer{Text: "All is well.\n<task-done>" + pr.Task + "</task-done>\n"}
	})
	task := strings.TrimSpace(p.want(t, 0, "task", "add", "Look elsewhere").stdout)
	if !p.describe(t, agent).Proxy {
		p.want(t, 64, "run", task)
		return
	}
	out := p.run(t, "ralph", "run", task, "--idle-timeout", "2m")
	if strings.Contains(out.stderr, "a list of hosts needs namespaces") {
		t.Skip("SKIPPED: there are no namespaces here")
	}
	got := p.read(t, "got.txt")
	if out.status != 0 || !strings.Contains(out.stderr, "agents reach only "+model.Addr().String()) || !strings.Contains(got, "ralph's proxy refuses") || strings.HasSuffix(got, "\n0\n") || len(reached) > 0 {
		t.Errorf("got status %d, %q, %d requests elsewhere\n%s", out.status, got, len(reached), out.stderr)
	}
	p.wantScriptPlayed(t)
}

// outerAddress is one of this machine beside loopback.
func outerAddress(t *testing.T) string {
	t.Helper()
	list, err := net.InterfaceAddrs()
	check(t, err)
	for _, a := range list {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && n.IP.IsGlobalUnicast() {
			return n.IP.String()
		}
	}
	t.Skip("SKIPPED: this machine has no address beside loopback")
	return ""
}

// certificates are one that signs, and one of the provider that it has signed: not every agent takes one that is both.
func certificates(t *testing.T) (root []byte, leaf tls.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(t, err)
	host, _, err := net.SplitHostPort(provider)
	check(t, err)
	signer := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Test"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	root, err = x509.CreateCertificate(rand.Reader, signer, signer, key.Public(), key)
	check(t, err)
	own := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: host}, DNSNames: []string{host}, NotBefore: signer.NotBefore, NotAfter: signer.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	signed, err := x509.CreateCertificate(rand.Reader, own, signer, key.Public(), key)
	check(t, err)
	return root, tls.Certificate{Certificate: [][]byte{signed}, PrivateKey: key}
}
