package db

import (
	"encoding/json"
	"fmt"
	"time"

	"zombiezen.com/go/sqlite"
)

// Row reads the columns of one result row from left to right.
type Row struct {
	*sqlite.Stmt // reads them by number, and names them
	col          int
	err          error
}

func (r *Row) next() int { r.col++; return r.col - 1 }

// Text reads a text; NULL is "".
func (r *Row) Text() string { return r.ColumnText(r.next()) }

// Int reads a number; NULL is 0.
func (r *Row) Int() int { return r.ColumnInt(r.next()) }

// Int64 reads a number; NULL is 0.
func (r *Row) Int64() int64 { return r.ColumnInt64(r.next()) }

// Float reads a number; NULL is 0.
func (r *Row) Float() float64 { return r.ColumnFloat(r.next()) }

// Bool says whether a number is not 0.
func (r *Row) Bool() bool { return r.ColumnInt(r.next()) != 0 }

// Duration reads milliseconds.
func (r *Row) Duration() time.Duration { return time.Duration(r.Int64()) * time.Millisecond }

// Time is zero for NULL and for 0, which both mean "not at all".
func (r *Row) Time() time.Time {
	ms := r.Int64()
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// Optional is nil for NULL, and else what read reads.
func Optional[T any](r *Row, read func() T) *T {
	if r.ColumnIsNull(r.col) {
		r.col++
		return nil
	}
	v := read()
	return &v
}

// List reads a list that is stored as JSON.
func List[T any](r *Row) []T { return Decoded[[]T](r) }

// Decoded reads what is stored as JSON, the zero value for NULL; what cannot be read fails the transaction, unless the row forgives it.
func Decoded[T any](r *Row) (v T) {
	if text := r.Text(); text != "[]" && text != "" {
		if err := json.Unmarshal([]byte(text), &v); err != nil && r.err == nil {
			r.err = fmt.Errorf("stored %s: %w", r.ColumnName(r.col-1), err)
		}
	}
	return v
}

// Forgive forgets that something could not be read.
func (r *Row) Forgive() { r.err = nil }

// JSON is how a list of texts is stored.
func JSON(list []string) string {
	if len(list) == 0 {
		return "[]"
	}
	b, _ := json.Marshal(list) // a list of strings always can be
	return string(b)
}

// OrNull stores the zero value as NULL.
func OrNull[T comparable](v T) any {
	if v == *new(T) {
		return nil
	}
	return v
}

// All reads all rows of a query.
func All[T any](tx *Tx, query string, scan func(*Row) T, args ...any) ([]T, error) {
	var list []T
	for r := range tx.Rows(query, args...) {
		list = append(list, scan(r))
	}
	return list, tx.err
}

// One reads the only row of a query; without one it is the zero value.
func One[T any](tx *Tx, query string, scan func(*Row) T, args ...any) (v T, err error) {
	list, err := All(tx, query, scan, args...)
	if len(list) > 0 {
		v = list[0]
	}
	return v, err
}
