//go:build unix

package bench

import (
	"bytes"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"zombiezen.com/go/sqlite"

	"ralph/dag"
	"ralph/internal/db"
	"ralph/internal/taskfile"
)

// BenchmarkImport measures a validated import, from the bytes of a JSONL file to the commit, against inserts of
// the same rows into the same schema through cgo SQLite, in one transaction.
func BenchmarkImport(b *testing.B) {
	n := sized(1_000, 100_000)
	file := planFile(n)
	empty, ours, theirs := filepath.Join(b.TempDir(), "empty.db"), filepath.Join(b.TempDir(), "ours.db"), filepath.Join(b.TempDir(), "cgo.db")
	check(open(b, empty, dag.Options{}).db.Close())
	imported := func() {
		copyFile(empty, ours)
		s := open(b, ours, determined())
		specs := must(taskfile.Parse(file, taskfile.JSONL))
		s.update(func(g *dag.Graph) error { _, err := g.Plan.Import(specs); return err })
		check(s.db.Close())
	}
	imported()
	first := open(b, ours, dag.Options{})
	rows := rowsOf(first)
	check(first.db.Close())
	inserted := func() {
		copyFile(empty, theirs)
		insert(b, theirs, rows)
	}
	for b.Loop() {
		costs := inTurns(5, here(imported), here(inserted))
		t := newTable(b)
		t.row(fmt.Sprintf("import of %d tasks", n), show(costs[0].cpu), show(costs[1].cpu)+" cgo inserts", times(costs[0].cpu, costs[1].cpu), below(ratio(costs[0].cpu, costs[1].cpu), 2))
		t.row("the same, by the clock", show(costs[0].wall), show(costs[1].wall)+" cgo inserts", times(costs[0].wall, costs[1].wall), "")
	}
	sameRows(b, ours, theirs)
}

// planFile writes a plan down as people do, without the keys it does not need.
func planFile(n int) []byte {
	var file bytes.Buffer
	enc := json.NewEncoder(&file)
	for _, s := range plan(n, layers) {
		line := map[string]any{"ref": s.Ref, "title": s.Title, "description": s.Description, "priority": s.Priority}
		for key, value := range map[string]string{"parent": s.Parent, "feature": s.Feature, "status": string(s.Status)} {
			if value != "" {
				line[key] = value
			}
		}
		if len(s.After) > 0 {
			line["after"] = s.After
		}
		check(enc.Encode(line))
	}
	return file.Bytes()
}

// rowsOf returns what an import left behind: for each statement that inserts it again, its arguments.
func rowsOf(s *store) (all []inserts) {
	for _, table := range []string{"features", "tasks", "dependencies"} {
		var columns []string
		for _, column := range s.read(fmt.Sprintf("SELECT '[' || name || ']' FROM pragma_table_info('%s');", table)) {
			columns = append(columns, column[0].(string))
		}
		list := strings.Join(columns, ", ")
		all = append(all, inserts{
			query: fmt.Sprintf("INSERT INTO %s (%s) VALUES (?%s);", table, list, strings.Repeat(", ?", len(columns)-1)),
			rows:  s.read(fmt.Sprintf("SELECT %s FROM %s;", list, table)),
		})
	}
	return all
}

type inserts struct {
	query string
	rows  [][]driver.Value
}

// insert does it through cgo SQLite, without database/sql.
func insert(b *testing.B, path string, all []inserts) {
	w := openCgo(b, path, map[string]string{"begin": "BEGIN IMMEDIATE;", "commit": "COMMIT;"}, dag.Run{})
	defer w.close()
	w.exec("begin")
	for _, i := range all {
		stmt := must(w.conn.Prepare(i.query))
		for _, row := range i.rows {
			must(stmt.Exec(row)) //nolint:staticcheck // the direct call is the fastest one
		}
		check(stmt.Close())
	}
	w.exec("commit")
}

// read returns all rows of a query.
func (s *store) read(query string) (list [][]driver.Value) {
	check(s.db.View(s.b.Context(), func(tx *db.Tx) error {
		for row := range tx.Rows(query) {
			values := make([]driver.Value, row.ColumnCount())
			for i := range values {
				switch row.ColumnType(i) {
				case sqlite.TypeNull:
				case sqlite.TypeInteger:
					values[i] = row.ColumnInt64(i)
				case sqlite.TypeFloat:
					values[i] = row.ColumnFloat(i)
				default:
					values[i] = row.ColumnText(i)
				}
			}
			list = append(list, values)
		}
		return nil
	}))
	return list
}
