package git

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"ralph/internal/testing/check"
)

// TestSearchFindsRepositoriesInside, known to git or not.
func TestSearchFindsRepositoriesInside(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.commit("top.txt", "kept/file")
	r.write(".gitignore", "/build/\n*.cache/\n")
	r.within("near", "x").within("deep/in/it", "x")
	repo{t, filepath.Join(r.dir, "near")}.write(".gitignore", "out/\n")
	r.within("near/out/left", "x")
	r.within("kept/known", "x")
	r.git("add", "kept/known")
	r.within("kept", "file") // git has files of it already
	r.within("build/left", "x")
	r.within("a/b.cache/c", "x")
	r.within("state/own", "x")
	r.write("empty/.git/config", "")
	r.write("unborn/file", "")
	repo{t, filepath.Join(r.dir, "unborn")}.git("init", "-q")
	r.git("worktree", "add", "-q", "-b", "other", "tree")
	repo{t, filepath.Join(r.dir, "tree")}.within("in", "x")
	check.OK(t, os.Symlink(t.TempDir(), filepath.Join(r.dir, "elsewhere")))
	want := []string{"kept", "near", "tree", "unborn", "kept/known", "tree/in", "near/deep/in/it"}
	check.Equal(t, "result", want, Search(t.Context(), r.dir, "state"))
	// Below the top the same rules hold, and without a repository around there are none.
	check.Equal(t, "in a folder", []string{"known"}, Search(t.Context(), filepath.Join(r.dir, "kept")))
	bare := repo{t, t.TempDir()}
	bare.within("b/one", "x")
	bare.within("two", "x")
	check.Equal(t, "outside of any", []string{"two", "b/one"}, Search(t.Context(), bare.dir))
}

// TestSearchIsBounded: what is nearest is found, however much there is.
func TestSearchIsBounded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i := range maxRepositories + 10 {
		check.OK(t, os.MkdirAll(filepath.Join(dir, fmt.Sprintf("r%03d/.git", i)), 0o700))
		check.OK(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("r%03d/.git/HEAD", i)), nil, 0o600))
	}
	got := Search(t.Context(), dir)
	if len(got) != maxRepositories || !slices.Contains(got, "r000") {
		t.Errorf("got %d: %v", len(got), got)
	}
}

// TestUncommittedInsideNamesFilesFromOutside, in whatever repository git tells of.
func TestUncommittedInsideNamesFilesFromOutside(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.commit("top.txt", "sub/file")
	r.write(".gitignore", "/build/\n")
	r.write("top.txt", "changed")
	in := r.within("sub/in", "x", "y")
	in.write("x", "changed")
	in.write("deep/new", "")
	in.within("in it", "x").write("x", "changed")
	r.within("known", "x").write("new", "")
	r.git("add", "known")
	r.within("clean", "x")
	r.within("build/left", "x").write("x", "changed")
	r.write("unborn/new", "")
	repo{t, filepath.Join(r.dir, "unborn")}.git("init", "-q")
	r.git("worktree", "add", "-q", "-b", "other", "tree")
	r.write("tree/new", "")
	want := []string{"known/new", "sub/in/deep/new", "sub/in/in it/", "sub/in/x", "tree/new", "unborn/new", "sub/in/in it/x"}
	for dir, want := range map[string][]string{".": want, "sub": {"in/deep/new", "in/in it/", "in/x", "in/in it/x"}} {
		dir = filepath.Join(r.dir, dir)
		check.Equal(t, "result", want, UncommittedInside(t.Context(), dir, Look(t.Context(), dir)))
	}
	none := t.TempDir()
	repo{t, none}.within("in", "x").write("x", "changed")
	if got := UncommittedInside(t.Context(), none, Look(t.Context(), none)); len(got) > 0 {
		t.Errorf("got %q where there is no repository around", got)
	}
}
