package dag

import (
	"fmt"

	"ralph/internal/db"
	"ralph/internal/event"
)

const (
	undoing    = `SELECT t.id FROM undoes u JOIN tasks t ON t.n = u.task WHERE t.status <> 'done' AND u.undone = `
	undoingSQL = undoing + `:undone;`
	undoneSQL  = `SELECT t.id FROM undoes u JOIN tasks t ON t.n = u.undone WHERE u.task = +:task ORDER BY u.undone;`
	// at and below a task, those that take work back and may be on their target
	landingUndoSQL = subtree + `
SELECT m.task_id FROM sub JOIN merges m ON m.task = sub.n WHERE m.state = 'landing' AND EXISTS (SELECT 1 FROM undoes u WHERE u.task = sub.n) LIMIT 1;`
	undoSQL = `
INSERT INTO undoes (task, undone) SELECT :task, n FROM tasks WHERE id = :undone AND status = 'done' AND NOT EXISTS (` + undoing + `tasks.n);`

	landedOfSQL = `SELECT ` + mergeColumns + ` FROM merges WHERE task = :task AND state = 'landed' ORDER BY n DESC LIMIT 1;`
	// What landed before the task was reset is not what it is done by.
	landingsSQL = `
SELECT ` + mergeColumns + ` FROM merges WHERE n IN (
    SELECT max(m.n) FROM merges m JOIN tasks t ON t.n = m.task
    WHERE m.state = 'landed' AND m.candidate <> m.onto AND t.status = 'done' AND m.at >= t.started_at GROUP BY m.task) ORDER BY n;`
	firstOntoSQL = `SELECT onto FROM merges WHERE state = 'landed' ORDER BY n LIMIT 1;`
	// Whoever waits for a task waits for the groups that it is in, and so do the members of a group that waits.
	after = `
WITH RECURSIVE d (n, waits) AS (
    SELECT :task, 0
    UNION SELECT x.blocked, 1 FROM d JOIN dependencies x ON x.blocker = d.n
    UNION SELECT c.n, 1 FROM d JOIN tasks c ON c.parent = d.n WHERE d.waits
    UNION SELECT t.parent, 0 FROM d JOIN tasks t ON t.n = d.n WHERE t.parent IS NOT NULL
) `
	doneAfterSQL = after + `
SELECT {task} FROM tasks WHERE n IN (SELECT d.n FROM d WHERE d.waits) AND n <> :task AND children = 0 AND status = 'done' ORDER BY n;`
	atWorkAfterSQL = after + `
SELECT t.id FROM d JOIN tasks t ON t.n = d.n WHERE d.waits AND t.children = 0 AND t.status = 'in_progress' ORDER BY t.n;`
)

// Undo stores a commit that takes back the work of tasks: as work of a task of its own which is finished, and which a
// person wants to land. So whoever lands finished work next does so, and no agent is needed.
func (g Plan) Undo(t NewTask, m NewMerge, undone ...string) (Claim, error) {
	t.Kind, t.MayChange = Check, []string{EveryCheck}
	id, err := g.Add(t)
	if err != nil {
		return Claim{}, err
	}
	scope := Scope{Task: id}
	run, err := g.history().StartRun(scope, Process{})
	if err != nil {
		return Claim{}, err
	}
	c, _, err := g.queue().Claim(ClaimOptions{Run: run, Scope: scope, Slots: true})
	if err != nil {
		return c, err
	}
	if _, err := g.queue().Enter(c, m); err != nil {
		return c, err
	}
	g.tx.Do(acceptedSQL, ":task", c.Task.N, ":attempt", c.Attempt)
	for _, other := range undone {
		t, err := g.nodeByID(other)
		if err != nil {
			return c, err
		}
		if atWork, _ := db.All(g.tx, atWorkAfterSQL, (*db.Row).Text, ":task", t.n); len(atWork) > 0 {
			return c, fmt.Errorf("%w: %s depends on %s and is in progress; wait until it has ended, or reset it", ErrRefused, atWork[0], other)
		}
		err = g.change(fmt.Errorf("%w: somebody else has undone %s, or is about to", ErrRefused, other), undoSQL, ":task", c.Task.N, ":undone", other)
		if err != nil {
			return c, err
		}
	}
	if err := g.queue().Release(c, Release{Reason: "it is to land", Uncounted: true, Finished: true}); err != nil {
		return c, err
	}
	return c, g.history().EndRun(run.ID, event.OutcomeComplete, "", 0)
}

// Undoing is the task that is to take back the work of another, "" if there is none.
func (g Tasks) Undoing(t Task) (string, error) {
	return db.One(g.tx, undoingSQL, (*db.Row).Text, ":undone", t.N)
}

// Undone lists the tasks whose work a task takes back.
func (g Tasks) Undone(t Task) ([]string, error) {
	return db.All(g.tx, undoneSQL, (*db.Row).Text, ":task", t.N)
}

// dropUndo deletes a task that was to take work back and cannot any more: there is nothing in it for an agent to do.
func (g Queue) dropUndo(n int64) bool {
	undo := g.takesBack(n)
	if undo {
		g.plan().deleteTree(g.node(n))
	}
	return undo
}

// takeable is a task that a person may take away from its run. A revert that is landing may not be: whoever settles
// that has to know which tasks are open again.
func (g *transaction) takeable(id string) (node, error) {
	t, err := g.nodeByID(id)
	if err != nil {
		return t, err
	}
	revert, err := db.One(g.tx, landingUndoSQL, (*db.Row).Text, ":n", t.n)
	if err == nil && revert != "" {
		err = fmt.Errorf("%w: %s is landing; wait until it has, or, if its run died, see whether it had: ralph recover", ErrRefused, revert)
	}
	return t, err
}

func (g Queue) takesBack(n int64) bool {
	undone, _ := g.tasks().Undone(Task{N: n})
	return len(undone) > 0
}

// LandedWork is the entry with which the work of a task landed that is done, or the zero one.
func (g Queue) LandedWork(t Task) (Merge, error) {
	if t.Status != Done {
		return Merge{}, nil
	}
	return db.One(g.tx, landedOfSQL, scanMerge, ":task", t.N)
}

// Landings lists by which entries tasks are done, oldest first, as far as they changed anything, and the commit below all that ever landed.
func (g Queue) Landings() (list []Merge, since string, err error) {
	list, _ = db.All(g.tx, landingsSQL, scanMerge) // the first error of the database is that of all that follow
	since, err = db.One(g.tx, firstOntoSQL, (*db.Row).Text)
	return list, since, err
}

// DoneAfter lists the tasks that are done and depend on a task, also through others. Groups are left out: their tasks are listed.
func (g Tasks) DoneAfter(t Task) ([]Task, error) { return g.all(doneAfterSQL, ":task", t.N) }

// reopenUndone opens the tasks again whose work was taken back by this one. Whoever opened one before
// may be at work on it.
func (g Queue) reopenUndone(by Task) error {
	undone, _ := g.tasks().Undone(by)
	for _, id := range undone {
		if t, err := g.nodeByID(id); err == nil && t.status == Done {
			g.tasks().reset(t)
			g.log(t.n, LogSystem, "its work was taken back by "+by.ID)
			if says, _ := db.One(g.tx, undoneSaysSQL, (*db.Row).Text, ":task", by.N, ":undone", t.n); says != "" {
				g.log(t.n, LogUser, says)
			}
		}
	}
	return g.tx.Err()
}
