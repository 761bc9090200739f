package db

import (
	"cmp"
	"errors"
	"fmt"
	"iter"

	"zombiezen.com/go/sqlite"
)

// Tx is one transaction. Whoever holds it may hand it to several packages, so
// that what must happen together does. It is dead when View or Update returns.
//
// Its first error is final: afterwards no statement runs, and View or Update fails
// with it, whatever its caller does. So a sequence of statements needs one look at
// Err, at its end.
type Tx struct {
	conn *sqlite.Conn
	err  error
}

// Err is what the transaction failed with, or nil.
func (tx *Tx) Err() error { return tx.err }

// Fail makes the transaction fail with err, unless that is nil or it has failed already.
func (tx *Tx) Fail(err error) { tx.err = cmp.Or(tx.err, err) }

// end prefers what fn returned only if it says more about the transaction's own error.
func (tx *Tx) end(err error) error {
	if tx.err != nil && !errors.Is(err, tx.err) {
		return tx.err
	}
	return err
}

// Exec runs one constant statement. Arguments come in pairs of a parameter's
// name (":id") and its value.
func (tx *Tx) Exec(query string, args ...any) error {
	tx.Do(query, args...)
	return tx.err
}

// Do is Exec as one step of several, after which the caller looks at Err.
func (tx *Tx) Do(query string, args ...any) {
	tx.run(query, args, func(*Row) bool { return true })
}

// Rows runs one constant statement and yields its rows, which must not be kept.
// If one cannot be read there are no more of them, and Err says why.
func (tx *Tx) Rows(query string, args ...any) iter.Seq[*Row] {
	return func(yield func(*Row) bool) { tx.run(query, args, yield) }
}

func (tx *Tx) run(query string, args []any, yield func(*Row) bool) {
	if tx.err != nil {
		return
	}
	stmt, err := tx.conn.Prepare(query)
	if err != nil {
		tx.err = err
		return
	}
	defer func() { tx.Fail(stmt.Reset()) }()
	if tx.err = bind(stmt, args); tx.err != nil {
		return
	}
	r := Row{Stmt: stmt}
	for {
		more, err := stmt.Step()
		tx.Fail(err)
		if !more || tx.err != nil {
			return
		}
		r.col = 0
		more = yield(&r)
		tx.Fail(r.err)
		if !more || tx.err != nil {
			return
		}
	}
}

// Changes is how many rows the last statement inserted, updated or deleted.
func (tx *Tx) Changes() int { return tx.conn.Changes() }

// LastInsert is the row number of the last row inserted.
func (tx *Tx) LastInsert() int64 { return tx.conn.LastInsertRowID() }

// bind refuses every type that SQLite would store as its printed text.
func bind(stmt *sqlite.Stmt, args []any) error {
	if len(args)%2 != 0 {
		return fmt.Errorf("statement arguments: %d is not a number of pairs", len(args))
	}
	for i := 0; i < len(args); i += 2 {
		name, ok := args[i].(string)
		if !ok {
			return fmt.Errorf("statement argument %d: the name is a %T", i, args[i])
		}
		switch v := args[i+1].(type) {
		case nil:
			stmt.SetNull(name)
		case int:
			stmt.SetInt64(name, int64(v))
		case int64:
			stmt.SetInt64(name, v)
		case bool:
			stmt.SetBool(name, v)
		case string:
			stmt.SetText(name, v)
		case float64:
			stmt.SetFloat(name, v)
		case *int:
			bindPointer(stmt, name, v, func(name string, v int) { stmt.SetInt64(name, int64(v)) })
		case *int64:
			bindPointer(stmt, name, v, stmt.SetInt64)
		case *float64:
			bindPointer(stmt, name, v, stmt.SetFloat)
		default:
			return fmt.Errorf("statement argument %s: cannot store a %T", name, v)
		}
	}
	return nil
}

func bindPointer[T any](stmt *sqlite.Stmt, name string, v *T, set func(string, T)) {
	if v == nil {
		stmt.SetNull(name)
	} else {
		set(name, *v)
	}
}
