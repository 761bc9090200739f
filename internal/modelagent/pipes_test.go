package modelagent

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"ralph/internal/redact"
)

// pipes is a listener in memory, so that servers and clients can be in a bubble of synctest, where time is not real.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { close(p.closed); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

// piped is a wire to a server in memory, and what ends both.
func piped(t *testing.T, handler http.Handler) *wire {
	t.Helper()
	p := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // only after it does the server see that the client is gone
		r.Body = io.NopCloser(bytes.NewReader(body))
		handler.ServeHTTP(w, r)
	})}
	go func() { _ = server.Serve(p) }()
	w := newWire(getenv(nil), "http://model.test", "THE_KEY", "THE_BASE_URL")
	w.secrets = redact.New("sk-secret-1234")
	transport := w.transport.(*http.Transport)
	transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		select {
		case p.conns <- theirs:
			return ours, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	w.now = func() time.Time { return time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC) }
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		_ = server.Close()
	})
	return w
}
