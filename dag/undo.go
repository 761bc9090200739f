package dag

import "ralph/internal/db"

const (
	undoSQL   = `INSERT INTO undoes (task, undone) SELECT :task, n FROM tasks WHERE id = :undone;`
	undoneSQL = `SELECT undone FROM undoes WHERE task = :task;`
	undosSQL  = `SELECT t.id, d.id FROM undoes u JOIN tasks t ON t.n = u.task JOIN tasks d ON d.n = u.undone WHERE t.status <> 'done' ORDER BY u.task, u.undone;`

	landedOfSQL = `SELECT ` + mergeColumns + ` FROM merges WHERE task = :task AND state = 'landed' ORDER BY n DESC LIMIT 1;`
	// Whoever waits for a task waits for the groups that it is in, and so do the members of a group that waits.
	landedAfterSQL = `
WITH RECURSIVE d (n, waits) AS (
    SELECT :task, 0
    UNION SELECT x.blocked, 1 FROM d JOIN dependencies x ON x.blocker = d.n
    UNION SELECT c.n, 1 FROM d JOIN tasks c ON c.parent = d.n WHERE d.waits
    UNION SELECT t.parent, 0 FROM d JOIN tasks t ON t.n = d.n WHERE t.parent IS NOT NULL
)
SELECT ` + mergeColumns + ` FROM merges
WHERE n IN (SELECT (SELECT max(m.n) FROM merges m WHERE m.task = d.n AND m.state = 'landed')
    FROM d JOIN tasks t ON t.n = d.n WHERE d.waits AND d.n <> :task AND t.status = 'done') ORDER BY n DESC;`
)

// Undo is a task that takes back the work of another.
type Undo struct{ Task, Undone string }

// Undos lists what is being taken back, or was when somebody gave up.
func (g *Graph) Undos() ([]Undo, error) {
	return db.All(g.tx, undosSQL, func(r *db.Row) Undo { return Undo{r.Text(), r.Text()} })
}

// LandedWork is the entry with which the work of a task landed that is done, or the zero one.
func (g *Graph) LandedWork(t Task) (Merge, error) {
	if t.Status != Done {
		return Merge{}, nil
	}
	return db.One(g.tx, landedOfSQL, scanMerge, ":task", t.N)
}

// LandedAfter lists the landed work of all that depends on a task, newest first.
func (g *Graph) LandedAfter(t Task) ([]Merge, error) {
	return db.All(g.tx, landedAfterSQL, scanMerge, ":task", t.N)
}

// reopenUndone opens the tasks again whose work was taken back by this one. Whoever opened one before
// may be at work on it.
func (g *Graph) reopenUndone(by node) error {
	for _, n := range g.numbers(undoneSQL, ":task", by.n) {
		if t := g.node(n); t.status == Done {
			g.reset(t)
			g.log(t.n, LogSystem, "its work was taken back by "+by.id)
		}
	}
	return g.tx.Err()
}
