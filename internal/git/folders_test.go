package git

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"ralph/internal/testing/check"
)

func TestFindSeesEveryFolderOfARepository(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	check.OK(t, err)
	in := func(folder string, args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "protocol.file.allow=always"}, args...)...)
		cmd.Dir = filepath.Join(dir, folder)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	for _, folder := range []string{"main/sub/deep", "library", "plain/.git/hooks", "plain/sub", "broken"} {
		check.OK(t, os.MkdirAll(filepath.Join(dir, folder), 0o755))
	}
	in("library", "init", "-q")
	in("library", "commit", "-qm", "first", "--allow-empty")
	in("main", "init", "-q")
	in("main", "submodule", "--quiet", "add", "../library", "vendor/library")
	in("main", "commit", "-qm", "first", "--allow-empty")
	in("main", "worktree", "add", "-q", "../tree")
	for file, text := range map[string]string{"broken/.git": "gitdir: /nowhere/at/all\n", "plain/sub/file": "x"} {
		check.OK(t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600))
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
