package db

import (
	"cmp"
	"fmt"
	"strings"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// walk visits every page of every table and index, and compares how many rows they
// have. That finds what a broken disk, a bad copy or another program did to the file,
// for about a twentieth of what PRAGMA quick_check costs (docs/dev/performance.md). It does
// not look into the rows, nor at the overflow pages of long texts: `ralph doctor` does.
func walk(path string, conn *sqlite.Conn) (err error) {
	if err := execute(conn, "PRAGMA cell_size_check = on;"); err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, execute(conn, "PRAGMA cell_size_check = off;")) }()
	end := sqlitex.Transaction(conn) // one snapshot: others may be writing
	defer end(&err)
	trees, err := listTrees(conn)
	if err != nil {
		return err
	}
	rows := map[string]int64{}
	for _, t := range trees {
		n, err := t.count(conn)
		if err != nil {
			return err
		}
		if t.name == t.table {
			rows[t.table] = n
		} else if t.where == "" && n != rows[t.table] {
			return &Error{Path: path, Kind: Damaged, Detail: fmt.Sprintf("%s has %d rows and its index %s has %d", t.table, rows[t.table], t.name, n)}
		}
	}
	return nil
}

// tree is a table, or an index of one; where is what rows an index leaves out.
type tree struct{ table, name, where string }

const treesSQL = `SELECT tbl_name, name, coalesce(sql, '') FROM sqlite_schema WHERE rootpage > 0 ORDER BY type = 'index';`

func listTrees(conn *sqlite.Conn) (list []tree, err error) {
	err = sqlitex.ExecuteTransient(conn, treesSQL, &sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
		t := tree{table: stmt.ColumnText(0), name: stmt.ColumnText(1)}
		if t.name != t.table {
			_, t.where, _ = strings.Cut(stmt.ColumnText(2), " WHERE ")
		}
		list = append(list, t)
		return nil
	}})
	return list, err
}

func (t tree) count(conn *sqlite.Conn) (int64, error) {
	query := "SELECT count(*) FROM " + quote(t.table) + " NOT INDEXED"
	if t.name != t.table {
		// Of a plain count(*) SQLite chooses the index itself.
		query = "SELECT count(1) FROM " + quote(t.table) + " INDEXED BY " + quote(t.name)
	}
	if t.where != "" {
		query += " WHERE " + t.where
	}
	return number(conn, query+";")
}

// quote is for names of the schema, which is ours.
func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
