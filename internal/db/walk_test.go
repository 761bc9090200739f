package db_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ralph/internal/db"
	"ralph/internal/testing/check"
	"ralph/internal/testing/raced"
)

// full makes a good database whose tables have more than a page.
func full(t *testing.T, path string) {
	t.Helper()
	ours("SELECT 1;")(t, path)
	raw(t, path, `
WITH RECURSIVE i (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i WHERE n < 400)
INSERT INTO tasks (id, title, created_at, updated_at) SELECT printf('t-%08d', n), 'a task with a title of some length', 0, 0 FROM i;
INSERT INTO dependencies (blocker, blocked) SELECT n, n + 1 FROM tasks WHERE n < 400;`)
}

func TestWalkMeetsEveryDamagedPage(t *testing.T) {
	raced.Long(t, "one page after the other is damaged here")
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "good.db")
	full(t, path)
	good, err := os.ReadFile(path)
	check.OK(t, err)
	check.OK(t, open(t, path, db.Options{Walk: true}).Close())
	const page = 4096
	for name, with := range map[string]byte{"zeros": 0, "garbage": 0xA5} {
		for at := page; at < len(good); at += page {
			bad := bytes.Clone(good)
			copy(bad[at:at+page], bytes.Repeat([]byte{with}, page))
			path := filepath.Join(dir, fmt.Sprintf("%s-%d.db", name, at/page+1))
			write(string(bad))(t, path)
			check.Equal(t, fmt.Sprintf("page %d of %d is %s", at/page+1, len(good)/page, name), db.Damaged, kind(tryOpen(t, path, db.Options{Walk: true})))
		}
	}
}

func TestWalkMeetsAnIndexThatLacksRows(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "progress.db")
	full(t, path)
	raw(t, path, `CREATE TABLE kept AS SELECT * FROM sqlite_schema WHERE name = 'journal_run';
PRAGMA writable_schema = on; DELETE FROM sqlite_schema WHERE name = 'journal_run';`)
	raw(t, path, `INSERT INTO journal (at, run, iteration, task, title, outcome) VALUES (0, 'r-unseen', 1, 't-1', 'unseen', 'done');`)
	raw(t, path, `PRAGMA writable_schema = on; INSERT INTO sqlite_schema SELECT * FROM kept; DROP TABLE kept;`)
	err := tryOpen(t, path, db.Options{Walk: true})
	check.That(t, kind(err) == db.Damaged && strings.Contains(err.Error(), "journal has 1 rows and its index journal_run has 0"),
		"got %v, want the index to be named", err)
}

// BenchmarkWalk is what a run pays before it begins, to be compared with what
// SQLite's own check would cost. RALPH_BENCH_DB names the file.
func BenchmarkWalk(b *testing.B) {
	path := os.Getenv("RALPH_BENCH_DB")
	if path == "" {
		b.Skip("RALPH_BENCH_DB is not set")
	}
	for name, opts := range map[string]db.Options{"open": {}, "walk": {Walk: true}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				d, err := db.Open(b.Context(), path, opts)
				check.OK(b, err)
				check.OK(b, d.Close())
			}
		})
	}
}
