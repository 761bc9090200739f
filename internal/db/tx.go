package db

import (
	"fmt"

	"zombiezen.com/go/sqlite"
)

// Tx is one transaction. Whoever holds it may hand it to several packages, so
// that what must happen together does. It is dead when View or Update returns.
type Tx struct {
	conn *sqlite.Conn
}

// Exec runs one constant statement. Arguments come in pairs of a parameter's
// name (":id") and its value.
func (tx *Tx) Exec(query string, args ...any) error {
	return tx.Each(query, nil, args...)
}

// Each runs one constant statement and calls row for each of its rows, which
// must not be kept.
func (tx *Tx) Each(query string, row func(*sqlite.Stmt) error, args ...any) error {
	stmt, err := tx.conn.Prepare(query)
	if err != nil {
		return err
	}
	if err := bind(stmt, args); err != nil {
		return err
	}
	for {
		more, err := stmt.Step()
		if err != nil {
			_ = stmt.Reset()
			return err
		}
		if !more {
			return stmt.Reset()
		}
		if row == nil {
			continue
		}
		if err := row(stmt); err != nil {
			_ = stmt.Reset()
			return err
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
		case *bool:
			bindPointer(stmt, name, v, stmt.SetBool)
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
