package git

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"ralph/internal/testing/check"
)

// TestWhatIsRememberedHidesNothing: each change is made after two trees, so that the next
// one goes by what is remembered, and is then compared with one that remembers nothing.
func TestWhatIsRememberedHidesNothing(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change func(r repo)
		want   []Change
	}{
		"nothing": {func(repo) {}, nil},
		"a new file in a folder that git has read": {
			func(r repo) { r.write("sub/new.txt", "x") }, []Change{{Path: "sub/new.txt", Kind: Added}},
		},
		"a new file in a folder that keeps its time": {func(r repo) {
			sub := filepath.Join(r.dir, "sub")
			info, err := os.Stat(sub)
			check.OK(r.t, err)
			r.write("sub/new.txt", "x")
			check.OK(r.t, os.Chtimes(sub, info.ModTime(), info.ModTime()))
		}, []Change{{Path: "sub/new.txt", Kind: Added}}},
		"an ignored file that is tracked from now on": {func(r repo) {
			r.write("out/made.txt", "x")
			r.git("add", "-f", "out/made.txt")
		}, []Change{{Path: "out/made.txt", Kind: Added}}},
		"a tracked file that was away and comes back ignored": {func(r repo) {
			r.remove("sub/a.txt")
			r.tree()
			r.write(".gitignore", "out\na.txt\n")
			r.tree()
			r.write("sub/a.txt", "changed")
		}, []Change{{Path: ".gitignore", Kind: Modified}, {Path: "sub/a.txt", Kind: Modified}}},
		"a file that was tracked before it was there, and is ignored": {func(r repo) {
			r.git("update-index", "--add", "--cacheinfo", "100644,"+r.git("rev-parse", "HEAD:top.txt")+",late.txt")
			r.tree()
			r.write(".gitignore", "out\nlate.txt\n", "late.txt", "x")
		}, []Change{{Path: ".gitignore", Kind: Modified}, {Path: "late.txt", Kind: Added}}},
		"a rule that goes away": {func(r repo) {
			r.write("out/made.txt", "x")
			r.tree()
			r.write(".gitignore", "")
		}, []Change{{Path: ".gitignore", Kind: Modified}, {Path: "out/left.txt", Kind: Added}, {Path: "out/made.txt", Kind: Added}}},
		"a repository that comes": {
			func(r repo) { r.within("sub/n", "x") }, []Change{{Path: "sub/n/x", Kind: Added}},
		},
		"a repository that comes and becomes a folder": {func(r repo) {
			n := r.within("sub/n", "x")
			r.tree()
			r.tree()
			n.remove(".git")
			n.write("y", "new")
		}, []Change{{Path: "sub/n/x", Kind: Added}, {Path: "sub/n/y", Kind: Added}}},
		"a large file": {func(r repo) {
			r.grow("huge", LargeFile+1)
			r.tree()
			r.grow("huge", LargeFile+2)
		}, []Change{{Path: "huge", Kind: Added}}},
		"a memory of another index": {func(r repo) {
			path := glob(r.t, r.objects(), "index-*.json")[0]
			old, err := os.ReadFile(path)
			check.OK(r.t, err)
			r.write("sub/new.txt", "x")
			r.tree()
			check.OK(r.t, os.WriteFile(path, old, 0o600))
		}, []Change{{Path: "sub/new.txt", Kind: Added}}},
		"a memory that cannot be read": {func(r repo) {
			check.OK(r.t, os.WriteFile(glob(r.t, r.objects(), "index-*.json")[0], []byte("{"), 0o600))
			r.write("sub/new.txt", "x")
		}, []Change{{Path: "sub/new.txt", Kind: Added}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t)
			r.write(".gitignore", "out\n", "out/left.txt", "x")
			r.commit("top.txt", "sub/a.txt")
			before := r.tree()
			check.That(t, r.tree() == before, "the same files are another tree")
			test.change(r)
			after := r.tree()
			r.wantChanges(before, after, test.want...)
			check.Equal(t, "the tree once more", after, r.tree())
		})
	}
}

// TestTwoTreesAtOnceAreNotMixedUp: another worker takes one between the two files that are kept.
func TestTwoTreesAtOnceAreNotMixedUp(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.commit("a.txt")
	r.tree()
	r.tree()
	r.write("a.txt", "one")
	s, err := openStore(t.Context(), r.dir, r.objects())
	check.OK(t, err)
	own := []string{".state/objects"}
	w := &walk{temp: t.TempDir(), dated: true}
	env := []string{"GIT_INDEX_FILE=" + w.index()}
	check.OK(t, s.fill(t.Context(), w, env, own))
	id, err := s.write(t.Context(), env)
	check.OK(t, err)
	check.OK(t, s.keep(w))
	r.write("a.txt", "the other")
	other := r.tree()
	check.OK(t, s.remember(w, own, id))
	check.Equal(t, "the tree now", other, r.tree())
}

// TestAPersonsOwnIgnoreFileCounts as it was when the rules were read, and hides nothing that is
// tracked.
func TestAPersonsOwnIgnoreFileCounts(t *testing.T) {
	home := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", home)
	t.Setenv("GIT_CONFIG_GLOBAL", filepath.Join(home, "none"))
	repo{t, home}.write("git/ignore", "*.log\n")
	r := newRepo(t)
	r.commit("a.txt")
	r.write("hidden.log", "x", "x.log", "x")
	r.wantFiles(r.tree(), "a.txt")
	r.tree()
	r.git("add", "-f", "x.log")
	r.wantFiles(r.tree(), "a.txt", "x.log")
	repo{t, home}.write("git/ignore", "*.log\n*.txt\n")
	r.write("new.txt", "x")
	r.wantFiles(r.tree(), "a.txt", "new.txt", "x.log")
}

// TestARepositoryThatCannotBeReadIsAskedAgain about what it tracks.
func TestARepositoryThatCannotBeReadIsAskedAgain(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.write(".gitignore", "*.out\n")
	r.commit("a.txt")
	r.tree()
	r.tree()
	r.write("x.out", "1")
	r.git("add", "-f", "x.out")
	settings, err := os.ReadFile(filepath.Join(r.dir, ".git/config"))
	check.OK(t, err)
	r.write(".git/config", "[broken")
	r.tree()
	r.write(".git/config", string(settings))
	r.wantFiles(r.tree(), ".gitignore", "a.txt", "x.out")
}

// TestOtherFilesMayBeLeftOut than when the last tree was taken.
func TestOtherFilesMayBeLeftOut(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.commit("a.txt", "run.log")
	r.wantFiles(r.tree(), "a.txt", "run.log")
	r.wantFiles(r.tree("run.log"), "a.txt")
	r.write("run.log", "more")
	r.wantFiles(r.tree("run.log"), "a.txt")
	r.wantFiles(r.tree(), "a.txt", "run.log")
}

// TestLookAtSeesWhatLookSees, although it looks at fewer files.
func TestLookAtSeesWhatLookSees(t *testing.T) {
	t.Parallel()
	tests := map[string]func(r repo){
		"nothing uncommitted": func(repo) {},
		"no branch":           func(r repo) { r.git("checkout", "-q", "--detach") },
		"packed references":   func(r repo) { r.git("pack-refs", "--all"); r.write("a.txt", "2") },
		"every kind of change": func(r repo) {
			r.write("a.txt", "2", "new [*] file", "x", "sub/ü\n.txt", "x", "ignored", "x", ".gitignore", "ignored\n")
			r.git("mv", "b.txt", "moved.txt")
			r.remove("c.txt")
		},
		"a repository inside": func(r repo) { r.within("n", "x").write("y", "x") },
		"one that git knows":  func(r repo) { r.within("n", "x"); r.git("add", "n"); r.write("n/x", "2") },
		"lines that end in another way": func(r repo) {
			r.write(".gitattributes", "*.txt text eol=crlf\n")
			r.commit()
			r.remove("a.txt", "b.txt")
			r.git("checkout", "-q", ".")
			r.write("b.txt", "2")
		},
		"more files than are named": func(r repo) {
			for i := range 600 {
				r.write(strings.Repeat("x", i%60+1)+"/"+strings.Repeat("y", i/60+1), "x")
			}
		},
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t)
			r.write(".git/info/exclude", "/.state\n")
			r.commit("a.txt", "b.txt", "c.txt")
			change(r)
			for _, time := range []string{"first", "second"} {
				taken, err := Take(t.Context(), r.dir, r.objects())
				check.OK(t, err)
				check.Equal(t, time+" state", r.look(), LookAt(t.Context(), r.dir, taken), cmpopts.IgnoreFields(State{}, "Inside"))
			}
			check.Equal(t, "head", r.git("rev-parse", "HEAD"), Head(t.Context(), r.dir))
		})
	}
}

func TestHeadIsWhatGitSays(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	check.Equal(t, "head without a commit", "", Head(t.Context(), r.dir))
	first := r.commit("a.txt")
	r.git("worktree", "add", "-q", "-b", "other/branch", "tree")
	second := r.commit("b.txt")
	r.git("pack-refs", "--all")
	check.Equal(t, "head", second, Head(t.Context(), r.dir))
	check.Equal(t, "head of a worktree", first, Head(t.Context(), filepath.Join(r.dir, "tree")))
	third := r.commit("c.txt") // newer than what is packed
	check.Equal(t, "head", third, Head(t.Context(), r.dir))
	r.git("symbolic-ref", "refs/heads/alias", "refs/heads/main")
	r.git("symbolic-ref", "HEAD", "refs/heads/alias")
	check.Equal(t, "head through two names", third, Head(t.Context(), r.dir))
	check.Equal(t, "head of no repository", "", Head(t.Context(), t.TempDir()))
}
