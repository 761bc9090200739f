package db_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"ralph/internal/db"
	"ralph/internal/testing/check"
)

// start runs child in another process.
func start(t *testing.T, path string, env ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	exe, err := os.Executable()
	check.OK(t, err)
	out := &bytes.Buffer{}
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(append(os.Environ(), "RALPH_TEST_OPEN="+path), env...)
	cmd.Stdout, cmd.Stderr = out, out
	check.OK(t, cmd.Start())
	return cmd, out
}

func TestSeveralProcessesMayOpenANewFileAtOnce(t *testing.T) {
	t.Parallel()
	const processes = 6
	for round := range 4 {
		path := filepath.Join(t.TempDir(), fmt.Sprint(round), "progress.db")
		var all []*exec.Cmd
		for range processes {
			cmd, _ := start(t, path)
			all = append(all, cmd)
		}
		for _, cmd := range all {
			err := cmd.Wait()
			check.That(t, err == nil, "%v: %s", err, cmd.Stdout)
		}
		check.Equal(t, "features", processes, len(features(t, open(t, path, db.Options{}))))
	}
}

// TestAReadOnlyFolder is tried as an ordinary user: root may write anywhere.
func TestAReadOnlyFolder(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such modes")
	}
	tests := map[string]struct {
		exists       bool
		file, folder os.FileMode
	}{
		"without a file":           {false, 0, 0o555},
		"with a file":              {true, 0o666, 0o555},
		"with a file to read only": {true, 0o444, 0o555},
		"that may be written, with a file to read only":        {true, 0o444, 0o777},
		"that may be written, with a file not even to be read": {true, 0o000, 0o777},
		"that may not even be read":                            {true, 0o666, 0o000},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), ".ralph")
			openUp(t, filepath.Dir(dir))
			mkdir(t, dir)
			path := filepath.Join(dir, "progress.db")
			if test.exists {
				ours("INSERT INTO features (id, name, created_at, updated_at) VALUES ('a', 'a', 0, 0);")(t, path)
				chmod(t, path, test.file)
			}
			before := fingerprint(t, dir)
			chmod(t, dir, test.folder)
			cmd, out := start(t, path, "RALPH_TEST_UNPRIVILEGED=1")
			err := cmd.Wait()
			chmod(t, dir, 0o700)
			check.That(t, err != nil, "got no error")
			check.Equal(t, "output", fmt.Sprintf("%d %s: the database or its folder cannot be written\n", db.ReadOnly, path), out.String())
			if test.exists {
				chmod(t, path, 0o600)
			}
			after := fingerprint(t, dir)
			if test.folder == 0o777 { // SQLite may leave an empty log in it
				delete(after, "progress.db-wal")
				delete(after, "progress.db-shm")
			}
			check.Equal(t, "the folder", before, after)
		})
	}
}

// openUp lets another user reach a folder of this test, though not write to it.
func openUp(t *testing.T, dir string) {
	t.Helper()
	for ; strings.HasPrefix(dir, os.TempDir()) && dir != filepath.Clean(os.TempDir()); dir = filepath.Dir(dir) {
		chmod(t, dir, 0o755)
	}
}

func chmod(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	check.OK(t, os.Chmod(path, mode))
}
