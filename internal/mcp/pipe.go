package mcp

import (
	"context"
	"fmt"
	"io"
	"net"
)

// Pipe connects a client on stdin and stdout with the run that listens on a socket, until one of them ends. It knows
// nothing of the protocol, so it need not be of the same version as the run.
func Pipe(ctx context.Context, stdin io.Reader, stdout io.Writer, socket, token string) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
	if err != nil {
		return fmt.Errorf("reach the run that started this agent: %w", err)
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	if _, err := io.WriteString(conn, token+"\n"); err != nil {
		return fmt.Errorf("reach the run that started this agent: %w", err)
	}
	go func() {
		_, _ = io.Copy(conn, stdin)
		_ = conn.(*net.UnixConn).CloseWrite() // the answers to what was asked still come
	}()
	if _, err := io.Copy(stdout, conn); err != nil && ctx.Err() == nil {
		return fmt.Errorf("read from the run: %w", err)
	}
	return nil
}
