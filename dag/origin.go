package dag

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"ralph/internal/db"
)

const (
	byOriginSQL    = `SELECT origin, id FROM tasks INDEXED BY tasks_origin WHERE origin IS NOT NULL ORDER BY n DESC;` // the oldest counts
	fromSQL        = `SELECT t.origin, t.id, i.file FROM tasks t INDEXED BY tasks_origin LEFT JOIN imported i ON i.task = t.n WHERE t.origin IS NOT NULL ORDER BY t.n;`
	importedSQL    = `SELECT line FROM imported WHERE task = (SELECT n FROM tasks WHERE id = :id);`
	setImportedSQL = `
INSERT INTO imported (task, line, file) SELECT n, :line, nullif(:file, '') FROM tasks WHERE id = :id
ON CONFLICT DO UPDATE SET line = excluded.line, file = coalesce(excluded.file, file);`
)

// Origins maps what tasks are called where they come from to their IDs.
func (g Plan) Origins() (map[string]string, error) { return g.pairs(byOriginSQL) }

// From is a task that comes from somewhere else.
type From struct {
	Origin, ID string
	File       string // that an import took it from; "" if nobody knows
}

// ComeFrom lists the tasks that come from somewhere else, the oldest first.
func (g Plan) ComeFrom() ([]From, error) {
	return db.All(g.tx, fromSQL, func(r *db.Row) From { return From{Origin: r.Text(), ID: r.Text(), File: r.Text()} })
}

// Imported is what an import said of a task last, or "".
func (g Plan) Imported(id string) (string, error) {
	return db.One(g.tx, importedSQL, (*db.Row).Text, ":id", id)
}

// SetImported remembers what an import says of a task, and from which file; "" is none that could be named.
func (g Plan) SetImported(id, line, file string) error {
	return g.tx.Exec(setImportedSQL, ":id", id, ":line", line, ":file", file)
}

// StableIDs makes IDs that no task has, each once. Of the same names it is the same, as long as that is free: what two people import or
// make from a template, each in a clone of their own, is one task when their plans are merged.
func (g Plan) StableIDs() func(names ...string) (string, error) {
	used := map[string]bool{}
	return func(names ...string) (string, error) {
		sum := sha256.Sum256([]byte(strings.Join(names, "\x00")))
		for id := "t-" + hex.EncodeToString(sum[:4]); ; id = g.newID("t-") {
			taken, err := db.All(g.tx, nodeByIDSQL, scanNode, ":id", id)
			if err != nil || len(taken) == 0 && !used[id] {
				used[id] = true
				return id, err
			}
		}
	}
}
