package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"

	"zombiezen.com/go/sqlite"

	"ralph/dag"
	"ralph/internal/db"
	"ralph/internal/taskfile"
)

// BenchmarkImport measures a validated import, from the bytes of a JSONL file to the
// commit, against bare inserts of the same rows into the same schema through the
// same kind of transaction.
func BenchmarkImport(b *testing.B) {
	file := planFile(sized(10_000, 100_000))
	fresh := func() *store { return open(b, filepath.Join(b.TempDir(), "progress.db"), dag.Options{}) }
	first := fresh()
	importFile(first, file)
	var r rows
	for i, query := range readSQL {
		r[i] = first.read(query)
	}
	for b.Loop() {
		times := inTurns(sized(3, 5), func() { importFile(fresh(), file) }, func() { r.insert(fresh()) })
		b.ReportMetric(times[0].Seconds(), "s/import")
		atMost(b, "import/inserts", ratio(times[0], times[1]), 2)
	}
}

// planFile writes a plan down as people do, without the keys it does not need.
func planFile(n int) []byte {
	var file bytes.Buffer
	enc := json.NewEncoder(&file)
	for _, s := range plan(n) {
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

func importFile(s *store, file []byte) {
	specs := must(taskfile.Parse(file, taskfile.JSONL))
	s.update(func(g *dag.Graph) error { _, err := g.Import(specs); return err })
}

// rows is what an import left behind, as arguments of the inserts below.
type rows [3][][]any

var (
	readSQL = [3]string{
		`SELECT n, id, name FROM features;`,
		`SELECT n, id, status, priority, parent, feature, children, open_deps, held, doomed, title, description FROM tasks ORDER BY n;`,
		`SELECT blocker, blocked FROM dependencies ORDER BY blocked, blocker;`,
	}
	insertSQL = [3]string{
		`INSERT INTO features (n, id, name, created_at, updated_at) VALUES (:0, :1, :2, 1, 1);`,
		`INSERT INTO tasks (n, id, status, priority, parent, feature, children, open_deps, held, doomed, title, description, created_at, updated_at)
VALUES (:0, :1, :2, :3, :4, :5, :6, :7, :8, :9, :10, :11, 1, 1);`,
		`INSERT INTO dependencies (blocker, blocked) VALUES (:0, :1);`,
	}
)

// read returns all rows, each as the arguments that insert it again.
func (s *store) read(query string) (list [][]any) {
	check(s.db.View(s.b.Context(), func(tx *db.Tx) error {
		for row := range tx.Rows(query) {
			var args []any
			for i := range row.ColumnCount() {
				args = append(args, fmt.Sprintf(":%d", i))
				switch row.ColumnType(i) {
				case sqlite.TypeNull:
					args = append(args, nil)
				case sqlite.TypeInteger:
					args = append(args, row.ColumnInt64(i))
				default:
					args = append(args, row.ColumnText(i))
				}
			}
			list = append(list, args)
		}
		return nil
	}))
	return list
}

func (r rows) insert(s *store) {
	check(s.db.Update(s.b.Context(), func(tx *db.Tx) error {
		for i, query := range insertSQL {
			for _, args := range r[i] {
				tx.Do(query, args...)
			}
		}
		return nil
	}))
}
