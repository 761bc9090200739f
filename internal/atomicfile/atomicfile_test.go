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
