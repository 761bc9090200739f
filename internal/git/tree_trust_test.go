package git

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ralph/internal/testing/check"
)

// TestATreeLeavesTheRepositoryAlone: index, HEAD, refs, stash and objects are theirs.
func TestATreeLeavesTheRepositoryAlone(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.commit("a.txt", "b.txt")
	r.write("staged.txt", "x")
	r.git("add", "staged.txt")
	r.write("a.txt", "changed", "untracked.txt", "x", ".git/index.lock", "an agent is committing")
	before := content(t, filepath.Join(r.dir, ".git"))
	r.tree()
	check.Equal(t, "the repository", before, content(t, filepath.Join(r.dir, ".git")))
}

func content(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		files[strings.TrimPrefix(path, dir)] = string(data)
		return err
	})
	check.OK(t, err)
	return files
}

// TestATreeRunsNothingOfTheRepository, whatever an agent wrote into its settings.
func TestATreeRunsNothingOfTheRepository(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.commit("a.txt", "b.txt")
	trap := filepath.Join(t.TempDir(), "trap")
	check.OK(t, os.WriteFile(trap, []byte("#!/bin/sh\necho \"$0 $*\" >> '"+trap+".sprung'\ncat\n"), 0o700))
	for _, hook := range []string{"post-index-change", "pre-commit", "reference-transaction", "fsmonitor-watchman"} {
		check.OK(t, os.Symlink(trap, filepath.Join(r.dir, ".git", "hooks", hook)))
	}
	r.write(".gitattributes", "* filter=evil diff=evil\n", ".git/info/attributes", "* filter=evil diff=evil\n")
	before := r.tree()
	for key, value := range map[string]string{
		"filter.evil.clean": trap + " clean", "filter.evil.process": trap, "filter.evil.required": "true", "diff.evil.command": trap,
		"diff.evil.textconv": trap, "diff.external": trap, "core.pager": trap, "core.fsmonitor": trap, "core.sshCommand": trap,
		"core.alternateRefsCommand": trap, "core.hooksPath": filepath.Join(r.dir, ".git", "hooks"),
		"uploadpack.packObjectsHook": trap, "alias.ls-files": "!" + trap,
	} {
		r.git("config", key, value)
	}
	// and a repository inside, which git would look into
	inner := r.within("inner", "i.txt")
	inner.write(".gitattributes", "* filter=evil\n")
	inner.git("config", "core.fsmonitor", trap)
	inner.git("config", "filter.evil.clean", trap)
	inner.write("i.txt", "changed")
	r.write("a.txt", "changed\n", "new.txt", "x\n")
	os.Remove(trap + ".sprung")
	mid := r.tree()
	inner.write("i.txt", "changed again")
	after := r.tree()
	r.wantChanges(mid, after, Change{Path: "inner/i.txt", Kind: Modified})
	SameTrees(t.Context(), r.dir, nil, Heads(t.Context(), r.dir, "inner"))
	taken, err := Take(t.Context(), r.dir, r.objects())
	check.OK(t, err)
	LookAt(t.Context(), r.dir, taken)
	r.wantChanges(before, after, Change{Path: "a.txt", Kind: Modified}, Change{Path: "inner/.gitattributes", Kind: Added},
		Change{Path: "inner/i.txt", Kind: Added}, Change{Path: "new.txt", Kind: Added})
	r.patch(before, after, 1<<20)
	r.wantText(after, "a.txt", "changed\n")
	said, err := os.ReadFile(trap + ".sprung")
	check.That(t, err != nil, "it ran the repository's own program:\n%s", said)
}

// TestATreeCannotBeBlinded: what git offers to make a change invisible.
func TestATreeCannotBeBlinded(t *testing.T) {
	t.Parallel()
	tests := map[string]func(r repo){
		"an entry that is assumed to be unchanged": func(r repo) {
			r.git("update-index", "--assume-unchanged", "a.txt")
			r.write("a.txt", "CHANGED OF a.txt\n")
		},
		"an entry that is left out of the checkout": func(r repo) {
			r.git("update-index", "--skip-worktree", "a.txt")
			r.write("a.txt", "CHANGED OF a.txt\n")
		},
		"the same size and the same time": func(r repo) {
			path := filepath.Join(r.dir, "a.txt")
			info, err := os.Stat(path)
			check.OK(r.t, err)
			r.git("config", "core.trustctime", "false")
			r.git("config", "core.checkStat", "minimal")
			r.write("a.txt", "TEXT of a.txt\n")
			check.OK(r.t, os.Chtimes(path, info.ModTime(), info.ModTime()))
		},
		"a file that is ignored from now on": func(r repo) {
			r.write(".git/info/exclude", "*.txt\n", "a.txt", "changed")
		},
		"a file that is ignored and not tracked any more": func(r repo) {
			r.write(".git/info/exclude", "*.txt\n")
			r.git("rm", "-q", "--cached", "a.txt")
			r.write("a.txt", "changed")
		},
		"an encoding that git cannot read": func(r repo) {
			r.write(".git/info/attributes", "*.txt working-tree-encoding=UTF-16\n", "a.txt", "odd")
		},
		"an index that is damaged": func(r repo) {
			r.write(".git/index", "no index", "a.txt", "changed")
		},
		"settings that cannot be read": func(r repo) {
			r.write(".git/config", "[no settings", "a.txt", "changed")
		},
		"a folder that became a repository of its own": func(r repo) {
			r.init("sub")
			r.write("a.txt", "changed")
		},
	}
	for name, blind := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t)
			r.commit("a.txt", "sub/b.txt")
			before := r.tree()
			blind(r)
			r.wantChanges(before, r.tree(), Change{Path: "a.txt", Kind: Modified})
		})
	}
}

func (r repo) learn() {
	r.t.Helper()
	check.OK(r.t, Rules(r.t.Context(), r.dir, r.objects()))
}

// TestAnIndexLeadsNowhere: the names in it are no more than names.
func TestAnIndexLeadsNowhere(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	outer := repo{t, filepath.Dir(r.dir)}
	beside := outer.within("beside", "b.txt")
	commit := beside.git("rev-parse", "HEAD")
	r.write(".gitignore", "*.o\n", "aaaaaa.o", "1", "good.o", "2")
	r.git("add", "-A", "-f")
	r.git("update-index", "--add", "--cacheinfo", "160000,"+commit+",aaabeside")
	// Git writes no such names, so they are put in the place of others that are as long.
	index := filepath.Join(r.dir, ".git", "index")
	data, err := os.ReadFile(index)
	check.OK(t, err)
	data = bytes.Replace(data, []byte("aaaaaa.o"), []byte("/abcde.o"), 1)
	data = bytes.Replace(data, []byte("aaabeside"), []byte("../beside"), 1)
	check.OK(t, os.WriteFile(index, data, 0o600))
	check.Equal(t, "the names", ".gitignore\n/abcde.o\n../beside\ngood.o", r.git("ls-files"))
	taken, err := Take(t.Context(), r.dir, r.objects())
	check.OK(t, err)
	check.That(t, len(taken.Inside) == 0, "got %q inside, want nothing", taken.Inside)
	r.wantFiles(taken.Tree, ".gitignore", "good.o")
}

// TestRulesThatWereAddedMeanwhileHideNothing: an agent can write those that are not
// in the working tree, where nobody sees them.
func TestRulesThatWereAddedMeanwhileHideNothing(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.commit("a.txt")
	before := r.tree()
	rules := filepath.Join(t.TempDir(), "ignore")
	check.OK(t, os.WriteFile(rules, []byte("conftest.py\n"), 0o600))
	r.git("config", "core.excludesFile", rules)
	r.write(".git/info/exclude", "pytest.ini\n", "conftest.py", "x", "pytest.ini", "x")
	seen := r.tree()
	r.wantChanges(before, seen, Change{Path: "conftest.py", Kind: Added}, Change{Path: "pytest.ini", Kind: Added})
	r.learn() // and what was seen once stays seen
	r.write("later/conftest.py", "x")
	check.That(t, r.tree() == seen, "what was ignored when it was asked for the last time is in the tree, or what was seen is gone")
}

// TestATreeDoesNotDependOnTheEnvironment, nor on the settings of a person.
func TestATreeDoesNotDependOnTheEnvironment(t *testing.T) {
	r, other := newRepo(t), newRepo(t)
	r.commit("a.txt", "left/out.txt")
	other.commit("b.txt")
	home := t.TempDir()
	settings := filepath.Join(home, ".gitconfig") // which make every text a binary file
	check.OK(t, os.WriteFile(settings, []byte("[core]\n\tbigFileThreshold = 1\n"), 0o600))
	before := r.tree("left")
	for name, value := range map[string]string{
		"HOME": home, "GIT_CONFIG_GLOBAL": settings, "GIT_LITERAL_PATHSPECS": "1", "GIT_DIR": filepath.Join(other.dir, ".git"), "GIT_WORK_TREE": other.dir,
		"GIT_INDEX_FILE": filepath.Join(other.dir, ".git", "index"), "GIT_OBJECT_DIRECTORY": filepath.Join(other.dir, ".git", "objects"),
	} {
		t.Setenv(name, value)
	}
	r.write("a.txt", "changed\n")
	after := r.tree("left")
	r.wantChanges(before, after, Change{Path: "a.txt", Kind: Modified})
	r.wantFiles(after, "a.txt")
	text, _ := r.patch(before, after, 1000)
	check.That(t, strings.Contains(text, "+changed\n"), "got %q, want the text", text)
}

// TestARepositoryOfSomebodyElseIsLeftAlone, as git leaves it alone.
func TestARepositoryOfSomebodyElseIsLeftAlone(t *testing.T) {
	r := newRepo(t)
	t.Setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
	check.That(t, !Look(t.Context(), r.dir).Known, "it is read")
	t.Setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "0")
	check.That(t, Look(t.Context(), r.dir).Known, "it is not read although it is ours")
}

// TestNoGitIsStartedWhereThereIsNoRepository: attempts ask for the commit in any project.
func TestNoGitIsStartedWhereThereIsNoRepository(t *testing.T) {
	bin := t.TempDir()
	started := filepath.Join(bin, "started")
	check.OK(t, os.WriteFile(filepath.Join(bin, "git"), []byte("#!/bin/sh\n: > "+started+"\n"), 0o700))
	t.Setenv("PATH", bin)
	check.Equal(t, "the commit", "", Head(t.Context(), t.TempDir()))
	check.That(t, !exists(started), "git was started")
}
