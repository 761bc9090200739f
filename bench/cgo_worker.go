package main

import (
	"database/sql/driver"
	"fmt"
	"time"

	sqlite3 "github.com/mattn/go-sqlite3"

	"ralph/dag"
)

// cgoWorker does what worker does with the very statements of package dag, on one
// connection of cgo SQLite: prepared once, bound by position, no database/sql.
type cgoWorker struct {
	path  string
	conn  driver.Conn
	sql   statements
	stmts map[string]*cgoStmt
	run   dag.Run
	newID func(string) string
}

// openCgo returns nil if the program was built without cgo.
func openCgo(path string, sql statements, run dag.Run) (*cgoWorker, error) {
	conn, err := (&sqlite3.SQLiteDriver{}).Open("file:" + path + "?_journal_mode=WAL&_synchronous=NORMAL&_foreign_keys=1&_mutex=no")
	if err != nil && !cgoEnabled {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	sql["begin"], sql["commit"] = "BEGIN IMMEDIATE;", "COMMIT;"
	w := &cgoWorker{path: path, conn: conn, sql: sql, stmts: map[string]*cgoStmt{}, run: run, newID: newIDs()}
	return w, nil
}

func (w *cgoWorker) close() {
	for _, s := range w.stmts {
		_ = s.stmt.Close()
	}
	_ = w.conn.Close()
}

// pair is Graph.Claim and Graph.Complete, a transaction each.
func (w *cgoWorker) pair() error {
	var c cgoClaim
	err := w.update(func() (err error) { c, err = w.claim(); return err })
	if err != nil {
		return err
	}
	return w.update(func() error { return w.complete(c) })
}

func (w *cgoWorker) update(fn func() error) error {
	if err := w.exec("begin"); err != nil {
		return err
	}
	if err := fn(); err != nil {
		return err
	}
	return w.exec("commit")
}

type cgoClaim struct {
	n, generation int64
	id, attempt   string
}

func (w *cgoWorker) claim() (cgoClaim, error) {
	now := standing().UnixMilli()
	if err := w.exec("clearWaitsSQL", ":now", now); err != nil {
		return cgoClaim{}, err
	}
	var c cgoClaim
	err := w.each("claimAllSQL", func(row cgoRow) {
		c = cgoClaim{n: row.number("n"), id: row.text("id"), generation: row.number("generation")}
	}, ":owner", w.run.Owner, ":lease", standing().Add(time.Minute).UnixMilli(), ":now", now)
	if err != nil {
		return c, err
	}
	if c.n == 0 {
		return c, errNothing
	}
	c.attempt = w.newID("a-")
	return c, w.exec("beginAttemptSQL", ":id", c.attempt, ":run", w.run.ID, ":task", c.n, ":task_id", c.id,
		":iteration", int64(1), ":generation", c.generation, ":now", now)
}

func (w *cgoWorker) complete(c cgoClaim) error {
	t, err := w.node("heldSQL", ":id", c.id, ":owner", w.run.Owner, ":generation", c.generation)
	if err != nil {
		return err
	}
	return firstError(
		func() error { return w.exec("verifiedSQL", ":verification", "skipped", ":n", t.n) },
		func() error { return w.moveToDone(t) },
		func() error { return w.exec("countSQL", ":n", t.n) },
		func() error {
			return w.exec("endAttemptSQL", ":task", t.n, ":generation", c.generation, ":outcome", "done", ":reason", nil,
				":now", standing().UnixMilli())
		},
	)
}

type cgoNode struct {
	n, parent, generation, children int64
	status                          string
}

func (w *cgoWorker) node(name string, pairs ...driver.Value) (cgoNode, error) {
	var t cgoNode
	err := w.each(name, func(row cgoRow) {
		t = cgoNode{
			n: row.number("n"), parent: row.number("parent"), status: row.text("status"),
			children: row.number("children"), generation: row.number("generation"),
		}
	}, pairs...)
	if err == nil && t.n == 0 {
		err = fmt.Errorf("%s: no row", name)
	}
	return t, err
}

// moveToDone is Graph.move for the one status that completing leads to.
func (w *cgoWorker) moveToDone(t cgoNode) error {
	now := standing().UnixMilli()
	err := w.exec("moveSQL", ":to", string(dag.Done), ":fence", int64(0), ":now", now, ":finished", now,
		":n", t.n, ":from", t.status, ":generation", t.generation)
	if err != nil {
		return err
	}
	var turned []int64
	err = w.each("dependentsSQL", func(row cgoRow) {
		if row.values[1].(int64) > 0 && row.values[2].(int64) == 0 {
			turned = append(turned, row.values[0].(int64))
		}
	}, ":by", int64(-1), ":n", t.n)
	if err != nil {
		return err
	}
	if t.children > 0 && t.status == string(dag.Failed) {
		turned = append(turned, t.n)
	}
	for _, n := range turned {
		if err := w.exec("flagSQL", ":n", n); err != nil {
			return err
		}
	}
	if t.parent == 0 {
		return nil
	}
	return w.rollUp(t.parent)
}

func (w *cgoWorker) rollUp(n int64) error {
	p, err := w.node("nodeSQL", ":n", n)
	if err != nil {
		return err
	}
	var busy bool
	err = w.each("childrenSQL", func(row cgoRow) { busy = row.values[0].(int64)+row.values[1].(int64) > 0 }, ":n", n)
	if err != nil || busy {
		return err
	}
	return w.moveToDone(p)
}
