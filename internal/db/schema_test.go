package db_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"ralph/internal/db"
	"ralph/internal/testing/check"
	"ralph/internal/testing/golden"
)

// TestTheSchemaIsWhatMigrationsMake: schema.sql may be older than the last migration; go test ./internal/db -update makes it anew.
func TestTheSchemaIsWhatMigrationsMake(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("migrations/*.sql")
	check.OK(t, err)
	version := len(names)
	if text, err := os.ReadFile("schema.sql"); err == nil && !golden.Updating() {
		version, err = strconv.Atoi(regexp.MustCompile(`(?m)^PRAGMA user_version = (\d+);$`).FindStringSubmatch(string(text))[1])
		check.OK(t, err)
	}
	for i, name := range names {
		names[i] = filepath.Base(name)
	}
	golden.Check(t, "schema.sql", dump(t, fileOf(t, names[:version]...)))
}

// TestANewFileIsLikeOneThatWasMigrated begins one with the first migration, which is what every ralph before schema.sql did.
func TestANewFileIsLikeOneThatWasMigrated(t *testing.T) {
	t.Parallel()
	migrated := filepath.Join(t.TempDir(), "progress.db")
	raw(t, migrated, `PRAGMA application_id = 0x524c5048;`)
	made := newPath(t)
	for _, path := range []string{migrated, made} {
		check.OK(t, tryOpen(t, path, db.Options{}))
	}
	check.Equal(t, "the new file", dump(t, migrated), dump(t, made))
	for _, pragma := range []string{"application_id", "page_size", "auto_vacuum", "encoding = 'UTF-8'", "journal_mode = 'wal'"} {
		query := "SELECT " + pragma + " FROM pragma_" + strings.Fields(pragma)[0] + ";"
		check.Equal(t, pragma, ask(t, migrated, query), ask(t, made, query))
	}
}

// dump is a script that makes a file with the same schema and the same rows. What SQLite makes by itself is not in it.
func dump(t *testing.T, path string) string {
	t.Helper()
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	check.OK(t, err)
	defer conn.Close()
	lines := func(query string) (all []string) {
		check.OK(t, sqlitex.ExecuteTransient(conn, query, &sqlitex.ExecOptions{
			ResultFunc: func(stmt *sqlite.Stmt) error { all = append(all, stmt.ColumnText(0)); return nil },
		}))
		return all
	}
	const own = `s.sql IS NOT NULL AND s.name NOT LIKE 'sqlite\_%' ESCAPE '\'
AND NOT EXISTS (SELECT 1 FROM pragma_table_list l WHERE l.name = s.tbl_name AND l.type = 'shadow')`
	script := []string{
		"-- All migrations up to this version in one, for a new file. Made by: go test ./internal/db -update",
		fmt.Sprintf("PRAGMA user_version = %d;", ask(t, path, "PRAGMA user_version;")),
	}
	script = append(script, lines(`SELECT sql || ';' FROM sqlite_schema s WHERE type = 'table' AND `+own+` ORDER BY rowid;`)...)
	for _, table := range lines(`SELECT name FROM sqlite_schema s WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL %' AND ` + own + ` ORDER BY rowid;`) {
		columns := lines(fmt.Sprintf(`SELECT 'quote([' || name || '])' FROM pragma_table_info('%s') ORDER BY cid;`, table))
		script = append(script, lines(fmt.Sprintf(`SELECT 'INSERT INTO %[1]s VALUES (' || concat_ws(', ', %[2]s) || ');' FROM %[1]s;`, table, strings.Join(columns, ", ")))...)
	}
	script = append(script, lines(`SELECT sql || ';' FROM sqlite_schema s WHERE type <> 'table' AND `+own+` ORDER BY rowid;`)...)
	return strings.Join(script, "\n") + "\n"
}
