package db_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
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
	if err := tryOpen(t, path, db.Options{}); err == nil {
		t.Fatal("a failing migration was passed over")
	}
	if got := ask(t, path, "SELECT count(*) FROM sqlite_schema WHERE name <> 'journal';"); got != 0 {
		t.Errorf("%d tables and indexes of the failed migration are left", got)
	}
	if got := ask(t, path, "PRAGMA user_version;"); got != 0 {
		t.Errorf("got version %d, want 0", got)
	}
	raw(t, path, "DROP TABLE journal;")
	if err := addFeature(t.Context(), open(t, path, db.Options{}), "a"); err != nil {
		t.Errorf("once it can be migrated: %v", err)
	}
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
			if err := tx.Exec(insertFeature, ":id", id+long); err != nil {
				return err
			}
		}
		return nil
	})
	if kind(err) != db.Full || !strings.Contains(err.Error(), "the disk is full") {
		t.Errorf("got %v, want a full disk", err)
	}
	check.Equal(t, "afterwards", []string{"a"}, features(t, small))
	if err := addFeature(t.Context(), small, "e"); err != nil {
		t.Errorf("something small: %v", err)
	}
	if err := addFeature(t.Context(), d, long); err != nil {
		t.Errorf("with space again: %v", err)
	}
	if got := ask(t, path, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok';"); got != 1 {
		t.Error("the file is damaged")
	}
}

func TestADiskThatIsFullFromTheBeginning(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	err := tryOpen(t, path, db.Options{MaxPages: 5})
	if kind(err) != db.Full {
		t.Errorf("got %v, want a full disk", err)
	}
	if err := addFeature(t.Context(), open(t, path, db.Options{}), "a"); err != nil {
		t.Errorf("with space again: %v", err)
	}
}

// TestMigrationsAreOnlyAppended holds every migration that projects have applied to its
// bytes: an edited one would leave old projects with another schema than new ones.
func TestMigrationsAreOnlyAppended(t *testing.T) {
	t.Parallel()
	applied := map[string]string{
		"001_graph.sql":    "35fe6c3ea59bb5fc102fa6c5e9d500d1dd9fbb21ebcc178473df6b47a96dcb59",
		"002_given_up.sql": "1892f0484360f0b9d8c9a450b8950d87bc65c0669f7dfad50d3bef7230416125",
	}
	names, err := filepath.Glob("migrations/*.sql")
	check.OK(t, err)
	for _, path := range names {
		name := filepath.Base(path)
		text, err := os.ReadFile(path)
		check.OK(t, err)
		sum := sha256.Sum256(text)
		if got, want := hex.EncodeToString(sum[:]), applied[name]; got != want {
			t.Errorf("%s has the sum %s, want %q: add a new migration instead of editing one, and its sum here", name, got, want)
		}
		delete(applied, name)
	}
	for name := range applied {
		t.Errorf("%s is gone, and projects have applied it", name)
	}
}
