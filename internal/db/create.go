package db

import (
	_ "embed" // the schema
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// schema is what all migrations up to its user_version make of a file, at once: one after the other takes ten times as long, because
// SQLite reads the whole schema again for each column that is added. A test makes it.
//
//go:embed schema.sql
var schema string

// create makes sure that there is a file of ours. It appears whole, so
// that one without a single byte was never made by us: it is what a full disk, a crash
// of the machine or a careless command made of a database. SQLite would take it for a
// new one and throw away the log beside it; so it would with a log whose file is gone.
func create(path string, opts Options) error {
	info, err := os.Stat(path)
	switch {
	case err == nil && info.Mode().IsRegular() && info.Size() == 0:
		return &Error{Path: path, Kind: Lost, Detail: "the file is empty"}
	case err == nil:
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if log, err := os.Stat(path + "-wal"); err == nil && log.Size() > 0 {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) { // nobody made it in between
			return &Error{Path: path, Kind: Lost, Detail: "the file is gone; its log, " + filepath.Base(path) + "-wal, is left"}
		}
	}
	// Readable by its user alone; SQLite gives its own files (-wal, -shm) the same mode.
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+NewSuffix+"*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) //nolint:errcheck // what is left is found by ralph doctor
	if err := errors.Join(f.Close(), writeSchema(f.Name(), opts, schema)); err != nil {
		return err
	}
	if err := os.Link(f.Name(), path); err == nil || errors.Is(err, fs.ErrExist) {
		return nil // or another process was faster
	}
	// A file system without links: what others see half written, or a kill leaves, is then a file to be migrated.
	if err := errors.Join(os.Truncate(f.Name(), 0), writeSchema(f.Name(), opts, "")); err != nil {
		return err
	}
	return copyNew(path, f.Name())
}

// NewSuffix follows the name of the file in the names of those that become it.
const NewSuffix = "-new-"

// writeSchema returns when the bytes are on the disk, because a name may come there
// before them: after a power cut it would lead to an empty file. That the name is
// there, too, SQLite sees to as soon as it makes its first journal in that folder.
func writeSchema(path string, opts Options, schema string) (err error) {
	conn, err := sqlite.OpenConn(path, openFlags)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if err := configure(conn, opts); err != nil {
		return err
	}
	if err := execute(conn, "PRAGMA synchronous = full;", "PRAGMA journal_mode = memory;"); err != nil {
		return err
	}
	return sqlitex.ExecuteScript(conn, fmt.Sprintf("PRAGMA application_id = %d;\n%s", appID, schema), nil)
}

func copyNew(path, from string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
}
