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
	d, err := db.Open(t.Context(), path, db.Options{})
	if err == nil {
		_ = d.Close()
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
	d, err := db.Open(t.Context(), path, db.Options{MaxPages: 5})
	if err == nil {
		_ = d.Close()
	}
	if kind(err) != db.Full {
		t.Errorf("got %v, want a full disk", err)
	}
	if err := addFeature(t.Context(), open(t, path, db.Options{}), "a"); err != nil {
		t.Errorf("with space again: %v", err)
	}
}
