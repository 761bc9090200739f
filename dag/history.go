package dag

import (
	"cmp"
	"errors"

	"ralph/internal/db"
)

const runsSQL = `SELECT ` + runColumns + ` FROM runs ORDER BY n DESC LIMIT +:limit;`

// Runs lists the newest runs, the newest first; 0 means all of them.
func (g History) Runs(limit int) ([]Run, error) {
	return g.runs(runsSQL, ":limit", cmp.Or(max(limit, 0), -1))
}

const runByPrefixSQL = `SELECT ` + runColumns + ` FROM runs WHERE id >= :from AND id < :to ORDER BY id LIMIT 4;`

// ResolveRun returns the one run whose ID begins with what was typed; the leading
// "r-" may be left out. More than one is an error that lists some.
func (g History) ResolveRun(typed string) (Run, error) {
	return ByPrefix("run", "r-", typed, g.runs, runByPrefixSQL, func(r Run) string { return r.ID })
}

// RunOrLast is ResolveRun, or the last run if nothing was typed.
func (g History) RunOrLast(typed string) (Run, error) {
	if typed != "" {
		return g.ResolveRun(typed)
	}
	runs, err := g.Runs(1)
	if err == nil && len(runs) == 0 {
		err = ErrNoRun
	}
	if err != nil {
		return Run{}, err
	}
	return runs[0], nil
}

func (g History) runs(query string, args ...any) ([]Run, error) {
	return db.All(g.tx, query, scanRun, args...)
}

const (
	inAllSQL     = `SELECT {task} FROM tasks ORDER BY n;`
	inFeatureSQL = `SELECT {task} FROM tasks WHERE feature = :feature ORDER BY n;`
	inTreeSQL    = trees + `SELECT {task} FROM tasks WHERE n IN (SELECT n FROM sub) ORDER BY n;`
)

// In lists the tasks of a scope, groups too, oldest first. A scope that is gone is
// empty: what happened in it may still be reported.
func (g Tasks) In(scope Scope) ([]Task, error) {
	return listScope(g.transaction, scope, inAllSQL, inFeatureSQL, inTreeSQL, g.scanTask)
}

func listScope[T any](g *transaction, scope Scope, all, feature, tree string, scan func(*db.Row) T) ([]T, error) {
	query, args, err := scoped(g, scope, all, feature, tree)
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return db.All(g.tx, statement(query), scan, args...)
}

// Edge says that one task waits for another.
type Edge struct{ Blocker, Blocked string }

const allEdgesSQL = `
SELECT a.id, b.id FROM dependencies d JOIN tasks a ON a.n = d.blocker JOIN tasks b ON b.n = d.blocked
ORDER BY d.blocked, d.blocker;`

// Edges lists every dependency, in the order in which what waits was created.
func (g Tasks) Edges() ([]Edge, error) {
	return db.All(g.tx, allEdgesSQL, func(r *db.Row) Edge { return Edge{r.Text(), r.Text()} })
}

const failuresSQL = `
SELECT t.id, l.text FROM tasks t INDEXED BY tasks_failed CROSS JOIN task_logs l ON l.task = t.n AND l.kind = 'failure'
WHERE t.status = 'failed' ORDER BY l.n;`

// Failures is why each failed task failed, by its ID; also those that no run but a
// person failed.
func (g Tasks) Failures() (map[string]string, error) { return g.pairs(failuresSQL) }
