package dag

import (
	"fmt"

	"ralph/internal/db"
)

const (
	relateSQL     = `INSERT INTO related (a, b) VALUES (min(:a, :b), max(:a, :b)) ON CONFLICT DO NOTHING;`
	unrelateSQL   = `DELETE FROM related WHERE a = min(:a, :b) AND b = max(:a, :b);`
	relatedSQL    = `SELECT {task} FROM tasks WHERE n IN (SELECT b FROM related WHERE a = :n UNION ALL SELECT a FROM related WHERE b = :n) ORDER BY n;`
	allRelatedSQL = `SELECT min(a.id, b.id) AS one, max(a.id, b.id) AS other FROM related r JOIN tasks a ON a.n = r.a JOIN tasks b ON b.n = r.b WHERE :all OR a.feature IS b.feature ORDER BY one, other;`
)

// Relate says that two tasks have to do with each other. Neither waits for the other.
func (g Plan) Relate(a, b string) error {
	x, y, err := g.pair(a, b)
	if err != nil {
		return err
	}
	if x.N == y.N {
		return fmt.Errorf("%w: %s cannot be related to itself", ErrRefused, x.ID)
	}
	g.auditTask(x.N, "related to "+y.ID)
	return g.tx.Exec(relateSQL, ":a", x.N, ":b", y.N)
}

// Unrelate takes that back; it is refused if they were not related.
func (g Plan) Unrelate(a, b string) error {
	x, y, err := g.pair(a, b)
	if err != nil {
		return err
	}
	g.auditTask(x.N, "no longer related to "+y.ID)
	return g.change(fmt.Errorf("relation: %w: %s and %s are not related", ErrNotFound, x.ID, y.ID), unrelateSQL, ":a", x.N, ":b", y.N)
}

// Related lists the tasks that have to do with one, oldest first.
func (g Tasks) Related(t Task) ([]Task, error) { return g.all(relatedSQL, ":n", t.N) }

// Relations are the pairs of related tasks, by the smaller ID, which is the same in every clone: all, or those of one feature.
func (g Tasks) Relations(all bool) (map[string][]string, error) {
	pairs := map[string][]string{}
	for r := range g.tx.Rows(allRelatedSQL, ":all", all) {
		a := r.Text()
		pairs[a] = append(pairs[a], r.Text())
	}
	return pairs, g.tx.Err()
}

// Unmet is a relation that a plan tells to a task which is not here.
type Unmet struct {
	N         int64 // of the task that is here
	ID, Other string
}

const unmetSQL = `SELECT u.task, t.id, u.other FROM unmet u JOIN tasks t ON t.n = u.task ORDER BY u.task, u.other;`

// Unmet lists the relations to tasks that are not here.
func (g Plan) Unmet() ([]Unmet, error) {
	return db.All(g.tx, unmetSQL, func(r *db.Row) Unmet { return Unmet{r.Int64(), r.Text(), r.Text()} })
}
