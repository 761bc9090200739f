package git

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"ralph/internal/testing/check"
)

// TestALargeFileIsNotCopied: its size and its time are what counts, wherever it is.
func TestALargeFileIsNotCopied(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.write("small", "x")
	r.write("sub/also", "x")
	r.grow("huge", LargeFile+1)
	r.grow("sub/huge", LargeFile+1)
	r.grow("not-yet", LargeFile)
	r.write("inside/file", "x")
	r.git("init", "-q", "inside")
	r.grow("inside/huge", LargeFile+1)
	taken, err := Take(t.Context(), r.dir, r.objects())
	check.OK(t, err)
	check.Equal(t, "large files", []string{"huge", "sub/huge", "inside/huge"}, taken.Large)
	r.wantFiles(taken.Tree, "huge", "inside/file", "inside/huge", "not-yet", "small", "sub/also", "sub/huge")
	text, err := Show(t.Context(), r.dir, r.objects(), taken.Tree, "huge", 1000)
	if err != nil || len(text) > 100 {
		t.Errorf("got %q, %v; want a short description", text, err)
	}
	if again := r.tree(); again != taken.Tree {
		t.Error("the same files are another tree")
	}
	r.later("huge")
	r.wantChanges(taken.Tree, r.tree(), Change{Path: "huge", Kind: Modified})
	r.grow("sub/huge", LargeFile+2)
	r.later("inside/huge")
	now := r.tree()
	r.wantChanges(taken.Tree, now, Change{Path: "huge", Kind: Modified}, Change{Path: "inside/huge", Kind: Modified}, Change{Path: "sub/huge", Kind: Modified})
	r.remove("huge")
	r.remove("sub/huge")
	r.write("sub/huge", "small now")
	r.wantChanges(now, r.tree(), Change{Path: "huge", Kind: Deleted}, Change{Path: "sub/huge", Kind: Modified})

	sub := filepath.Join(r.dir, "sub")
	r.grow("sub/huge", LargeFile+3)
	below, err := Take(t.Context(), sub, r.objects())
	check.OK(t, err)
	check.Equal(t, "large files of a folder", []string{"huge"}, below.Large)
	r.wantFiles(below.Tree, "also", "huge")
	if size := r.stored(); size > LargeFile/10 {
		t.Errorf("%d bytes are stored", size)
	}
}

// grow makes a file that size, without filling the disk.
func (r repo) grow(name string, size int64) {
	r.t.Helper()
	if _, err := os.Stat(filepath.Join(r.dir, name)); err != nil {
		r.write(name, "")
	}
	check.OK(r.t, os.Truncate(filepath.Join(r.dir, name), size))
}

// later gives a file another time.
func (r repo) later(name string) {
	r.t.Helper()
	at := time.Now().Add(time.Hour)
	check.OK(r.t, os.Chtimes(filepath.Join(r.dir, name), at, at))
}

// stored is how much the store of trees takes.
func (r repo) stored() (size int64) {
	r.t.Helper()
	err := filepath.WalkDir(r.objects(), func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		size += info.Size()
		return err
	})
	check.OK(r.t, err)
	return size
}
