package db

import (
	"context"
	"embed"
	"fmt"
	"io/fs"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitemigration"
	"zombiezen.com/go/sqlite/sqlitex"

	"ralph/internal/testing/failpoint"
)

// appID marks a file as ralph's ("RLPH"), so that no other program's database is
// ever migrated by us.
const appID = 0x524c5048

//go:embed migrations/*.sql
var migrationFiles embed.FS

// prepare looks at the file before anything is written to it, then brings it up to
// date. Two processes may do so at once.
func prepare(ctx context.Context, conn *sqlite.Conn, path string, opts Options) error {
	version, ours, err := inspect(conn)
	if err != nil {
		return err
	}
	names, err := fs.Glob(migrationFiles, "migrations/*.sql")
	if err != nil {
		return err
	}
	switch known := int64(len(names)); {
	case !ours:
		return &Error{Path: path, Kind: Foreign}
	case version > known:
		return &Error{Path: path, Kind: Newer, Detail: fmt.Sprintf("format %d, this program knows up to %d", version, known)}
	case version < known:
		return migrate(ctx, conn, names)
	}
	if err := keepLog(conn); err != nil || !opts.Walk {
		return err
	}
	return walk(path, conn)
}

func migrate(ctx context.Context, conn *sqlite.Conn, names []string) error {
	migrations := make([]string, len(names))
	for i, name := range names {
		script, err := migrationFiles.ReadFile(name)
		if err != nil {
			return err
		}
		migrations[i] = string(script)
	}
	if err := useLog(conn); err != nil {
		return err
	}
	if failpoint.On { // between two statements of a migration
		err := conn.SetAuthorizer(sqlite.AuthorizeFunc(func(a sqlite.Action) sqlite.AuthResult {
			if a.Type() == sqlite.OpCreateTable || a.Type() == sqlite.OpCreateIndex {
				failpoint.Hit("in-migration")
			}
			return sqlite.AuthResultOK
		}))
		if err != nil {
			return err
		}
		defer conn.SetAuthorizer(nil) //nolint:errcheck // only in builds for tests
	}
	return sqlitemigration.Migrate(ctx, conn, sqlitemigration.Schema{AppID: appID, Migrations: migrations})
}

// keepLog makes a file use a log that has none, such as a copy that was put in the place
// of a lost one. Where that cannot be written, it stays as it is.
func keepLog(conn *sqlite.Conn) error {
	mode, err := sqlitex.ResultText(conn.Prep("PRAGMA journal_mode;"))
	if err == nil && mode != "wal" {
		_ = useLog(conn)
	}
	return err
}

// useLog makes writers append to a log, so that they and readers do not wait for
// each other. Two processes that do this at once refuse each other at once,
// without waiting for the timeout; the one that lost begins a transaction, which does wait,
// and tries again.
func useLog(conn *sqlite.Conn) error {
	var err error
	for range 100 {
		err = execute(conn, "PRAGMA journal_mode = wal;")
		if sqlite.ErrCode(err).ToPrimary() != sqlite.ResultBusy {
			return err
		}
		if err := execute(conn, "BEGIN IMMEDIATE;", "ROLLBACK;"); err != nil {
			return err
		}
	}
	return err
}

// inspect says which version the file has and whether it is ours: one without tables
// is. It looks at one snapshot, because another process may be migrating it.
func inspect(conn *sqlite.Conn) (version int64, ours bool, err error) {
	end := sqlitex.Transaction(conn)
	defer end(&err)
	if version, err = number(conn, "PRAGMA user_version;"); err != nil {
		return 0, false, err
	}
	id, err := number(conn, "PRAGMA application_id;")
	if err != nil || id != 0 {
		return version, id == appID, err
	}
	objects, err := number(conn, "SELECT count(*) FROM sqlite_schema;")
	return version, objects == 0, err
}
