package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"os"
	"sync"
	"syscall"
	"time"
)

const (
	maxConnections = 256 // of one sandbox, so that it cannot take all files that this process may open
	maxSaid        = 100 // hosts that are reported
	patience       = 30 * time.Second
)

// Proxy serves the HTTP requests of one sandbox, on a socket in the file system.
type Proxy struct {
	hosts   Hosts
	refused func(host string) // is told once of each host
	server  http.Server
	forward httputil.ReverseProxy
	dialer  net.Dialer
	socket  string
	served  chan struct{} // is closed when nothing is accepted any more

	ctx  context.Context // of all tunnels
	stop context.CancelFunc

	mu   sync.Mutex
	said map[string]bool
}

// Listen serves on a socket that it makes, until Close. Only whoever can open its folder can connect.
func Listen(socket string, hosts Hosts, refused func(host string)) (*Proxy, error) {
	l, err := net.Listen("unix", socket)
	if err != nil {
		return nil, fmt.Errorf("listen for the network of a sandbox: %w", err)
	}
	if err := os.Chmod(socket, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	p := &Proxy{hosts: hosts, refused: refused, socket: socket, served: make(chan struct{}), said: map[string]bool{}}
	p.ctx, p.stop = context.WithCancel(context.Background())
	p.dialer = net.Dialer{Timeout: patience, ControlContext: p.check}
	quiet := log.New(io.Discard, "", 0) // nil would print what servers do wrong to our stderr
	p.server = http.Server{Handler: p, ReadHeaderTimeout: patience, ErrorLog: quiet}
	p.forward = httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.Out.Host = r.Out.URL.Host },
		Transport:     &http.Transport{DialContext: p.dialer.DialContext, DisableCompression: true, IdleConnTimeout: patience},
		FlushInterval: -1, // models answer word by word
		ErrorHandler:  p.fail,
		ErrorLog:      quiet,
	}
	go func() {
		defer close(p.served)
		_ = p.server.Serve(&limited{Listener: l, places: make(chan struct{}, maxConnections)}) // until Close
	}()
	return p, nil
}

// Socket is the path of the socket.
func (p *Proxy) Socket() string { return p.socket }

// Close ends all connections and removes the socket.
func (p *Proxy) Close() error {
	p.stop()
	defer func() { <-p.served }()
	return p.server.Close()
}

// ServeHTTP tunnels what is encrypted and forwards what is not.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	tunnel := r.Method == http.MethodConnect
	host, port := r.URL.Hostname(), r.URL.Port()
	if !tunnel && (r.URL.Scheme != "http" || host == "") {
		http.Error(w, "ralph's proxy takes CONNECT and requests with a whole http address", http.StatusBadRequest)
		return
	}
	if port == "" && !tunnel {
		port = "80"
	}
	switch {
	case !p.hosts.named(host, port):
		p.fail(w, r, forbidden{"it is not in [sandbox.network] hosts"})
	case tunnel:
		p.tunnel(w, r, net.JoinHostPort(host, port))
	default:
		p.forward.ServeHTTP(w, r)
	}
}

// forbidden is why a host is not connected to.
type forbidden struct{ why string }

func (f forbidden) Error() string { return f.why }

// check looks at the address that a name has led to, just before it is connected to.
func (p *Proxy) check(_ context.Context, _, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	addr := to.Addr().Unmap().WithZone("")
	if isInner(addr) && !p.hosts.includes(addr, fmt.Sprint(to.Port())) {
		return forbidden{fmt.Sprintf("it leads to %s, which is not public and not in [sandbox.network] hosts", addr)}
	}
	return nil
}

// fail answers that a host cannot be reached, and reports one that must not be.
func (p *Proxy) fail(w http.ResponseWriter, r *http.Request, err error) {
	var no forbidden
	if !errors.As(err, &no) {
		http.Error(w, "ralph's proxy: "+err.Error(), http.StatusBadGateway)
		return
	}
	host := r.URL.Host
	if len(host) > 255 {
		host = host[:255]
	}
	p.mu.Lock()
	first := !p.said[host] && len(p.said) < maxSaid
	if first {
		p.said[host] = true
	}
	p.mu.Unlock()
	if first {
		p.refused(fmt.Sprintf("%q: %s", host, no.why))
	}
	http.Error(w, fmt.Sprintf("ralph's proxy refuses %q: %s", host, no.why), http.StatusForbidden)
}

// tunnel copies both ways until one side has ended.
func (p *Proxy) tunnel(w http.ResponseWriter, r *http.Request, address string) {
	there, err := p.dialer.DialContext(r.Context(), "tcp", address)
	if err != nil {
		p.fail(w, r, err)
		return
	}
	defer there.Close()
	here, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer here.Close()
	defer context.AfterFunc(p.ctx, func() {
		_ = here.Close()
		_ = there.Close()
	})()
	if _, err := io.WriteString(here, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	Join(here, buffered, there)
}

// Join copies what is read from the first to the last, and what that says to the first, until both have ended. Whoever has
// nothing more to say can still be told something.
func Join(a net.Conn, from io.Reader, b net.Conn) {
	var done sync.WaitGroup
	pass := func(to net.Conn, from io.Reader) {
		_, err := io.Copy(to, from)
		if half, ok := to.(interface{ CloseWrite() error }); ok && err == nil {
			_ = half.CloseWrite()
		} else {
			_ = a.Close()
			_ = b.Close()
		}
	}
	done.Go(func() { pass(b, from) })
	done.Go(func() { pass(a, b) })
	done.Wait()
}

// limited accepts only so many connections at once.
type limited struct {
	net.Listener
	places chan struct{}
}

func (l *limited) Accept() (net.Conn, error) {
	l.places <- struct{}{}
	conn, err := l.Listener.Accept()
	if err != nil {
		<-l.places
		return nil, err
	}
	return &placed{UnixConn: conn.(*net.UnixConn), leave: sync.OnceFunc(func() { <-l.places })}, nil
}

// placed is a connection that leaves its place when it is closed.
type placed struct {
	*net.UnixConn
	leave func()
}

func (c *placed) Close() error {
	defer c.leave()
	return c.UnixConn.Close()
}
