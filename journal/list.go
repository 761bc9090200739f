package journal

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"zombiezen.com/go/sqlite"

	"ralph/event"
	"ralph/internal/db"
)

// Filter says which entries are wanted. The zero value means all.
type Filter struct {
	Run, Task, Feature string
	Outcome            event.AttemptOutcome
	Limit              int // the newest that many; 0 means all
}

// columns are what scan reads, in its order.
const columns = `j.n, j.at, j.run, j.attempt, j.iteration, j.task, j.feature, j.title, j.outcome, j.reason, j.notes, j.agent, j.model,
    j.model_effective, j.stop_reason, j.duration_ms, j.tokens_in, j.tokens_cached, j.tokens_out, j.cost_usd, j.cost_estimated, j.cost_unknown, j.files`

// One statement for each index that can serve it: with "run is anything or this"
// SQLite would read the whole table.
const (
	listSQL     = `SELECT ` + columns + ` FROM journal j WHERE TRUE` + listRest
	listRunSQL  = `SELECT ` + columns + ` FROM journal j WHERE run = :run` + listRest
	listTaskSQL = `SELECT ` + columns + ` FROM journal j WHERE task = :task` + listRest
	listRest    = ` AND (:run = '' OR run = :run) AND (:task = '' OR task = :task)
    AND (:feature = '' OR feature = :feature) AND (:outcome = '' OR outcome = :outcome)
ORDER BY n DESC LIMIT :limit;`
)

// List returns the entries that the filter lets pass, oldest first.
func List(tx *db.Tx, f Filter) ([]Entry, error) {
	query := listSQL
	switch {
	case f.Task != "":
		query = listTaskSQL
	case f.Run != "":
		query = listRunSQL
	}
	limit := f.Limit
	if limit <= 0 {
		limit = -1
	}
	list, err := collect(tx, query, ":run", f.Run, ":task", f.Task, ":feature", f.Feature, ":outcome", string(f.Outcome), ":limit", limit)
	slices.Reverse(list)
	return list, err
}

const getSQL = `SELECT ` + columns + ` FROM journal j WHERE n = :n;`

// Get returns the entry with a number, or ErrNotFound.
func Get(tx *db.Tx, n int64) (Entry, error) {
	list, err := collect(tx, getSQL, ":n", n)
	if err != nil {
		return Entry{}, err
	}
	if len(list) == 0 {
		return Entry{}, fmt.Errorf("%w: %d", ErrNotFound, n)
	}
	return list[0], nil
}

func collect(tx *db.Tx, query string, args ...any) ([]Entry, error) {
	var list []Entry
	err := tx.Each(query, func(stmt *sqlite.Stmt) error {
		e, err := scan(stmt)
		list = append(list, e)
		return err
	}, args...)
	return list, err
}

// scan reads a row of columns.
func scan(stmt *sqlite.Stmt) (Entry, error) {
	e := Entry{
		N: stmt.ColumnInt64(0), At: time.UnixMilli(stmt.ColumnInt64(1)).UTC(), Run: stmt.ColumnText(2), Attempt: stmt.ColumnText(3),
		Iteration: stmt.ColumnInt(4), Task: stmt.ColumnText(5), Feature: stmt.ColumnText(6), Title: stmt.ColumnText(7),
		Outcome: event.AttemptOutcome(stmt.ColumnText(8)), Reason: stmt.ColumnText(9), Notes: stmt.ColumnText(10), Agent: stmt.ColumnText(11),
		Model: stmt.ColumnText(12), ModelEffective: stmt.ColumnText(13), StopReason: stmt.ColumnText(14),
		Duration: time.Duration(stmt.ColumnInt64(15)) * time.Millisecond,
		Usage: event.Usage{
			TokensIn: stmt.ColumnInt64(16), TokensCached: stmt.ColumnInt64(17), TokensOut: stmt.ColumnInt64(18),
			Estimated: stmt.ColumnBool(20), Unknown: stmt.ColumnBool(21),
		},
	}
	if !stmt.ColumnIsNull(19) {
		cost := stmt.ColumnFloat(19)
		e.CostUSD = &cost
	}
	if files := stmt.ColumnText(22); files != "[]" {
		if err := json.Unmarshal([]byte(files), &e.Files); err != nil {
			return e, fmt.Errorf("files of journal entry %d: %w", e.N, err)
		}
	}
	return e, nil
}

const searchSQL = `
SELECT ` + columns + ` FROM journal_fts f JOIN journal j ON j.n = f.rowid
WHERE journal_fts MATCH :query AND rank MATCH 'bm25(1.0, 2.0, 1.0)' ORDER BY rank LIMIT :limit;`

// maxSearched is how many words of a question count.
const maxSearched = 32

// Search returns the entries whose notes, title or reason hold every word of
// text, best first by bm25; if there is none, those that hold any. Text is words,
// never syntax. A limit of 0 means 20.
func Search(tx *db.Tx, text string, limit int) ([]Entry, error) {
	if limit <= 0 {
		limit = 20
	}
	var list []string
	for word := range words(text) {
		if list = append(list, word); len(list) == maxSearched {
			break
		}
	}
	if len(list) == 0 {
		return nil, nil
	}
	found, err := collect(tx, searchSQL, ":query", query(list, "AND"), ":limit", limit)
	if err != nil || len(found) > 0 || len(list) == 1 {
		return found, err
	}
	return collect(tx, searchSQL, ":query", query(list, "OR"), ":limit", limit)
}
