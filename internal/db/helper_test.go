package db_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"ralph/internal/db"
	"ralph/internal/testing/check"
)

// TestMain is also the main of the processes that tests start.
func TestMain(m *testing.M) {
	if path := os.Getenv("RALPH_TEST_OPEN"); path != "" {
		os.Exit(child(path))
	}
	goleak.VerifyTestMain(m)
}

// child opens the file and adds a feature, without privileges if asked so, and says
// how that went.
func child(path string) int {
	if os.Getenv("RALPH_TEST_UNPRIVILEGED") != "" {
		if err := dropPrivileges(); err != nil {
			fmt.Println(err)
			return 3
		}
	}
	ctx := context.Background()
	d, err := db.Open(ctx, path, db.Options{})
	if err == nil {
		err = errors.Join(addFeature(ctx, d, fmt.Sprint("p", os.Getpid())), d.Close())
	}
	if err != nil {
		fmt.Println(kind(err), err)
		return 1
	}
	return 0
}

// kind is the kind of trouble, or 0.
func kind(err error) db.Kind {
	var trouble *db.Error
	if errors.As(err, &trouble) {
		return trouble.Kind
	}
	return 0
}

func open(t *testing.T, path string, opts db.Options) *db.DB {
	t.Helper()
	d, err := db.Open(t.Context(), path, opts)
	check.OK(t, err)
	t.Cleanup(func() { check.OK(t, d.Close()) })
	return d
}

// tryOpen opens the file only to see whether that goes.
func tryOpen(t *testing.T, path string, opts db.Options) error {
	t.Helper()
	d, err := db.Open(t.Context(), path, opts)
	if err == nil {
		_ = d.Close()
	}
	return err
}

func newPath(t *testing.T) string { return filepath.Join(t.TempDir(), ".ralph", "progress.db") }

const insertFeature = `INSERT INTO features (id, name, created_at, updated_at) VALUES (:id, :id, 0, 0);`

func addFeature(ctx context.Context, d *db.DB, id string) error {
	return d.Update(ctx, func(tx *db.Tx) error { return tx.Exec(insertFeature, ":id", id) })
}

// features lists what is stored.
func features(t *testing.T, d *db.DB) (ids []string) {
	t.Helper()
	err := d.View(t.Context(), func(tx *db.Tx) (err error) {
		ids, err = db.All(tx, "SELECT id FROM features ORDER BY n;", (*db.Row).Text)
		return err
	})
	check.OK(t, err)
	return ids
}

// raw runs a script on a file without going through package db.
func raw(t *testing.T, path, script string) {
	t.Helper()
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite|sqlite.OpenCreate)
	check.OK(t, err)
	defer conn.Close()
	for statement := range strings.SplitAfterSeq(script, ";") { // each by itself: some cannot be in a transaction
		if strings.TrimSpace(statement) == "" {
			continue
		}
		check.OK(t, sqlitex.ExecuteTransient(conn, statement, nil))
	}
}

// ask returns one number from a file without going through package db.
func ask(t *testing.T, path, query string) (n int) {
	t.Helper()
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	check.OK(t, err)
	defer conn.Close()
	err = sqlitex.ExecuteTransient(conn, query, &sqlitex.ExecOptions{
		ResultFunc: func(stmt *sqlite.Stmt) error { n = stmt.ColumnInt(0); return nil },
	})
	check.OK(t, err)
	return n
}

// fingerprint is a folder with everything in it, to show that nothing changed.
func fingerprint(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	entries, err := os.ReadDir(dir)
	check.OK(t, err)
	for _, e := range entries {
		content, err := os.ReadFile(filepath.Join(dir, e.Name()))
		check.OK(t, err)
		all[e.Name()] = fmt.Sprintf("%x", sha256.Sum256(content))
	}
	return all
}
