package db

import (
	"context"
	"errors"
	"fmt"

	"zombiezen.com/go/sqlite"
)

// pool lends out open connections, each to one borrower at a time. It stands in
// for sqlitex.Pool, which watches the borrower's context even if that can never
// end: with a goroutine and two handshakes a transaction, a tenth of a claim.
type pool struct {
	free chan *sqlite.Conn
	size int
}

// openPool opens as many connections as are missing: first, unless it is nil, is
// open and configured.
func openPool(path string, size int, first *sqlite.Conn, configure func(*sqlite.Conn) error) (*pool, error) {
	p := &pool{free: make(chan *sqlite.Conn, size)}
	if first != nil {
		p.free <- first
		p.size++
	}
	for p.size < size {
		conn, err := sqlite.OpenConn(path, openFlags)
		if err != nil {
			return nil, errors.Join(err, p.close())
		}
		p.free <- conn
		p.size++
		if err := configure(conn); err != nil {
			return nil, errors.Join(err, p.close())
		}
	}
	return p, nil
}

// take waits for a connection. What runs on it is interrupted when ctx ends.
func (p *pool) take(ctx context.Context) (*sqlite.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case conn, open := <-p.free:
		if !open {
			return nil, errors.New("the database is closed")
		}
		conn.SetInterrupt(ctx.Done())
		return conn, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *pool) put(conn *sqlite.Conn) {
	if query := conn.CheckReset(); query != "" {
		panic(fmt.Sprintf("a statement still runs on a connection that is given back: %q", query))
	}
	conn.SetInterrupt(nil)
	p.free <- conn
}

// close waits for every connection to come back and closes it. Doing so again
// does nothing.
func (p *pool) close() error {
	var errs []error
	for range p.size {
		conn, open := <-p.free
		if !open {
			return nil
		}
		errs = append(errs, conn.Close())
	}
	close(p.free)
	return errors.Join(errs...)
}
