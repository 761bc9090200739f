package db_test

import (
	"path/filepath"
	"testing"

	"ralph/internal/db"
	"ralph/internal/testing/check"
)

// counted opens the file with a trigger, and returns the text of the trigger and how often the schema has changed.
func counted(t *testing.T, path, does string) (trigger string, schema int64) {
	t.Helper()
	opts := db.Options{}
	if does != "" {
		opts.Triggers = map[string]string{"ours": "AFTER INSERT ON features BEGIN " + does + " END"}
	}
	d := open(t, path, opts)
	defer func() { check.OK(t, d.Close()) }()
	check.OK(t, d.View(t.Context(), func(tx *db.Tx) (err error) {
		if schema, err = db.One(tx, "PRAGMA schema_version;", (*db.Row).Int64); err != nil {
			return err
		}
		trigger, err = db.One(tx, "SELECT sql FROM sqlite_schema WHERE name = 'ours';", (*db.Row).Text)
		return err
	}))
	return trigger, schema
}

func TestATriggerIsMadeAgainWhereItsTextDiffers(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "progress.db")
	const first, second = "DELETE FROM unsaved;", "DELETE FROM unsaved WHERE false;"
	check.That(t, textOf(counted(t, path, first)) == "CREATE TRIGGER ours AFTER INSERT ON features BEGIN "+first+" END", "it is not made")
	trigger, before := counted(t, path, second)
	check.Contains(t, "made again", second, trigger)
	_, after := counted(t, path, second)
	check.Equal(t, "changes of the schema by opening it again", before, after)
	trigger, _ = counted(t, path, "")
	check.Contains(t, "left alone without it", second, trigger)
}

func textOf(text string, _ int64) string { return text }

func TestATriggerThatCannotBeMadeChangesNothing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "progress.db")
	before, _ := counted(t, path, "DELETE FROM unsaved;")
	_, err := db.Open(t.Context(), path, db.Options{Triggers: map[string]string{
		"ours": "AFTER INSERT ON features BEGIN SELECT 1; END", "second": "AFTER nonsense",
	}})
	check.That(t, err != nil, "a trigger that is no SQL is no error")
	after, _ := counted(t, path, "")
	check.Equal(t, "the trigger", before, after)
}
