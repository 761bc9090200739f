// Package db owns the SQLite file: how it is opened, migrated and shared, and
// what a transaction is. It never knows what the tables mean; the packages that
// own them bring their own statements.
package db

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// Options tune one handle on the file. The zero value suits a short command.
type Options struct {
	// Conns is how many connections are opened; 0 means 1.
	Conns int
	// BusyTimeout is how long a write waits for another process; 0 means 10 s,
	// which covers the longest single transaction measured.
	BusyTimeout time.Duration
	// MaxPages caps the size of the file; 0 means no cap. It is how a full disk
	// is rehearsed without filling one.
	MaxPages int
	// Walk looks at every table and index before the file is used, so that damage is
	// met before work is begun that could not be stored.
	Walk bool
	// ReadOnly makes every statement fail that would change something. The file is still created and migrated.
	ReadOnly bool
	// Triggers are made by code and not by a migration: what a name's own trigger does. One is made again where its text differs.
	Triggers map[string]string
}

// DB is a handle on one file. It is safe for concurrent use.
type DB struct {
	file  os.FileInfo // as it was opened
	conns *conns
	close func() error
	path  string
}

// Open opens the file at path, creating and migrating it as needed, its folder
// too. A file that is not ours, is empty, damaged or newer than this program is
// refused with an *Error and left as it was.
func Open(ctx context.Context, path string, opts Options) (*DB, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, classify(path, err)
	}
	if err := create(path, opts); err != nil {
		return nil, classify(path, err)
	}
	conns, err := openConns(path, opts)
	if err != nil {
		return nil, classify(path, err)
	}
	d := &DB{conns: conns, close: sync.OnceValue(conns.close), path: path}
	err = d.with(ctx, func(conn *sqlite.Conn) error {
		err := prepare(ctx, conn, path, opts)
		if err == nil {
			err = makeTriggers(conn, opts.Triggers)
		}
		if err == nil && opts.ReadOnly {
			err = execute(conn, "PRAGMA query_only = on;")
		}
		return err
	})
	if err == nil {
		err = conns.join()
	}
	if err == nil {
		d.file, err = os.Stat(path)
	}
	if err != nil {
		_ = d.Close()
		return nil, classify(path, err)
	}
	return d, nil
}

// openFlags leave out the URI flag, so that any file name is just a file name,
// and the WAL flag, which would change a foreign file before we looked at it.
const openFlags = sqlite.OpenReadWrite | sqlite.OpenCreate

func configure(conn *sqlite.Conn, opts Options) error {
	conn.SetBusyTimeout(cmp.Or(opts.BusyTimeout, 10*time.Second))
	pragmas := []string{"PRAGMA foreign_keys = on;", "PRAGMA synchronous = normal;"}
	if opts.MaxPages > 0 {
		pragmas = append(pragmas, fmt.Sprintf("PRAGMA max_page_count = %d;", opts.MaxPages))
	}
	return execute(conn, pragmas...)
}

// execute runs statements that are needed once, without a result.
func execute(conn *sqlite.Conn, statements ...string) error {
	for _, s := range statements {
		if err := sqlitex.ExecuteTransient(conn, s, nil); err != nil {
			return err
		}
	}
	return nil
}

// number runs a statement that is needed once and returns the one number that it results in.
func number(conn *sqlite.Conn, query string) (n int64, err error) {
	err = sqlitex.ExecuteTransient(conn, query, &sqlitex.ExecOptions{
		ResultFunc: func(stmt *sqlite.Stmt) error { n = stmt.ColumnInt64(0); return nil },
	})
	return n, err
}

// Close closes every connection; closing again does nothing. It must not be called while
// a transaction runs.
func (d *DB) Close() error { return d.close() }

// Version is a number that changes when another handle, of this program or another,
// changes the file; what this handle writes does not change it. Asking costs next to
// nothing. A handle of more than one connection has no such number.
func (d *DB) Version(ctx context.Context) (int64, error) {
	var version int64
	err := d.with(ctx, func(conn *sqlite.Conn) (err error) { version, err = number(conn, "PRAGMA data_version;"); return err })
	return version, err
}

// Path is where the file is.
func (d *DB) Path() string { return d.path }

// View runs fn on one consistent snapshot. Nothing fn writes is kept. fn must not
// call View or Update of the same handle: it may have a single connection.
func (d *DB) View(ctx context.Context, fn func(*Tx) error) error {
	return d.with(ctx, func(conn *sqlite.Conn) error {
		if err := sqlitex.Execute(conn, "BEGIN DEFERRED;", nil); err != nil {
			return err
		}
		defer rollback(conn)
		tx := &Tx{conn: conn}
		return tx.end(fn(tx))
	})
}

// Update runs fn in one transaction that is the only writer from its first
// statement on. If fn returns an error nothing of it is kept.
func (d *DB) Update(ctx context.Context, fn func(*Tx) error) error {
	return d.with(ctx, func(conn *sqlite.Conn) (err error) {
		end, err := sqlitex.ImmediateTransaction(conn)
		if err != nil {
			return err
		}
		defer end(&err)
		tx := &Tx{conn: conn}
		return tx.end(fn(tx))
	})
}

func (d *DB) with(ctx context.Context, fn func(*sqlite.Conn) error) error {
	if err := ctx.Err(); err != nil { // Take may lend out a connection all the same
		return err
	}
	conn, err := d.conns.take(ctx)
	if err != nil {
		return classify(d.path, err)
	}
	defer d.conns.put(conn)
	return classify(d.path, fn(conn))
}

// Vacuum gives the space of what was deleted back to the disk.
func (d *DB) Vacuum(ctx context.Context) error {
	return d.with(ctx, func(conn *sqlite.Conn) error { return execute(conn, "VACUUM;") })
}

// rollback ends a transaction even when the context that interrupts the
// connection is over already.
func rollback(conn *sqlite.Conn) {
	conn.SetInterrupt(nil)
	_ = sqlitex.Execute(conn, "ROLLBACK;", nil)
}
