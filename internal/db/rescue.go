package db

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// Intact says whether the path still leads to the file that was opened. A program
// that deletes or replaces it leaves us writing into the void.
func (d *DB) Intact() bool {
	now, err := os.Stat(d.path)
	return err == nil && os.SameFile(d.file, now)
}

// Gone is the opposite of Intact. A deleted file can still be written and saved as long as there
// is a folder for what SQLite puts beside it, so that is made again.
func (d *DB) Gone() bool {
	if d.Intact() {
		return false
	}
	_ = os.MkdirAll(filepath.Dir(d.path), 0o700) // if that fails, the next write says so
	return true
}

// Guard returns a check that fails if the file was deleted or replaced, after saving what is
// still known to dir. Each failing check saves again: the last attempt to end knows most.
func (d *DB) Guard(ctx context.Context, dir string, now func() time.Time) func() error {
	var mu sync.Mutex
	saved := ""
	return func() error {
		if d.Intact() {
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		if saved == "" {
			saved = filepath.Join(dir, fmt.Sprintf("ralph-rescued-%d.db", now().Unix()))
		}
		if err := d.rescue(context.WithoutCancel(ctx), saved); err != nil {
			return fmt.Errorf("%s was deleted or replaced during the run and could not be saved: %w", d.path, err)
		}
		return fmt.Errorf("%s was deleted or replaced during the run; a copy is saved in %s: move it back", d.path, saved)
	}
}

// rescue writes all that is known to a file, in place of one that is there.
func (d *DB) rescue(ctx context.Context, path string) error {
	fresh := path + ".new"
	if err := os.Remove(fresh); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	err := d.with(ctx, func(conn *sqlite.Conn) error {
		return sqlitex.ExecuteTransient(conn, "VACUUM INTO :path;", &sqlitex.ExecOptions{Named: map[string]any{":path": fresh}})
	})
	if err != nil {
		return err
	}
	return os.Rename(fresh, path)
}

// Rescued lists the databases that runs saved in dir, the newest first.
func Rescued(dir string) []string {
	entries, _ := os.ReadDir(dir)
	var found []string
	for _, e := range entries {
		if ok, _ := filepath.Match("ralph-rescued-*.db", e.Name()); ok && e.Type().IsRegular() {
			found = append(found, filepath.Join(dir, e.Name()))
		}
	}
	slices.Reverse(found)
	return found
}

// NotRescued refuses to use path while a run's copy of the database before it is in dir. It is
// called where path does not exist or is empty.
func NotRescued(path, dir string) error {
	if saved := Rescued(dir); len(saved) > 0 {
		return &Error{Path: path, Kind: Replaced, Detail: "saved in " + filepath.Base(saved[0]), Saved: saved[0]}
	}
	return nil
}
