package db_test

import (
	"path/filepath"
	"strings"
	"testing"

	"ralph/internal/db"
	"ralph/internal/testing/check"
)

// TestAMigrationHappensWholeOrNotAtAll lets one fail near its end: the table that
// it makes last but a few is there already.
func TestAMigrationHappensWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "progress.db")
	raw(t, path, `PRAGMA application_id = 0x524c5048; CREATE TABLE journal (mine);`)
	check.That(t, tryOpen(t, path, db.Options{}) != nil, "a failing migration was passed over")
	check.Equal(t, "tables and indexes of the failed migration", 0, ask(t, path, "SELECT count(*) FROM sqlite_schema WHERE name <> 'journal';"))
	check.Equal(t, "version", 0, ask(t, path, "PRAGMA user_version;"))
	raw(t, path, "DROP TABLE journal;")
	check.OK(t, addFeature(t.Context(), open(t, path, db.Options{}), "a"))
}

func TestAFullDiskChangesNothing(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	d := open(t, path, db.Options{})
	check.OK(t, addFeature(t.Context(), d, "a"))
	small := open(t, path, db.Options{MaxPages: ask(t, path, "PRAGMA page_count;") + 2})
	long := strings.Repeat("x", 60<<10)
	err := small.Update(t.Context(), func(tx *db.Tx) error {
		for _, id := range []string{"b", "c", "d"} {
			tx.Do(insertFeature, ":id", id+long)
		}
		tx.Do(insertFeature, ":id", "small") // after SQLite has rolled back by itself, this would stay
		return nil
	})
	check.That(t, kind(err) == db.Full && strings.Contains(err.Error(), "the disk is full"), "got %v, want a full disk", err)
	check.Equal(t, "afterwards", []string{"a"}, features(t, small))
	check.OK(t, addFeature(t.Context(), small, "something small"))
	check.OK(t, addFeature(t.Context(), d, "with space again"+long))
	check.Equal(t, "sound files", 1, ask(t, path, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok';"))
}

func TestADiskThatIsFullFromTheBeginning(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	check.Equal(t, "trouble", db.Full, kind(tryOpen(t, path, db.Options{MaxPages: 5})))
	check.OK(t, addFeature(t.Context(), open(t, path, db.Options{}), "with space again"))
}

// TestMigrationsAreOnlyAppended holds every migration that projects have applied to its
// bytes: an edited one would leave old projects with another schema than new ones.
func TestMigrationsAreOnlyAppended(t *testing.T) {
	t.Parallel()
	applied := map[string]string{
		"001_graph.sql":    "35fe6c3ea59bb5fc102fa6c5e9d500d1dd9fbb21ebcc178473df6b47a96dcb59",
		"002_given_up.sql": "1892f0484360f0b9d8c9a450b8950d87bc65c0669f7dfad50d3bef7230416125",
	}
	check.Equal(t, "sums of migrations (add one, and its sum here, instead of editing)", applied, fingerprint(t, "migrations"))
}
