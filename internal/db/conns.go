package db

import (
	"context"
	"errors"
	"sync"

	"zombiezen.com/go/sqlite"
)

// conns are the connections of a handle. The one that was used last is lent first: it has the statements and the pages that are
// needed next, while the others, which have none, cost nothing until several are needed at a time.
type conns struct {
	opts  Options
	turns chan struct{} // as many as connections are lent

	mu    sync.Mutex
	idle  []*sqlite.Conn
	ready map[*sqlite.Conn]bool // they are configured
}

// openConns opens all of them at once, so that all have the same file even if another takes its place later.
func openConns(path string, opts Options) (*conns, error) {
	n := max(opts.Conns, 1)
	c := &conns{opts: opts, turns: make(chan struct{}, n), ready: map[*sqlite.Conn]bool{}}
	for range n {
		conn, err := sqlite.OpenConn(path, openFlags)
		if err != nil {
			return nil, errors.Join(err, c.close())
		}
		c.idle = append(c.idle, conn)
	}
	return c, nil
}

// join has all of them open what SQLite keeps beside the file. One that did so only when it is needed would find other files there if the
// project's were deleted meanwhile, and not what the others have written.
func (c *conns) join() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.idle {
		if !c.ready[conn] {
			if err := configure(conn, c.opts); err != nil {
				return err
			}
			c.ready[conn] = true
		}
		if _, err := number(conn, "PRAGMA schema_version;"); err != nil {
			return err
		}
	}
	return nil
}

// take lends a connection, whose statements end with ctx.
func (c *conns) take(ctx context.Context) (*sqlite.Conn, error) {
	select {
	case c.turns <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	c.mu.Lock()
	if len(c.idle) == 0 {
		c.mu.Unlock()
		<-c.turns
		return nil, errors.New("the database is closed")
	}
	last := len(c.idle) - 1
	conn := c.idle[last]
	c.idle = c.idle[:last]
	ready := c.ready[conn]
	c.mu.Unlock()
	conn.SetInterrupt(ctx.Done())
	if !ready {
		if err := configure(conn, c.opts); err != nil {
			c.put(conn)
			return nil, err
		}
		c.mu.Lock()
		c.ready[conn] = true
		c.mu.Unlock()
	}
	return conn, nil
}

func (c *conns) put(conn *sqlite.Conn) {
	conn.SetInterrupt(nil)
	c.mu.Lock()
	c.idle = append(c.idle, conn)
	c.mu.Unlock()
	<-c.turns
}

// close waits for those that are lent.
func (c *conns) close() error {
	for range cap(c.turns) {
		c.turns <- struct{}{}
		defer func() { <-c.turns }()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var errs []error
	for _, conn := range c.idle {
		errs = append(errs, conn.Close())
	}
	c.idle = nil
	return errors.Join(errs...)
}
