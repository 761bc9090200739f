package git

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"ralph/internal/testing/check"
)

func TestATreeOfAFolderInARepository(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.write(".gitignore", "*.log\n") // above, and holds below
	r.commit("top.txt", "sub/a.txt", "sub/.state/x", "sub/out/y")
	sub := repo{t, filepath.Join(r.dir, "sub")}
	before := sub.tree(".state", "out")
	r.write("top.txt", "changed")
	sub.write("x.log", "x")
	sub.write(".state/x", "changed")
	sub.write("out/z", "x")
	if got := sub.tree(".state", "out"); got != before {
		t.Errorf("got %s for changes elsewhere, want %s", got, before)
	}
	sub.write("b.txt", "x")
	sub.wantFiles(sub.tree(".state", "out"), "a.txt", "b.txt")
	sub.wantFiles(sub.tree("out"), ".state/x", "a.txt", "b.txt") // our own folder is never in it
	sub.remove("a.txt")
	sub.remove("b.txt")
	sub.wantFiles(sub.tree(".state", "out"))
	link := filepath.Join(t.TempDir(), "link")
	check.OK(t, os.Symlink(sub.dir, link))
	sub.write("b.txt", "x")
	if got, err := Tree(t.Context(), link, r.objects(), ".state", "out"); err != nil || got != sub.tree(".state", "out") {
		t.Errorf("got %s, %v through a symbolic link", got, err)
	}
}

func TestATreeOfAWorktreeAndASubmodule(t *testing.T) {
	t.Parallel()
	r := repo{t, filepath.Join(t.TempDir(), "re:po \"x\"\\\n")}
	check.OK(t, os.Mkdir(r.dir, 0o700))
	r.git("init", "-q", "-b", "main")
	r.commit("a.txt")
	work := repo{t, filepath.Join(t.TempDir(), "work")}
	r.git("worktree", "add", "-q", "-b", "other", work.dir)
	before := work.tree()
	if before != r.tree() {
		t.Error("the same files in a worktree are another tree")
	}
	if n := len(content(t, filepath.Join(work.objects(), "objects"))); n != 0 {
		t.Errorf("got %d objects written that the repository has", n)
	}
	work.write("a.txt", "changed")
	work.write(".gitignore", "*.log\n")
	work.write("x.log", "x")
	work.git("add", "-f", "x.log")
	work.wantChanges(before, work.tree(),
		Change{Path: ".gitignore", Kind: Added}, Change{Path: "a.txt", Kind: Modified}, Change{Path: "x.log", Kind: Added})

	other := newRepo(t)
	other.commit("m.txt")
	r = newRepo(t)
	r.commit("a.txt")
	r.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", other.dir, "module")
	r.git("commit", "-qm", "module")
	with := r.tree()
	r.wantFiles(with, ".gitmodules", "a.txt", "module/m.txt")
	module := repo{t, filepath.Join(r.dir, "module")}
	module.commit("new.txt")
	r.wantChanges(with, r.tree(), Change{Path: "module/new.txt", Kind: Added})
	module.wantFiles(module.tree(), "m.txt", "new.txt")
}

func TestATreeOfARepositoryWithOtherIDs(t *testing.T) {
	t.Parallel()
	r := repo{t, t.TempDir()}
	r.git("init", "-q", "--object-format=sha256")
	r.commit("a.txt")
	before := r.tree()
	r.write("a.txt", "changed")
	after := r.tree()
	if len(after) != 64 {
		t.Errorf("got %q, want an ID of 64 digits", after)
	}
	r.wantChanges(before, after, Change{Path: "a.txt", Kind: Modified})
	if got, err := Show(t.Context(), r.dir, r.objects(), after, "a.txt", 100); err != nil || string(got) != "changed" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestWhereNobodyCanTellWhatChanged(t *testing.T) {
	t.Parallel()
	plain, broken := t.TempDir(), t.TempDir()
	check.OK(t, os.Mkdir(filepath.Join(broken, ".git"), 0o700))
	for name, dir := range map[string]string{"a plain folder": plain, "an empty .git": broken} {
		objects := filepath.Join(t.TempDir(), "objects")
		if _, err := Tree(t.Context(), dir, objects); !errors.Is(err, ErrUnknown) {
			t.Errorf("%s: got %v, want ErrUnknown", name, err)
		}
		if _, err := os.Stat(objects); err == nil {
			t.Errorf("%s: the store was made for nothing", name)
		}
	}
}

func TestWithoutAGitProgram(t *testing.T) {
	r := newRepo(t)
	t.Setenv("PATH", t.TempDir())
	if _, err := Tree(t.Context(), r.dir, r.objects()); !errors.Is(err, ErrUnknown) || !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("got %v, want ErrUnknown because git is missing", err)
	}
}
