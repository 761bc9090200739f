package git

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"ralph/internal/testing/check"
)

func (r repo) objects() string { return filepath.Join(r.dir, ".state", "objects") }

func (r repo) tree(exclude ...string) string {
	r.t.Helper()
	taken, err := Take(r.t.Context(), r.dir, r.objects(), exclude...)
	check.OK(r.t, err)
	return taken.Tree
}

func (r repo) compare(from, to string) []Change {
	r.t.Helper()
	d, err := Compare(r.t.Context(), r.dir, r.objects(), from, to, 0)
	check.OK(r.t, err)
	return d.Changes
}

func (r repo) wantChanges(from, to string, want ...Change) {
	r.t.Helper()
	check.Equal(r.t, "changes", want, r.compare(from, to))
}

func (r repo) files(tree string) []string {
	r.t.Helper()
	var names []string
	for _, c := range r.compare(emptyTrees[0], tree) {
		names = append(names, c.Path)
	}
	return names
}

func (r repo) wantFiles(tree string, want ...string) {
	r.t.Helper()
	check.Equal(r.t, "files of the tree", want, r.files(tree))
}

func (r repo) remove(names ...string) {
	r.t.Helper()
	for _, name := range names {
		check.OK(r.t, os.RemoveAll(filepath.Join(r.dir, name)))
	}
}

func TestATreeHoldsWhatIsThere(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.wantFiles(r.tree()) // no commit, no file
	r.write("new.txt", "x")
	r.wantFiles(r.tree(), "new.txt") // still no commit
	r.commit("a.txt", "gone.txt", "sub/b.txt", "run.sh", "odd\n\"na\\me\".txt", "latin\xe9.txt")
	before := r.tree()
	check.Equal(t, "the tree of the same files", before, r.tree())
	r.write(".gitignore", "ignored\n", "ignored", "x", "a.txt", "changed\n")
	r.remove("gone.txt")
	r.git("add", "a.txt") // what is staged makes no difference
	r.write("a.txt", "changed again\n")
	r.git("mv", "sub/b.txt", "sub/c.txt")
	r.write("odd\n\"na\\me\".txt", "x", "latin\xe9.txt", "x")
	check.OK(t, os.Chmod(filepath.Join(r.dir, "run.sh"), 0o700))
	after := r.tree()
	r.wantChanges(before, after,
		Change{Path: ".gitignore", Kind: Added},
		Change{Path: "a.txt", Kind: Modified},
		Change{Path: "gone.txt", Kind: Deleted},
		Change{Path: "latin\xe9.txt", Kind: Modified},
		Change{Path: "odd\n\"na\\me\".txt", Kind: Modified},
		Change{Path: "run.sh", Kind: Mode},
		Change{Path: "sub/c.txt", Old: "sub/b.txt", Kind: Renamed},
	)
	r.wantChanges(before, before)
	r.commit()
	check.Equal(t, "the tree after a commit of all", after, r.tree())
}

// TestATreeSeesAChangeInTheSameMoment: size and times may all be the same when a
// file is written twice within one tick of the clock.
func TestATreeSeesAChangeInTheSameMoment(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	seen := map[string]string{}
	for _, text := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		r.write("a.txt", text)
		id := r.tree()
		if was, is := seen[id]; is {
			t.Fatalf("%q has the tree of %q", text, was)
		}
		seen[id] = text
	}
}

// TestATreeSeesAChangeInTheMomentOfTheLast, also a second later: what git remembers
// of a file is worth nothing if the file is as young as the memory.
func TestATreeSeesAChangeInTheMomentOfTheLast(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	moment := time.Now().Add(-time.Hour)
	at := func(path string) {
		t.Helper()
		check.OK(t, os.Chtimes(path, moment, moment))
	}
	r.write("a.txt", "one")
	at(filepath.Join(r.dir, "a.txt"))
	before := r.tree()
	at(glob(t, r.objects(), "index-*")[0])
	r.write("a.txt", "two")
	at(filepath.Join(r.dir, "a.txt"))
	r.wantChanges(before, r.tree(), Change{Path: "a.txt", Kind: Modified})
}

func TestATreeTakesWhatItCan(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.commit("a.txt", "was a file", "dir/was in a folder", "now a file/x", "pipe")
	before := r.tree()
	r.remove("was a file")
	r.write("was a file/now/a folder", "x")
	r.remove("dir", "now a file")
	r.write("now a file", "x")
	r.remove("pipe")
	r.write("z.txt", "x")
	check.OK(t, os.Symlink("nowhere", filepath.Join(r.dir, "dir")))
	pipe, err := net.Listen("unix", filepath.Join(r.dir, "pipe")) // cannot be taken, not even by root
	check.OK(t, err)
	defer pipe.Close()
	r.init("empty").write("inside.txt", "x") // a repository without a commit
	after := r.tree()
	r.wantFiles(after, "a.txt", "dir", "empty/inside.txt", "now a file", "was a file/now/a folder", "z.txt")
	r.wantFiles(before, "a.txt", "dir/was in a folder", "now a file/x", "pipe", "was a file")
}

func TestATreeHasWhatIsTrackedAlthoughIgnored(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.write(".gitignore", "build\n", "build/kept.txt", "x", "build/left.txt", "x")
	r.git("add", "-f", "build/kept.txt", ".gitignore")
	r.wantFiles(r.tree(), ".gitignore", "build/kept.txt")
	// people have ignore rules outside of the repository, too
	rules := filepath.Join(t.TempDir(), "ignore")
	check.OK(t, os.WriteFile(rules, []byte("*.swp\n"), 0o600))
	r.git("config", "core.excludesFile", rules)
	r.write("a.swp", "x", "b.tmp", "x", ".git/info/exclude", "*.tmp\n")
	r.learn()
	r.wantFiles(r.tree(), ".gitignore", "build/kept.txt")
}

// TestATreeIsTakenAgainWhenWhatWeRememberIsOfNoUse: objects may be pruned, and our
// own files damaged.
func TestATreeIsTakenAgainWhenWhatWeRememberIsOfNoUse(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.commit("a.txt")
	want := r.tree()
	check.OK(t, os.WriteFile(glob(t, r.objects(), "index-*")[0], []byte("no index"), 0o600))
	check.Equal(t, "tree", want, r.tree())
	left, err := filepath.Glob(filepath.Join(r.objects(), "tree-*"))
	check.That(t, err == nil && left == nil, "got %q left behind, %v", left, err)
}

func TestATreeOfAFolderInARepository(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.write(".gitignore", "*.log\n") // above, and holds below
	r.commit("top.txt", "sub/a.txt", "sub/.state/x", "sub/out/y")
	sub := r.in("sub")
	before := sub.tree(".state", "out")
	r.write("top.txt", "changed")
	sub.write("x.log", "x", ".state/x", "changed", "out/z", "x")
	check.Equal(t, "the tree after changes elsewhere", before, sub.tree(".state", "out"))
	sub.write("b.txt", "x")
	sub.wantFiles(sub.tree(".state", "out"), "a.txt", "b.txt")
	sub.wantFiles(sub.tree("out"), ".state/x", "a.txt", "b.txt") // our own folder is never in it
	sub.remove("a.txt", "b.txt")
	sub.wantFiles(sub.tree(".state", "out"))
	link := filepath.Join(t.TempDir(), "link")
	check.OK(t, os.Symlink(sub.dir, link))
	sub.write("b.txt", "x")
	got, err := Take(t.Context(), link, r.objects(), ".state", "out")
	check.That(t, err == nil && got.Tree == sub.tree(".state", "out"), "got %v, %v through a symbolic link", got, err)
}

func TestATreeOfAWorktreeAndASubmodule(t *testing.T) {
	t.Parallel()
	r := repo{t, t.TempDir()}.within("re:po \"x\"\\\n", "a.txt")
	work := repo{t, filepath.Join(t.TempDir(), "work")}
	r.git("worktree", "add", "-q", "-b", "other", work.dir)
	before := work.tree()
	check.That(t, before == r.tree(), "the same files in a worktree are another tree")
	check.Equal(t, "objects written that the repository has", 0, len(content(t, filepath.Join(work.objects(), "objects"))))
	work.write("a.txt", "changed", ".gitignore", "*.log\n", "x.log", "x")
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
	module := r.in("module")
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
	check.That(t, len(after) == 64, "got %q, want an ID of 64 digits", after)
	r.wantChanges(before, after, Change{Path: "a.txt", Kind: Modified})
	r.wantText(after, "a.txt", "changed")
}

func TestWhereNobodyCanTellWhatChanged(t *testing.T) {
	t.Parallel()
	plain, broken := t.TempDir(), t.TempDir()
	check.OK(t, os.Mkdir(filepath.Join(broken, ".git"), 0o700))
	for name, dir := range map[string]string{"a plain folder": plain, "an empty .git": broken} {
		objects := filepath.Join(t.TempDir(), "objects")
		_, err := Take(t.Context(), dir, objects)
		check.That(t, errors.Is(err, ErrUnknown), "%s: got %v, want ErrUnknown", name, err)
		_, err = os.Stat(objects)
		check.That(t, err != nil, "%s: the store was made for nothing", name)
	}
}

func TestWithoutAGitProgram(t *testing.T) {
	r := newRepo(t)
	t.Setenv("PATH", t.TempDir())
	_, err := Take(t.Context(), r.dir, r.objects())
	check.That(t, errors.Is(err, ErrUnknown) && errors.Is(err, exec.ErrNotFound), "got %v, want ErrUnknown because git is missing", err)
}

// TestAStoreThatWasDeletedInPartIsMadeAnew: processes may go on writing while its folder is deleted.
func TestAStoreThatWasDeletedInPartIsMadeAnew(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]string{
		"only an object":         "mv objects/objects keep; rm -r objects; mkdir objects; mv keep objects/objects",
		"only an empty folder":   "rm -r objects; mkdir -p objects/objects/aa",
		"only indexes":           "mkdir keep; mv objects/index-* keep; rm -r objects; mv keep objects",
		"all but the attributes": "rm objects/info/attributes",
		"all but the head":       "rm objects/HEAD",
		"all but the objects":    "rm -r objects/objects",
		"all but the references": "rm -r objects/refs",
		"a file with its name":   "rm -r objects; touch objects",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t)
			r.write("a", "x", "b", "y")
			want := r.tree()
			out, err := exec.Command("sh", "-ec", "cd "+filepath.Dir(r.objects())+"; "+damage).CombinedOutput()
			check.That(t, err == nil, "%s", out)
			check.Equal(t, "the tree", want, r.tree())
			r.wantFiles(want, "a", "b")
			left, _ := filepath.Glob(filepath.Join(filepath.Dir(r.objects()), "trees-*"))
			check.That(t, len(left) == 0, "left behind: %v", left)
		})
	}
}

// TestAStoreHasAnAbsolutePath: what is in its way is removed, which must not be whatever folder the program runs in.
func TestAStoreHasAnAbsolutePath(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	for _, objects := range []string{"", ".", "objects"} {
		_, err := Take(t.Context(), r.dir, objects)
		check.That(t, err != nil && strings.Contains(err.Error(), "absolute path"), "%q: got %v", objects, err)
	}
}

// TestManyMayTakeTheFirstTreeAtOnce: of several workers each finds the store
// finished, whoever made it.
func TestManyMayTakeTheFirstTreeAtOnce(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.write("a", "x")
	for range 5 {
		objects := filepath.Join(t.TempDir(), "below", "objects")
		var all sync.WaitGroup
		for range 6 {
			all.Go(func() {
				if _, err := Take(t.Context(), r.dir, objects); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		left, _ := filepath.Glob(filepath.Join(filepath.Dir(objects), "trees-*"))
		check.That(t, len(left) == 0, "left behind: %v", left)
	}
}
