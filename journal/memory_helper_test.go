package journal_test

import (
	"cmp"
	"context"
	"path/filepath"
	"testing"
	"time"

	"ralph/internal/db"
	"ralph/internal/testing/check"
	"ralph/internal/testing/emptydb"
	"ralph/journal"
)

var morning = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func openMemory(t testing.TB) *db.DB {
	t.Helper()
	path := filepath.Join(t.TempDir(), "progress.db")
	emptydb.Write(t, path)
	d, err := db.Open(t.Context(), path, db.Options{})
	check.OK(t, err)
	t.Cleanup(func() { check.OK(t, d.Close()) })
	return d
}

// remember adds entries, filled up with what every entry has.
func remember(t check.TB, d *db.DB, entries ...journal.Entry) {
	t.Helper()
	write(t, d, func(tx *db.Tx) error {
		for i, e := range entries {
			e.Outcome, e.At = cmp.Or(e.Outcome, "done"), cmp.Or(e.At, morning.Add(time.Duration(i)*time.Minute))
			_ = journal.Add(tx, e)
		}
		return tx.Err()
	})
}

func write(t check.TB, d *db.DB, fn func(*db.Tx) error) {
	t.Helper()
	check.OK(t, d.Update(context.Background(), fn))
}

func view[T any](t check.TB, d *db.DB, fn func(*db.Tx) (T, error)) (got T) {
	t.Helper()
	check.OK(t, d.View(context.Background(), func(tx *db.Tx) (err error) { got, err = fn(tx); return err }))
	return got
}

// usual is what the configuration has without a file.
var usual = journal.Options{Recent: 5, Matches: 5, Tokens: 3000}

func choose(t check.TB, d *db.DB, q journal.Query, opts journal.Options) journal.Selection {
	t.Helper()
	return view(t, d, func(tx *db.Tx) (journal.Selection, error) { return journal.Select(tx, q, opts) })
}

func titles(list []journal.Entry) []string {
	var out []string
	for _, e := range list {
		out = append(out, e.Title)
	}
	return out
}

// checkIndex fails unless the full-text index and the counts of words say what the
// rows say.
func checkIndex(t check.TB, d *db.DB) {
	t.Helper()
	counted, indexed := map[string]int{}, map[string]int{}
	write(t, d, func(tx *db.Tx) error {
		tx.Do("INSERT INTO journal_fts (journal_fts, rank) VALUES ('integrity-check', 1);")
		tx.Do("CREATE VIRTUAL TABLE vocab USING fts5vocab('journal_fts', 'row');")
		for r := range tx.Rows("SELECT word, docs FROM journal_words;") {
			counted[r.Text()] = r.Int()
		}
		for r := range tx.Rows("SELECT term, doc FROM vocab;") {
			indexed[r.Text()] = r.Int()
		}
		return tx.Exec("DROP TABLE vocab;")
	})
	check.Equal(t, "counts of words, as in the index", indexed, counted)
}
