package features

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ralph/dag"
	"ralph/internal/testing/check"
)

func TestOnlyTextIsADocument(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "spec.md")
	tests := map[string]struct {
		make func() error
		want string // part of the error; empty if it is one
	}{
		"text":          {func() error { return os.WriteFile(path, []byte("# Hi\n"), 0o600) }, ""},
		"nothing there": {func() error { return nil }, "no such file"},
		"empty":         {func() error { return os.WriteFile(path, []byte(" \n"), 0o600) }, "spec.md is empty"},
		"binary":        {func() error { return os.WriteFile(path, []byte("a\x00b"), 0o600) }, "spec.md is not text"},
		"not UTF-8":     {func() error { return os.WriteFile(path, []byte("a\xffb"), 0o600) }, "spec.md is not text"},
		"200 MB":        {func() error { return errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, 200<<20)) }, "spec.md has 200 MiB; at most 8 are read"},
		"a folder":      {func() error { return os.Mkdir(path, 0o700) }, "not a regular file"},
		"a link out":    {func() error { return os.Symlink("/etc/passwd", path) }, "not a regular file"},
		"a pipe":        {func() error { return syscall.Mkfifo(path, 0o600) }, "not a regular file"},
	}
	for name, tt := range tests {
		check.OK(t, errors.Join(os.RemoveAll(path), tt.make()))
		text, err := ReadDocument(path)
		switch {
		case tt.want == "" && (err != nil || text != "# Hi\n"):
			t.Errorf("%s: got %q, %v", name, text, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: got %v, want %q", name, err, tt.want)
		case tt.want != "" && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, dag.ErrRefused):
			t.Errorf("%s: %v is not a refusal", name, err)
		}
	}
}

func TestAStepIsForOneProcess(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "hello", "spec")
	first, err := stage(dir)
	check.OK(t, err)
	if _, err := stage(dir); !errors.Is(err, dag.ErrRefused) || !strings.Contains(err.Error(), "another ralph") {
		t.Errorf("got %v, want a refusal", err)
	}
	check.OK(t, first.close())
	again, err := stage(dir)
	check.OK(t, err)
	check.OK(t, again.close())
	if Exists(dir) {
		t.Error("an empty folder stays behind")
	}
}
