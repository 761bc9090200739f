package inbox

import (
	"fmt"
	"slices"

	"ralph/dag"
	"ralph/internal/db"
	"ralph/internal/provenance"
)

const (
	begunSQL  = `SELECT id FROM tasks WHERE status IN ('pending', 'in_progress') AND started_at IS NOT NULL AND children = 0 ORDER BY n;`
	unreadSQL = `SELECT ` + columns + ` FROM requests
WHERE task = (SELECT n FROM tasks WHERE id = +:task) AND state = 'open' AND kind = +:kind AND coalesce(attempt, :attempt) = :attempt ORDER BY n;`
	receiveSQL = `
UPDATE requests SET received_by = :attempt, received_at = :now, state = iif(state = 'open', 'received', state), answered_at = coalesce(answered_at, :now)
WHERE id = :id AND received_at IS NULL AND (kind = 'message' AND state = 'open' OR state IN ('answered', 'expired'));`
)

// Send tells the agent of a task something: the one that works on it, or the next one. A task that is done has none.
func Send(g *dag.Graph, task, sender, text string) (Request, error) {
	t, err := g.Tasks.Get(task)
	switch {
	case err != nil:
		return Request{}, err
	case t.Status == dag.Done || t.Status == dag.Cancelled:
		return Request{}, fmt.Errorf("%w: %s is %s: nobody would read it; ralph task reset %s lets it run again", dag.ErrRefused, t.ID, t.Status, t.ID)
	case t.Children > 0:
		return Request{}, fmt.Errorf("%w: %s is a group: nobody works on it; send it to one of its subtasks", dag.ErrRefused, t.ID)
	}
	m, err := add(g, provenance.Store{}, Request{Kind: Message, Task: t.ID, Sender: sender, Text: text})
	if err != nil {
		return Request{}, err
	}
	return m, g.History.Audit(t.ID, m.ID, m.Text)
}

// Begun lists the tasks that a message to everybody goes to: all that were begun and have not ended, except the sender's own.
func Begun(g *dag.Graph, sender string) ([]string, error) {
	ids, err := db.All(g.Tx(), begunSQL, (*db.Row).Text)
	return slices.DeleteFunc(ids, func(id string) bool { return id == sender }), err
}

// SendEach tells it the agents of those tasks.
func SendEach(g *dag.Graph, tasks []string, sender, text string) (sent []Request, err error) {
	for _, task := range tasks {
		m, err := Send(g, task, sender, text)
		if err != nil {
			return sent, err
		}
		sent = append(sent, m)
	}
	return sent, nil
}

// Notice tells the agent of a claim what its run has noticed. No other attempt is told.
func Notice(g *dag.Graph, c dag.Claim, text string) error {
	if err := g.Queue.Holds(c); err != nil {
		return err
	}
	_, err := add(g, provenance.Store{}, Request{Kind: Message, Task: c.Task.ID, Attempt: c.Attempt, Sender: "run", Text: text})
	return err
}

// IsNotice says that a message is from the run. Nobody waits for what comes of it.
func (r Request) IsNotice() bool { return r.Kind == Message && r.Attempt != "" }

// Unread lists the messages of a task that no attempt has received, oldest first, with the notices for one attempt.
func Unread(g *dag.Graph, task, attempt string) ([]Request, error) {
	return db.All(g.Tx(), unreadSQL, scan, ":task", task, ":kind", string(Message), ":attempt", attempt)
}

// Inquire asks the agent that works on a task something. If none does, that is refused: nobody would answer.
func Inquire(g *dag.Graph, task, sender, text string) (Request, error) {
	t, err := g.Tasks.Get(task)
	switch {
	case err != nil:
		return Request{}, err
	case t.Status != dag.InProgress:
		return Request{}, fmt.Errorf("%w: no agent is at work on %s", dag.ErrRefused, t.ID)
	}
	q, err := add(g, provenance.Store{}, Request{Kind: Query, Task: t.ID, Sender: sender, Text: text})
	if err != nil {
		return Request{}, err
	}
	return q, g.History.Audit(t.ID, q.ID, q.Text)
}

// Queries lists what the agent of a task is asked and has not answered, oldest first.
func Queries(g *dag.Graph, task string) ([]Request, error) {
	return db.All(g.Tx(), unreadSQL, scan, ":task", task, ":kind", string(Query), ":attempt", "")
}

// Receive records that an attempt got messages or answers. Until then the next attempt gets them, too.
func Receive(g *dag.Graph, attempt string, ids ...string) error {
	for _, id := range ids {
		g.Tx().Do(receiveSQL, ":id", id, ":attempt", attempt, ":now", g.Now().UnixMilli())
	}
	return g.Tx().Err()
}
