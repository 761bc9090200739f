package git

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"ralph/internal/testing/check"
)

// TestATreeSeesWorkInRepositoriesInside, whether git knows of them or not.
func TestATreeSeesWorkInRepositoriesInside(t *testing.T) {
	t.Parallel()
	makes := map[string]func(r repo) (in repo, name string){
		"one that git does not know": func(r repo) (repo, string) { return r.within("n", "a.go", "a_test.go"), "n" },
		"one that git counts by its commit": func(r repo) (repo, string) {
			in := r.within("n", "a.go", "a_test.go")
			r.git("add", "n")
			r.git("commit", "-qm", "embedded")
			return in, "n"
		},
		"one in one": func(r repo) (repo, string) {
			return r.within("n", "x").within("deep/m", "a.go", "a_test.go"), "n/deep/m"
		},
		"a submodule": func(r repo) (repo, string) {
			other := newRepo(r.t)
			other.commit("a.go", "a_test.go")
			r.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", other.dir, "lib/module")
			r.git("commit", "-qm", "module")
			return r.in("lib/module"), "lib/module"
		},
		"a worktree": func(r repo) (repo, string) {
			r.commit("a.go", "a_test.go")
			r.git("worktree", "add", "-q", "-b", "other", "w")
			return r.in("w"), "w"
		},
	}
	for kind, make := range makes {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t)
			r.commit("top.txt")
			in, name := make(r)
			before := r.tree()
			check.That(t, r.tree() == before, "got another tree of the same files")
			in.write("a.go", "changed")
			in.remove("a_test.go")
			in.write("new.go", "untracked", ".git-is-no.rule", "x", "out.o", "x", ".gitignore", "*.o\n")
			after := r.tree()
			want := []Change{
				{Path: name + "/.git-is-no.rule", Kind: Added},
				{Path: name + "/.gitignore", Kind: Added},
				{Path: name + "/a.go", Kind: Modified},
				{Path: name + "/a_test.go", Kind: Deleted},
				{Path: name + "/new.go", Kind: Added},
			}
			r.wantChanges(before, after, want...)
			r.wantText(after, name+"/a.go", "changed")
			in.commit()
			check.That(t, r.tree() == after, "a commit alone makes another tree")
			// All is known also when the repository is gone, and what it holds stays.
			in.remove(".git")
			r.wantChanges(before, after, want...)
			r.wantText(before, name+"/a_test.go", "text of a_test.go\n")
		})
	}
}

// TestAFolderThatBecomesARepositoryChangesNothing, nor does a repository that becomes
// a folder, or a file that becomes a repository hide anything.
func TestAFolderThatBecomesARepositoryChangesNothing(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.commit("a.txt", "sub/b.txt", "file")
	r.write("sub/untracked", "x")
	before := r.tree()
	in := r.init("sub")
	check.That(t, r.tree() == before, "a folder is another when a repository is put into it")
	r.remove(".state") // as if it were seen for the first time
	fresh := r.tree()
	r.wantFiles(fresh, "a.txt", "file", "sub/b.txt", "sub/untracked")
	in.write("sub-test", "x")
	r.wantChanges(fresh, r.tree(), Change{Path: "sub/sub-test", Kind: Added})

	n := r.within("n", "x", "y")
	with := r.tree()
	n.remove(".git")
	check.That(t, r.tree() == with, "a repository is another when it becomes a folder")
	r.remove("file")
	r.within("file", "in it")
	r.wantChanges(with, r.tree(), Change{Path: "file", Kind: Deleted}) // git goes by what it knew
	r.wantChanges(with, r.tree(), Change{Path: "file", Kind: Deleted}, Change{Path: "file/in it", Kind: Added})
}

func TestATreeOfAFolderWithARepositoryInside(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.commit("top.txt", "sub/a.txt")
	sub := r.in("sub")
	in := sub.within("n", "x.txt")
	sub.wantFiles(sub.tree(".state"), "a.txt", "n/x.txt")
	in.write(".git/info/exclude", "secret\n", "secret", "x")
	sub.wantFiles(sub.tree(".state"), "a.txt", "n/x.txt")
	sub.wantFiles(sub.tree(".state", "n"), "a.txt")
}

// TestTooManyRepositoriesInsideCountByTheirCommits: nobody waits for ever.
func TestTooManyRepositoriesInsideCountByTheirCommits(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	one := r.within("n000", "x")
	for i := 1; i <= maxRepositories; i++ {
		check.OK(t, os.CopyFS(filepath.Join(r.dir, fmt.Sprintf("n%03d", i)), os.DirFS(one.dir)))
	}
	taken, err := Take(t.Context(), r.dir, r.objects())
	if err != nil || len(taken.Inside) != maxRepositories {
		t.Fatalf("got %d, %v", len(taken.Inside), err)
	}
	last := r.in(fmt.Sprintf("n%03d", maxRepositories))
	last.write("x", "not looked at")
	check.That(t, r.tree() == taken.Tree, "it was looked at")
	last.commit("y")
	r.wantChanges(taken.Tree, r.tree(), Change{Path: filepath.Base(last.dir), Kind: Modified})
}

// TestARepositoryInOneIsLookedAtOnce, also when git knows its files from the last time: how much is looked at is bounded.
func TestARepositoryInOneIsLookedAtOnce(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.commit("top.txt")
	r.within("n", "x", "y").within("deep/m", "z").write("new", "untracked")
	for _, time := range []string{"first", "second"} {
		s, err := openStore(t.Context(), r.dir, r.objects())
		check.OK(t, err)
		w := &walk{temp: t.TempDir(), repositories: maxRepositories, files: maxInside}
		check.OK(t, s.fill(t.Context(), w, []string{"GIT_INDEX_FILE=" + w.index()}, []string{".state"}))
		check.Equal(t, "repositories at the "+time+" time", []string{"n", "n/deep/m"}, w.taken.Inside)
		check.Equal(t, "how many", 2, maxRepositories-w.repositories)
		check.Equal(t, "files in them", 4, maxInside-w.files)
		r.tree()
	}
}

// TestARepositoryAroundASubmoduleHidesNothing: git keeps the submodule, whatever the rules of that repository are.
func TestARepositoryAroundASubmoduleHidesNothing(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.within("lib/module", "x")
	r.git("add", "lib/module")
	r.git("commit", "-qm", "module")
	before := r.tree()
	r.init("lib").write(".git/info/exclude", "module\n", "module/new", "x")
	r.wantChanges(before, r.tree(), Change{Path: "lib/module/new", Kind: Added})
}

func TestCommitsInsideAreSeen(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.commit("a.txt")
	in := r.within("n", "x")
	in.write("x", "changed")
	taken, err := Take(t.Context(), r.dir, r.objects())
	check.OK(t, err)
	check.Equal(t, "repositories inside", []string{"n"}, taken.Inside)
	before := Heads(t.Context(), r.dir, taken.Inside...)
	in.git("commit", "-qm", "nothing", "--allow-empty")
	check.That(t, r.holdsAsBefore(before, taken.Inside...), "an empty commit is taken for one")
	in.git("commit", "-qam", "work")
	check.That(t, !r.holdsAsBefore(before, taken.Inside...), "a commit inside was not seen")
}

// TestWhatIsRememberedOfARepositoryInsideMayBeDamaged: it is read again.
func TestWhatIsRememberedOfARepositoryInsideMayBeDamaged(t *testing.T) {
	t.Parallel()
	damage := map[string]func(t *testing.T, objects string, outer []string){
		"an index that cannot be read": func(t *testing.T, objects string, outer []string) {
			for _, index := range slices.DeleteFunc(glob(t, objects, "index-*"), func(index string) bool { return slices.Contains(outer, index) }) {
				check.OK(t, os.WriteFile(index, []byte("no index"), 0o600))
			}
		},
		"objects that are gone": func(t *testing.T, objects string, _ []string) {
			for _, folder := range glob(t, objects, "objects/??") {
				check.OK(t, os.RemoveAll(folder))
			}
		},
	}
	for name, harm := range damage {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t)
			r.commit("top.txt")
			r.tree()
			outer := glob(t, r.objects(), "index-*")
			in := r.within("n", "a.go")
			in.write("b.go", "untracked")
			before := r.tree()
			harm(t, r.objects(), outer)
			check.That(t, r.tree() == before, "got another tree of the same files")
			r.wantText(before, "n/b.go", "untracked")
		})
	}
}

func glob(t *testing.T, dir, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(found) == 0 {
		t.Fatalf("%s in %s: %v, %v", pattern, dir, found, err)
	}
	return found
}

// TestAnEmptyRepositoryInsideIsNoWork, whether it has a commit or not.
func TestAnEmptyRepositoryInsideIsNoWork(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.commit("top.txt")
	head := Heads(t.Context(), r.dir)
	in := r.init("n")
	check.That(t, r.holdsAsBefore(head, "n"), "a repository without a commit counts")
	in.git("commit", "-q", "--allow-empty", "-m", "nothing")
	check.That(t, r.holdsAsBefore(head, "n"), "a commit of nothing counts")
	in.commit("a.go")
	check.That(t, !r.holdsAsBefore(head, "n"), "a commit of a file does not count")
}

func (r repo) holdsAsBefore(before map[string]string, inside ...string) bool {
	r.t.Helper()
	return SameTrees(r.t.Context(), r.dir, before, Heads(r.t.Context(), r.dir, inside...))
}

// TestALargeFileIsNotCopied: its size and its time are what counts, wherever it is.
func TestALargeFileIsNotCopied(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.write("small", "x", "sub/also", "x")
	r.grow("huge", LargeFile+1)
	r.grow("sub/huge", LargeFile+1)
	r.grow("not-yet", LargeFile)
	r.write("inside/file", "x")
	r.git("init", "-q", "inside")
	r.grow("inside/huge", LargeFile+1)
	taken, err := Take(t.Context(), r.dir, r.objects())
	check.OK(t, err)
	check.Equal(t, "large files", []string{"huge", "inside/huge", "sub/huge"}, taken.Large)
	r.wantFiles(taken.Tree, "huge", "inside/file", "inside/huge", "not-yet", "small", "sub/also", "sub/huge")
	text, err := r.show(taken.Tree, "huge", 1000)
	check.That(t, err == nil && len(text) <= 100, "got %q, %v; want a short description", text, err)
	check.That(t, r.tree() == taken.Tree, "the same files are another tree")
	r.later("huge")
	r.wantChanges(taken.Tree, r.tree(), Change{Path: "huge", Kind: Modified})
	r.grow("sub/huge", LargeFile+2)
	r.later("inside/huge")
	now := r.tree()
	r.wantChanges(taken.Tree, now, Change{Path: "huge", Kind: Modified}, Change{Path: "inside/huge", Kind: Modified}, Change{Path: "sub/huge", Kind: Modified})
	r.remove("huge", "sub/huge")
	r.write("sub/huge", "small now")
	r.wantChanges(now, r.tree(), Change{Path: "huge", Kind: Deleted}, Change{Path: "sub/huge", Kind: Modified})

	sub := filepath.Join(r.dir, "sub")
	r.grow("sub/huge", LargeFile+3)
	below, err := Take(t.Context(), sub, r.objects())
	check.OK(t, err)
	check.Equal(t, "large files of a folder", []string{"huge"}, below.Large)
	r.wantFiles(below.Tree, "also", "huge")
	size := r.stored()
	check.That(t, size <= LargeFile/10, "%d bytes are stored", size)
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
