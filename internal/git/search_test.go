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
	r.in("near").write(".gitignore", "out/\n")
	r.within("near/out/left", "x")
	r.within("kept/known", "x")
	r.git("add", "kept/known")
	r.within("kept", "file") // git has files of it already
	r.within("build/left", "x")
	r.within("a/b.cache/c", "x")
	r.within("state/own", "x")
	r.write("empty/.git/config", "")
	r.init("unborn").write("file", "")
	r.git("worktree", "add", "-q", "-b", "other", "tree")
	r.in("tree").within("in", "x")
	check.OK(t, os.Symlink(t.TempDir(), filepath.Join(r.dir, "elsewhere")))
	want := []string{"kept", "near", "tree", "unborn", "kept/known", "tree/in", "near/deep/in/it"}
	check.Equal(t, "repositories", want, Search(t.Context(), r.dir, "state"))
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
	check.That(t, len(got) == maxRepositories && slices.Contains(got, "r000"), "got %d: %v", len(got), got)
}

func TestFindSeesEveryFolderOfARepository(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	check.OK(t, err)
	all := repo{t, dir}
	all.within("library", "file")
	main := all.init("main")
	main.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "../library", "vendor/library")
	main.commit("sub/deep/file")
	main.git("worktree", "add", "-q", "../tree")
	for file, text := range map[string]string{"broken/.git": "gitdir: /nowhere/at/all\n", "plain/sub/file": "x", "plain/.git/hooks/x": "x"} {
		all.write(file, text)
	}
	check.OK(t, os.Mkdir(filepath.Join(dir, "linked"), 0o755))
	check.OK(t, os.Symlink("../library/.git", filepath.Join(dir, "linked/.git")))
	module := "main/.git/modules/vendor/library"
	for folder, want := range map[string]Places{
		"plain/sub":     {},
		"library":       {Folders: []string{"library/.git"}},
		"main":          {Folders: []string{"main/.git", module}, Worktrees: []string{"main/.git/worktrees/tree"}},
		"main/sub/deep": {Folders: []string{"main/.git", module}, Worktrees: []string{"main/.git/worktrees/tree"}},
		"tree": {
			Folders:   []string{"main/.git", module, "main/.git/worktrees/tree"},
			Pointers:  []string{"tree/.git", "main/.git/worktrees/tree/commondir", "main/.git/worktrees/tree/gitdir"},
			Worktrees: []string{"main/.git/worktrees/tree"},
		},
		"linked":              {Folders: []string{"linked/.git"}, Pointers: []string{"linked/.git"}},
		"main/vendor/library": {Folders: []string{module}, Pointers: []string{"main/vendor/library/.git"}},
		"broken":              {Pointers: []string{"broken/.git"}},
	} {
		got := Find(filepath.Join(dir, folder))
		for _, list := range [][]string{got.Folders, got.Pointers, got.Worktrees} {
			for i, path := range list {
				list[i], _ = filepath.Rel(dir, path)
			}
		}
		check.Equal(t, folder, want, got)
	}
}
