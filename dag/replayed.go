package dag

import (
	"fmt"

	"ralph/internal/db"
)

const (
	replayedSQL    = `SELECT replayed FROM attempts WHERE id = :id;`
	setReplayedSQL = `UPDATE attempts SET replayed = :replayed WHERE id = :id;`
)

// Replayed is how far the records of an attempt that another machine made are stored, as SetReplayed was given it; "" if none is.
func (g History) Replayed(attempt string) (string, error) {
	return db.One(g.tx, replayedSQL, (*db.Row).Text, ":id", attempt)
}

// SetReplayed belongs into the transaction that stores the record.
func (g History) SetReplayed(attempt, state string) error {
	return g.change(fmt.Errorf("attempt %s: %w", attempt, ErrNotFound), setReplayedSQL, ":id", attempt, ":replayed", state)
}
