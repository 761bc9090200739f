package inbox

import (
	"cmp"
	"fmt"
	"slices"

	"ralph/dag"
	"ralph/internal/db"
)

const (
	getSQL      = `SELECT ` + columns + ` FROM requests WHERE id = :id;`
	byPrefixSQL = `SELECT ` + columns + ` FROM requests WHERE id >= :from AND id < :to ORDER BY id LIMIT 4;`
	openSQL     = `SELECT ` + columns + ` FROM requests INDEXED BY requests_open WHERE state = 'open' AND kind NOT IN ('message', 'query', 'stop') ORDER BY n;`
	allSQL      = `SELECT ` + columns + ` FROM requests ORDER BY n DESC LIMIT +:limit;`
	// Those of tasks that may still run, and that were not reset since.
	credentialsSQL = `SELECT r.id FROM requests r JOIN tasks t ON t.n = r.task
WHERE r.kind = 'credential' AND r.state = 'answered' AND NOT r.past AND t.status <> 'done';`
	answersSQL = `SELECT ` + columns + ` FROM requests
WHERE task = (SELECT n FROM tasks WHERE id = +:task) AND task_id = +:task AND state IN ('answered', 'expired') AND kind NOT IN ('message', 'query', 'permission') AND NOT past ORDER BY n;`
	pruneSQL = `DELETE FROM requests WHERE state <> 'open' AND answered_at < :others AND ` + dag.EndedSQL + ` RETURNING n;`
)

// Get returns the request with that full ID.
func Get(g *dag.Graph, id string) (Request, error) {
	r, err := db.One(g.Tx(), getSQL, scan, ":id", id)
	if err == nil && r.ID == "" {
		err = fmt.Errorf("request %s: %w", id, dag.ErrNotFound)
	}
	return r, err
}

// Resolve returns the one request whose ID begins with what was typed; the leading "q-" may be left out.
func Resolve(g *dag.Graph, typed string) (Request, error) {
	find := func(query string, args ...any) ([]Request, error) { return db.All(g.Tx(), query, scan, args...) }
	return dag.ByPrefix("request", "q-", typed, find, byPrefixSQL, func(r Request) string { return r.ID })
}

// Waiting lists what waits for a person, oldest first.
func Waiting(g *dag.Graph) ([]Request, error) { return db.All(g.Tx(), openSQL, scan) }

// Last lists the last requests of all kinds and states, newest first; a limit of 0 is none.
func Last(g *dag.Graph, limit int) ([]Request, error) {
	return db.All(g.Tx(), allSQL, scan, ":limit", cmp.Or(limit, -1))
}

// Settled is what a task asked since its last reset and that has an answer, whoever gave it.
func Settled(g *dag.Graph, task string) ([]Request, error) {
	list, err := db.All(g.Tx(), answersSQL, scan, ":task", task)
	return slices.DeleteFunc(list, func(r Request) bool { return r.Repeats() && !r.ReceivedAt.IsZero() }), err
}

// Credentials lists the answered requests whose values are still needed.
func Credentials(g *dag.Graph) ([]string, error) {
	return db.All(g.Tx(), credentialsSQL, (*db.Row).Text)
}

// Prune removes what is over for long, of tasks that ended long ago or are gone, and says how much that was.
func Prune(g *dag.Graph, c dag.Cutoffs) (int, error) {
	gone, err := db.All(g.Tx(), pruneSQL, (*db.Row).Int64, c.Args()...)
	return len(gone), err
}
