package dag

import "ralph/internal/db"

const (
	byOriginSQL    = `SELECT origin, id FROM tasks INDEXED BY tasks_origin WHERE origin IS NOT NULL ORDER BY n DESC;` // the oldest counts
	importedSQL    = `SELECT line FROM imported WHERE task = (SELECT n FROM tasks WHERE id = :id);`
	setImportedSQL = `INSERT INTO imported (task, line) SELECT n, :line FROM tasks WHERE id = :id ON CONFLICT DO UPDATE SET line = excluded.line;`
)

// Origins maps what tasks are called where they come from to their IDs.
func (g *Graph) Origins() (map[string]string, error) { return g.pairs(byOriginSQL) }

// Imported is what an import said of a task last, or "".
func (g *Graph) Imported(id string) (string, error) {
	return db.One(g.tx, importedSQL, (*db.Row).Text, ":id", id)
}

// SetImported remembers what an import says of a task.
func (g *Graph) SetImported(id, line string) error {
	return g.tx.Exec(setImportedSQL, ":id", id, ":line", line)
}

// FreeID is an ID that no task has.
func (g *Graph) FreeID() (string, error) {
	for {
		id := g.newID("t-")
		if taken, err := db.All(g.tx, nodeByIDSQL, scanNode, ":id", id); err != nil || len(taken) == 0 {
			return id, err
		}
	}
}
