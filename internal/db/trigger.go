package db

import (
	"maps"
	"slices"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// makeTriggers replaces those whose text differs, all in one transaction. Each opening compares them, so a process that dies between
// a migration and this leaves it to the next one. A file that cannot be written keeps what it has: nothing will fire there.
func makeTriggers(conn *sqlite.Conn, triggers map[string]string) error {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(triggers)), func(name string) bool { return made(conn, name, triggers[name]) })
	if len(names) == 0 {
		return nil
	}
	err := replaceTriggers(conn, names, triggers)
	if sqlite.ErrCode(err).ToPrimary() == sqlite.ResultReadOnly {
		return nil
	}
	return err
}

func replaceTriggers(conn *sqlite.Conn, names []string, triggers map[string]string) (err error) {
	end, err := sqlitex.ImmediateTransaction(conn)
	if err != nil {
		return err
	}
	defer end(&err)
	for _, name := range names {
		if made(conn, name, triggers[name]) {
			continue // by another process, while this one waited
		}
		if err := execute(conn, "DROP TRIGGER IF EXISTS "+name+";", triggerText(name, triggers[name])+";"); err != nil {
			return err
		}
	}
	return nil
}

// made reports whether the trigger is as it has to be. What cannot be read is an error when it is made.
func made(conn *sqlite.Conn, name, does string) (same bool) {
	_ = sqlitex.ExecuteTransient(conn, "SELECT sql FROM sqlite_schema WHERE type = 'trigger' AND name = :name;", &sqlitex.ExecOptions{
		Named:      map[string]any{":name": name},
		ResultFunc: func(stmt *sqlite.Stmt) error { same = stmt.ColumnText(0) == triggerText(name, does); return nil },
	})
	return same
}

func triggerText(name, does string) string { return "CREATE TRIGGER " + name + " " + does }
