package dag

import "fmt"

const (
	undoSQL   = `INSERT INTO undoes (task, undone) SELECT :task, n FROM tasks WHERE id = :undone;`
	undoneSQL = `SELECT undone FROM undoes WHERE task = :task;`
)

// AddUndo adds a task that takes back the work of another. When that lands, the other one is
// open again, in the same transaction.
func (g *Graph) AddUndo(t NewTask, undone string) (string, error) {
	id, err := g.Add(t)
	if err != nil {
		return "", err
	}
	of, err := g.nodeByID(id)
	if err != nil {
		return "", err
	}
	return id, g.tx.Exec(undoSQL, ":task", of.n, ":undone", undone)
}

// reopenUndone opens the task again whose work was taken back by this one. Whoever opened it before
// may be at work on it.
func (g *Graph) reopenUndone(by node) error {
	n := g.number(undoneSQL, ":task", by.n)
	if n == 0 {
		return g.tx.Err()
	}
	t := g.node(n)
	if t.status != Done {
		return g.tx.Err()
	}
	g.reset(t)
	g.log(t.n, LogSystem, fmt.Sprintf("its work was taken back by %s", by.id))
	return g.tx.Err()
}
