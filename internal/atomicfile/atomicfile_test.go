package atomicfile

import (
	"os"
	"path/filepath"
	"testing"

	"ralph/internal/testing/check"
)

func TestWriteReplacesAFileWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "deep", "spec.md")
	check.OK(t, Write(path, []byte("old")))
	// A folder in its place cannot be replaced: nothing may be left of the attempt.
	if err := Write(filepath.Join(dir, "deep"), []byte("new")); err == nil {
		t.Error("a folder was replaced")
	}
	left, err := filepath.Glob(filepath.Join(dir, ".tmp-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "old" {
		t.Errorf("got %q, %v", data, err)
	}
}

func TestInKeepsTheModeAndReplacesOnlyFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	check.OK(t, err)
	defer root.Close()
	check.OK(t, os.WriteFile(filepath.Join(dir, "run.sh"), []byte("old"), 0o600))
	check.OK(t, os.Chmod(filepath.Join(dir, "run.sh"), 0o750))
	check.OK(t, os.Symlink("run.sh", filepath.Join(dir, "link")))
	check.OK(t, In(root, "run.sh", []byte("new")))
	info, err := os.Stat(filepath.Join(dir, "run.sh"))
	check.OK(t, err)
	check.Equal(t, "the mode", os.FileMode(0o750), info.Mode())
	check.Err(t, "a link", "not a regular file", In(root, "link", nil))
	check.Err(t, "outside", "escapes", In(root, "../file", nil))
	text, err := os.ReadFile(filepath.Join(dir, "run.sh"))
	check.OK(t, err)
	check.Equal(t, "the text", "new", string(text))
	left, err := os.ReadDir(dir)
	check.OK(t, err)
	check.Equal(t, "files", 2, len(left))
}
