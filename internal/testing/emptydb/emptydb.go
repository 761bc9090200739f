// Package emptydb makes databases without rows, for tests only. It copies one that it made before, which takes a
// twentieth of the time.
package emptydb

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"

	"ralph/internal/db"
	"ralph/internal/testing/check"
)

// Write makes the file, for db.Open to open.
func Write(t check.TB, path string) {
	t.Helper()
	data, err := content()
	check.OK(t, errors.Join(err, os.WriteFile(path, data, 0o600)))
}

var content = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "ralph-emptydb-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary folder of a test
	path := filepath.Join(dir, "progress.db")
	d, err := db.Open(context.Background(), path, db.Options{})
	if err != nil {
		return nil, err
	}
	if err := d.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})
