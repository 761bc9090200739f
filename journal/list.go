package journal

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"ralph/internal/db"
	"ralph/internal/event"
	"ralph/internal/seq"
	"ralph/internal/words"
)

// Filter says which entries are wanted. The zero value means all.
type Filter struct {
	Run, Task, Feature string
	Outcome            event.AttemptOutcome // what was done already is done, too
	Limit              int                  // the newest that many; 0 means all
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
    AND (:feature = '' OR feature = :feature) AND (:outcome = '' OR outcome = :outcome OR outcome = 'already_' || :outcome)
ORDER BY n DESC LIMIT +:limit;`
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
	limit := cmp.Or(max(f.Limit, 0), -1)
	list, err := db.All(tx, query, scan, ":run", f.Run, ":task", f.Task, ":feature", f.Feature, ":outcome", string(f.Outcome), ":limit", limit)
	slices.Reverse(list)
	return list, err
}

const getSQL = `SELECT ` + columns + ` FROM journal j WHERE n = :n;`

// Get returns the entry with a number, or ErrNotFound.
func Get(tx *db.Tx, n int64) (Entry, error) {
	e, err := db.One(tx, getSQL, scan, ":n", n)
	if err == nil && e.N == 0 {
		err = fmt.Errorf("%w: %d", ErrNotFound, n)
	}
	return e, err
}

// scan reads a row of columns.
func scan(r *db.Row) Entry {
	return Entry{
		N: r.Int64(), At: r.Time(), Run: r.Text(), Attempt: r.Text(), Iteration: r.Int(), Task: r.Text(), Feature: r.Text(), Title: r.Text(),
		Outcome: event.AttemptOutcome(r.Text()), Reason: r.Text(), Notes: r.Text(), Agent: r.Text(), Model: r.Text(), ModelEffective: r.Text(),
		StopReason: r.Text(), Duration: r.Duration(), Usage: event.Usage{
			TokensIn: r.Int64(), TokensCached: r.Int64(), TokensOut: r.Int64(), CostUSD: db.Optional(r, r.Float), Estimated: r.Bool(), Unknown: r.Bool(),
		}, Files: db.List[string](r),
	}
}

const searchSQL = `
SELECT ` + columns + ` FROM journal_fts f JOIN journal j ON j.n = f.rowid
WHERE journal_fts MATCH :query AND rank MATCH 'bm25(1.0, 2.0, 1.0)' ORDER BY rank LIMIT +:limit;`

// maxSearched is how many words of a question count.
const maxSearched = 32

// Search returns the entries whose notes, title or reason hold every word of
// text, best first by bm25; if there is none, those that hold any. Text is words,
// never syntax. A limit of 0 means 20.
func Search(tx *db.Tx, text string, limit int) ([]Entry, error) {
	limit = cmp.Or(max(limit, 0), 20)
	var list []string
	for word := range words.All(text) {
		if list = append(list, word); len(list) == maxSearched {
			break
		}
	}
	if len(list) == 0 {
		return nil, nil
	}
	found, err := db.All(tx, searchSQL, scan, ":query", query(list, "AND"), ":limit", limit)
	if err != nil || len(found) > 0 || len(list) == 1 {
		return found, err
	}
	return db.All(tx, searchSQL, scan, ":query", query(list, "OR"), ":limit", limit)
}

// query makes an FTS5 expression of words.
func query(list []string, operator string) string {
	return strings.Join(seq.Map(list, func(word string) string { return `"` + word + `"` }), " "+operator+" ")
}
