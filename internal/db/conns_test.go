package db_test

import (
	"os"
	"path/filepath"
	"testing"

	"ralph/internal/db"
	"ralph/internal/testing/check"
)

// A handle that does one thing after the other uses one of its connections: what that has prepared and read is at hand. A table of its
// own shows which one it is.
func TestTheConnectionThatWasUsedLastIsUsedNext(t *testing.T) {
	t.Parallel()
	d := open(t, newPath(t), db.Options{Conns: 4})
	check.OK(t, d.Update(t.Context(), func(tx *db.Tx) error { return tx.Exec("CREATE TEMP TABLE mine (n INTEGER)") }))
	for range 8 {
		check.OK(t, d.View(t.Context(), func(tx *db.Tx) error { return tx.Exec("SELECT n FROM mine") }))
	}
}

// A connection that is needed for the first time when the file has been deleted sees what the others have written.
func TestAllConnectionsStayTogetherWhenTheFileIsDeleted(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	d := open(t, path, db.Options{Conns: 4})
	check.OK(t, addFeature(t.Context(), d, "a"))
	files, err := filepath.Glob(path + "*")
	check.OK(t, err)
	for _, file := range files {
		if os.Remove(file) != nil {
			t.Skip("this system keeps open files")
		}
	}
	check.That(t, d.Gone(), "the file is there")
	check.OK(t, d.View(t.Context(), func(*db.Tx) error {
		check.Equal(t, "features by another connection", []string{"a"}, features(t, d))
		return nil
	}))
}
