package inbox

import (
	"slices"

	"ralph/dag"
	"ralph/internal/db"
	"ralph/internal/provenance"
)

const stoppedSQL = `SELECT ` + columns + ` FROM requests
WHERE task = (SELECT n FROM tasks WHERE id = +:task) AND state = 'open' AND kind = 'stop' AND attempt = :attempt LIMIT 1;`

// Interrupt asks the runs that are at work on a task, or on what lies below it, to end their attempts at once. It returns
// these attempts. Whether the tasks may start again is not its matter.
func Interrupt(g *dag.Graph, task string) (stopped []dag.Attempt, err error) {
	tasks, err := g.Tasks.In(dag.Scope{Task: task})
	if err != nil {
		return nil, err
	}
	open, err := g.History.OpenAttempts()
	for _, at := range open {
		working := func(t dag.Task) bool { return t.ID == at.Task && t.Status == dag.InProgress }
		if err != nil || !slices.ContainsFunc(tasks, working) {
			continue
		}
		stopped = append(stopped, at)
		_, err = add(g, provenance.Store{}, Request{Kind: Stop, Task: at.Task, Attempt: at.ID, Run: at.Run, Sender: g.Actor().Who, Text: "stop " + at.ID})
	}
	return stopped, err
}

// Interrupted is the request to end that attempt of a task, without an ID if there is none.
func Interrupted(g *dag.Graph, c dag.Claim) (Request, error) {
	return db.One(g.Tx(), stoppedSQL, scan, ":task", c.Task.ID, ":attempt", c.Attempt)
}
