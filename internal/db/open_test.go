package db_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"ralph/internal/db"
	"ralph/internal/testing/check"
)

// TestOpenRefusesAndLeavesAsItWas puts a file where the database should be.
func TestOpenRefusesAndLeavesAsItWas(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		make func(t *testing.T, path string)
		want db.Kind
		says string
	}{
		"a text":                     {write("Dear diary,\n" + strings.Repeat("nothing happened today\n", 1000)), db.Foreign, "not a ralph database"},
		"a short text":               {write("hi\n"), db.Foreign, "not a ralph database"},
		"a page of zeros":            {write(strings.Repeat("\x00", 4096)), db.Foreign, "not a ralph database"},
		"another program's database": {script(`CREATE TABLE notes (t); INSERT INTO notes VALUES ('mine'); PRAGMA user_version = 1;`), db.Foreign, "not a ralph database"},
		"another program's database in WAL mode": {
			script(`PRAGMA journal_mode = wal; CREATE TABLE tasks (t); INSERT INTO tasks VALUES ('mine');`), db.Foreign, "not a ralph database",
		},
		"another program's empty database": {script(`PRAGMA application_id = 7; PRAGMA user_version = 1; VACUUM;`), db.Foreign, "not a ralph database"},
		"a database of a newer ralph":      {ours(`PRAGMA user_version = 4711;`), db.Newer, "newer ralph (format 4711, this program knows up to "},
		"a file of zero bytes":             {write(""), db.Lost, "the database is lost (the file is empty)"},
		"a log without its database":       {func(t *testing.T, path string) { write("frames")(t, path+"-wal") }, db.Lost, "the database is lost (the file is gone; its log, progress.db-wal, is left)"},
		"a database cut in half":           {cut(2), db.Damaged, "damaged or cut short"},
		"a database cut to a page":         {cut(-4096), db.Damaged, "damaged or cut short"},
		"a database whose schema is garbage": {
			ours(`PRAGMA writable_schema = on; UPDATE sqlite_schema SET sql = 'nonsense' WHERE name = 'tasks';`), db.Damaged, "damaged or cut short",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "progress.db")
			test.make(t, path)
			before := fingerprint(t, filepath.Dir(path))
			err := tryOpen(t, path, db.Options{})
			check.That(t, kind(err) == test.want && strings.Contains(err.Error(), test.says) && strings.HasPrefix(err.Error(), path+": "),
				"got kind %d, %v, want kind %d, %q", kind(err), err, test.want, test.says)
			check.Equal(t, "the folder", before, fingerprint(t, filepath.Dir(path)))
		})
	}
}

func write(text string) func(*testing.T, string) {
	return func(t *testing.T, path string) {
		check.OK(t, os.WriteFile(path, []byte(text), 0o600))
	}
}

func script(sql string) func(*testing.T, string) {
	return func(t *testing.T, path string) { raw(t, path, sql) }
}

// ours makes a good database and then does something to it.
func ours(sql string) func(*testing.T, string) {
	return func(t *testing.T, path string) {
		d, err := db.Open(t.Context(), path, db.Options{})
		check.OK(t, err)
		check.OK(t, d.Close())
		raw(t, path, sql)
	}
}

// cut makes a good database and keeps a part of it: a fraction, or so many bytes.
func cut(by int) func(*testing.T, string) {
	return func(t *testing.T, path string) {
		ours("SELECT 1;")(t, path)
		info, err := os.Stat(path)
		check.OK(t, err)
		size := int64(-by)
		if by > 0 {
			size = info.Size() / int64(by)
		}
		check.OK(t, os.Truncate(path, size))
	}
}

func TestOpenMakesWhatIsMissing(t *testing.T) {
	t.Parallel()
	tests := map[string]func(t *testing.T, path string){
		"nothing at all":        func(*testing.T, string) {},
		"a folder without file": func(t *testing.T, path string) { mkdir(t, filepath.Dir(path)) },
		"a file of ours without tables": func(t *testing.T, path string) {
			mkdir(t, filepath.Dir(path))
			raw(t, path, `PRAGMA application_id = 0x524c5048; VACUUM;`)
		},
	}
	for name, prepare := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "deep", ".ralph", "a?b#c%20 progress.db") // no URI, just a name
			prepare(t, path)
			d := open(t, path, db.Options{Conns: 3})
			check.OK(t, addFeature(t.Context(), d, "a"))
			check.Equal(t, "features", []string{"a"}, features(t, d))
			_, err := os.Stat(path)
			check.OK(t, err)
		})
	}
}

func mkdir(t *testing.T, dir string) {
	t.Helper()
	check.OK(t, os.MkdirAll(dir, 0o700))
}

func TestFilesAreReadableByTheirUserAlone(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such modes")
	}
	path := filepath.Join(t.TempDir(), "a", ".ralph", "progress.db")
	d := open(t, path, db.Options{})
	check.OK(t, addFeature(t.Context(), d, "a"))
	for name, want := range map[string]os.FileMode{
		filepath.Dir(filepath.Dir(path)): os.ModeDir | 0o700, filepath.Dir(path): os.ModeDir | 0o700,
		path: 0o600, path + "-wal": 0o600, path + "-shm": 0o600,
	} {
		info, err := os.Stat(name)
		check.OK(t, err)
		check.Equal(t, filepath.Base(name), want, info.Mode())
	}
}

func TestAPathThatIsAFolderIsRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "progress.db")
	mkdir(t, path)
	check.Equal(t, "trouble", db.ReadOnly, kind(tryOpen(t, path, db.Options{})))
}
