package mcp

import (
	"context"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"syscall"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"ralph/internal/bounded"
)

// transport is lines of JSON over a connection. A client that has said all still gets the answers to what it asked.
type transport struct {
	conn io.ReadWriteCloser
	end  <-chan struct{} // nobody waits any longer
}

func (t transport) Connect(ctx context.Context) (sdk.Connection, error) {
	inner, err := (&sdk.IOTransport{Reader: t.conn, Writer: t.conn, MaxLineLength: bounded.Form}).Connect(ctx)
	return &answering{Connection: inner, end: t.end, changed: make(chan struct{}, 1)}, err
}

// answering is a connection that does not end before every call is answered.
type answering struct {
	sdk.Connection
	end     <-chan struct{}
	open    atomic.Int64 // calls without an answer
	broken  atomic.Bool  // nobody reads the answers
	changed chan struct{}
}

func (a *answering) Read(ctx context.Context) (jsonrpc.Message, error) {
	msg, err := a.Connection.Read(ctx)
	if req, is := msg.(*jsonrpc.Request); is && req.IsCall() {
		a.open.Add(1)
	}
	for errors.Is(err, io.EOF) && a.open.Load() > 0 && !a.broken.Load() {
		select {
		case <-a.changed:
		case <-a.end:
			return msg, err
		}
	}
	return msg, err
}

func (a *answering) Write(ctx context.Context, msg jsonrpc.Message) error {
	err := a.Connection.Write(ctx, msg)
	if _, is := msg.(*jsonrpc.Response); is {
		a.open.Add(-1)
	}
	if err != nil {
		a.broken.Store(true)
	}
	select {
	case a.changed <- struct{}{}:
	default:
	}
	return err
}

// over says that a connection ended as connections do.
func over(err error) bool {
	return err == nil || errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET)
}
