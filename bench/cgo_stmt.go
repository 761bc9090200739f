package main

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"regexp"
)

// exec runs a statement of package dag by the name of its constant. Arguments
// come in pairs, as they do there.
func (w *cgoWorker) exec(name string, pairs ...driver.Value) error {
	s, err := w.prepare(name, pairs)
	if err != nil {
		return err
	}
	_, err = s.stmt.Exec(s.args) //nolint:staticcheck // the direct call is the fastest one
	return err
}

func (w *cgoWorker) each(name string, fn func(cgoRow), pairs ...driver.Value) error {
	s, err := w.prepare(name, pairs)
	if err != nil {
		return err
	}
	rows, err := s.stmt.Query(s.args) //nolint:staticcheck // the direct call is the fastest one
	if err != nil {
		return err
	}
	if s.row.values == nil {
		s.row = newCgoRow(rows.Columns())
	}
	for {
		err := rows.Next(s.row.values)
		if errors.Is(err, io.EOF) {
			return rows.Close()
		}
		if err != nil {
			_ = rows.Close()
			return err
		}
		fn(s.row)
	}
}

// cgoStmt is a statement that was prepared once. Its parameters are bound by
// their place, which is where their names first appear.
type cgoStmt struct {
	stmt   driver.Stmt
	places map[string]int
	args   []driver.Value
	row    cgoRow
}

// cgoRow is read by the names of the columns: their places change with the tables.
type cgoRow struct {
	values []driver.Value
	places map[string]int
}

func newCgoRow(columns []string) cgoRow {
	row := cgoRow{values: make([]driver.Value, len(columns)), places: map[string]int{}}
	for i, name := range columns {
		row.places[name] = i
	}
	return row
}

// number is 0 for NULL. A column that is gone is a mistake of ours and panics.
func (r cgoRow) number(column string) int64 {
	n, _ := r.values[r.place(column)].(int64)
	return n
}

func (r cgoRow) text(column string) string { return r.values[r.place(column)].(string) }

func (r cgoRow) place(column string) int {
	i, ok := r.places[column]
	if !ok {
		panic("package dag selects no column " + column + " any more")
	}
	return i
}

var parameter = regexp.MustCompile(`:[a-z_]+`)

func (w *cgoWorker) prepare(name string, pairs []driver.Value) (*cgoStmt, error) {
	s, ok := w.stmts[name]
	if !ok {
		text, ok := w.sql[name]
		if !ok {
			return nil, fmt.Errorf("package dag has no statement %s any more", name)
		}
		stmt, err := w.conn.Prepare(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		s = &cgoStmt{stmt: stmt, places: map[string]int{}}
		for _, p := range parameter.FindAllString(text, -1) {
			if _, known := s.places[p]; !known {
				s.places[p] = len(s.places)
			}
		}
		s.args = make([]driver.Value, len(s.places))
		w.stmts[name] = s
	}
	if len(pairs) != 2*len(s.args) {
		return nil, fmt.Errorf("%s takes %d arguments now, not %d", name, len(s.args), len(pairs)/2)
	}
	for i := 0; i < len(pairs); i += 2 {
		place, ok := s.places[pairs[i].(string)]
		if !ok {
			return nil, fmt.Errorf("%s has no parameter %s any more", name, pairs[i])
		}
		s.args[place] = pairs[i+1]
	}
	return s, nil
}
