package mcp

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// The variables that tell a process in a sandbox where its run listens, and what it has to say first.
const (
	SocketVariable = "RALPH_MCP_SOCKET"
	TokenVariable  = "RALPH_MCP_TOKEN"
)

const (
	longestSocket  = 103 // the least that a system allows, without the NUL
	maxConnections = 16
	patience       = 10 * time.Second
)

// Server answers on connections. A *Session is one.
type Server interface {
	Serve(ctx context.Context, conn io.ReadWriteCloser) error
}

// Listener is the socket of one agent. Only who knows its token is answered.
type Listener struct {
	// Foreign says that a process is none of this agent's: it is not answered whatever it knows, since agents hand the
	// token on where others can read it, on command lines for one. It may be nil, and is set before Serve.
	Foreign func(pid int) bool

	dir, token string
	silence    time.Duration // for which a connection may say nothing before its token
	socket     *net.UnixListener
	ctx        context.Context // of all connections
	stop       context.CancelFunc
	going      sync.WaitGroup
}

// Listen makes a socket in a folder of its own below the first of those folders that exists and is short enough.
func Listen(folders ...string) (*Listener, error) {
	err := errors.New("no folder for it was named")
	for _, folder := range folders {
		if !filepath.IsAbs(folder) {
			continue
		}
		var l *Listener
		if l, err = listenIn(folder); err == nil {
			return l, nil
		}
	}
	return nil, fmt.Errorf("listen for an agent's tools: %w", err)
}

func listenIn(folder string) (*Listener, error) {
	// Every name is equally long, so that whoever could listen here once can again.
	dir := filepath.Join(folder, newToken()[:8])
	l := &Listener{dir: dir, token: newToken(), silence: patience}
	if len(l.Socket()) > longestSocket {
		return nil, fmt.Errorf("%s is too long for the name of a socket", l.Socket())
	}
	err := os.Mkdir(dir, 0o700)
	if err != nil {
		return nil, err
	}
	if l.socket, err = net.ListenUnix("unix", &net.UnixAddr{Name: l.Socket(), Net: "unix"}); err == nil {
		err = os.Chmod(l.Socket(), 0o600)
	}
	if err != nil {
		if l.socket != nil {
			_ = l.socket.Close()
		}
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	l.ctx, l.stop = context.WithCancel(context.Background())
	return l, nil
}

func newToken() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails: it ends the program instead
	return hex.EncodeToString(b[:])
}

// Socket is the path of the socket, and Token what has to be said there first.
func (l *Listener) Socket() string { return filepath.Join(l.dir, "s") }

// Token is a secret.
func (l *Listener) Token() string { return l.token }

// Serve lets a server answer, in the background until Close. Who connects before that waits.
func (l *Listener) Serve(server Server) {
	places := make(chan struct{}, maxConnections)
	l.going.Go(func() {
		for {
			conn, err := l.socket.AcceptUnix()
			if err != nil {
				return
			}
			select {
			case places <- struct{}{}:
			default:
				_ = conn.Close()
				continue
			}
			l.going.Go(func() {
				defer func() { <-places }()
				l.answer(conn, server)
			})
		}
	})
}

func (l *Listener) answer(conn *net.UnixConn, server Server) {
	hangUp := func() { _ = conn.Close() }
	defer hangUp()
	defer context.AfterFunc(l.ctx, hangUp)()
	tooLate := time.AfterFunc(l.silence, hangUp)
	defer tooLate.Stop()
	said := make([]byte, len(l.token)+1)
	if pid, ok := peer(conn); !ok || l.Foreign != nil && l.Foreign(pid) {
		return
	}
	if _, err := io.ReadFull(conn, said); err != nil || subtle.ConstantTimeCompare(said, []byte(l.token+"\n")) != 1 {
		return
	}
	if tooLate.Stop() {
		_ = server.Serve(l.ctx, conn) // it warns itself
	}
}

// Close ends all connections and removes the socket.
func (l *Listener) Close() error {
	l.stop()
	err := l.socket.Close()
	l.going.Wait()
	return errors.Join(err, os.RemoveAll(l.dir))
}
