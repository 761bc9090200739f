package git

import (
	"bytes"
	"compress/zlib"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ralph/internal/testing/check"
)

func (r repo) trees() Trees { return Trees{Dir: r.dir} }

// tree is that of the files as they are.
func (r repo) tree() string {
	r.t.Helper()
	r.git("add", "-A")
	return r.git("write-tree")
}

func (r repo) wantChanges(from, to string, want ...Change) {
	r.t.Helper()
	d, err := r.trees().Compare(r.t.Context(), from, to, 0)
	check.OK(r.t, err)
	check.Equal(r.t, "changes", want, d.Changes)
}

func (r repo) remove(names ...string) {
	r.t.Helper()
	for _, name := range names {
		check.OK(r.t, os.RemoveAll(filepath.Join(r.dir, name)))
	}
}

func (r repo) patch(from, to string, limit int) (string, bool) {
	r.t.Helper()
	d, err := r.trees().Compare(r.t.Context(), from, to, limit)
	check.OK(r.t, err)
	return d.Patch, d.Cut
}

func (r repo) show(tree, path string, limit int) (string, error) {
	r.t.Helper()
	_, after, end := r.trees().Contents(r.t.Context(), tree, tree, limit)
	defer end()
	data, err := after(path)
	return string(data), err
}

func (r repo) wantText(tree, path, want string) {
	r.t.Helper()
	got, err := r.show(tree, path, 100)
	check.OK(r.t, err)
	check.Equal(r.t, path, want, got)
}

func TestAPatchIsForReading(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.write("a.txt", "one\ntwo\n", "b.bin", "x\x00y", "ü.txt", "x\n")
	// nothing hides a text, and nobody's taste changes the format
	r.write(".gitattributes", "*.txt binary\n")
	r.git("config", "diff.noprefix", "true")
	r.git("config", "color.ui", "always")
	before := r.tree()
	r.write("a.txt", "one\n2\n", "b.bin", "x\x00z", "ü.txt", "\xff\n")
	after := r.tree()
	want := `diff --git a/a.txt b/a.txt
index 814f4a4..99b356d 100644
--- a/a.txt
+++ b/a.txt
@@ -1,2 +1,2 @@
 one
-two
+2
diff --git a/b.bin b/b.bin
index d5d0b8b..4a27031 100644
Binary files a/b.bin and b/b.bin differ
diff --git a/ü.txt b/ü.txt
index 587be6b..29e181e 100644
--- a/ü.txt
+++ b/ü.txt
@@ -1 +1 @@
-x
+?
`
	text, cut := r.patch(before, after, 1<<20)
	diff := cmp.Diff(want, text)
	check.That(t, !cut && diff == "", "patch differs, cut %v (-want +got):\n%s", cut, diff)
	for limit := 1; limit < len(want); limit++ {
		text, cut := r.patch(before, after, limit)
		if !cut || !strings.HasPrefix(want, text) || (text != "" && !strings.HasSuffix(text, "\n")) || len(text) > limit {
			t.Fatalf("at most %d bytes: got %q, cut %v", limit, text, cut)
		}
		if limit > 20 {
			break
		}
	}
}

// TestALargePatchIsCut, and git is not left to write the rest.
func TestALargePatchIsCut(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	before := r.tree()
	r.write("a.txt", strings.Repeat("a line of many\n", 300_000))
	text, cut := r.patch(before, r.tree(), 10_000)
	if !cut || len(text) > 10_000 || len(text) < 9_900 || !strings.HasSuffix(text, "\n+a line of many\n") {
		t.Errorf("got %d bytes, cut %v", len(text), cut)
	}
}

// TestLinesAreCountedPastTheCut: a file that fills the patch hides no other.
func TestLinesAreCountedPastTheCut(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.write("b.txt", strings.Repeat("line\n", 30), "c.txt", "1\n2\n", "d.bin", "x\x00y\n", "link", "1\n2\n")
	before := r.tree()
	r.git("rm", "-q", "--cached", "--ignore-unmatch", "b.txt")
	check.OK(t, os.Rename(filepath.Join(r.dir, "b.txt"), filepath.Join(r.dir, "moved.txt")))
	check.OK(t, os.Remove(filepath.Join(r.dir, "link")))
	check.OK(t, os.Symlink("c.txt", filepath.Join(r.dir, "link")))
	r.write("a.json", strings.Repeat("x", 500)+"\n", "c.txt", "1\n3\n4\n", "d.bin", "x\x00z\n", "moved.txt", strings.Repeat("line\n", 30)+"more\n")
	d, err := r.trees().Compare(t.Context(), before, r.tree(), 100)
	check.OK(t, err)
	check.That(t, d.Cut, "the patch is whole: %s", d.Patch)
	lines := map[string]int{}
	for _, c := range d.Changes {
		lines[c.Path] = c.Lines()
	}
	check.Equal(t, "lines", map[string]int{"a.json": 1, "c.txt": 3, "d.bin": 0, "moved.txt": 1, "link": 3}, lines)
}

func TestContentsAreThoseOfTheTrees(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	odd := "odd\n:na me.txt"
	r.write(odd, "a\r\nb\x00", "sub/empty", "")
	tree := r.tree()
	r.write(odd, "later")
	got, err := r.show(tree, odd, 5)
	check.That(t, err == nil && got == "a\r\nb\x00", "got %q, %v", got, err)
	if got, err := r.show(tree, "sub/empty", 0); err != nil || got != "" {
		t.Errorf("got %q, %v", got, err)
	}
	_, err = r.show(tree, odd, 4)
	check.That(t, errors.Is(err, ErrTooLarge), "got %v, want ErrTooLarge", err)
	read, _, end := r.trees().Contents(t.Context(), tree, tree, 100)
	defer end()
	for _, path := range []string{"none", "no\n\nne", "", ".", "../" + odd} {
		got, err := read(path)
		check.That(t, errors.Is(err, fs.ErrNotExist), "%q: got %q and %v, want fs.ErrNotExist", path, got, err)
	}
	_, err = read("sub")
	check.That(t, err != nil && !errors.Is(err, fs.ErrNotExist), "a folder: got %v", err)
	got2, err := read(odd)
	check.That(t, err == nil && string(got2) == "a\r\nb\x00", "after those that are missing: got %q, %v", got2, err)
}

// TestOneFileThatCannotBeReadHidesNoOther: a large one, or a damaged object, at which
// git gives up.
func TestOneFileThatCannotBeReadHidesNoOther(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.write("a", "old", "b", "old", "large", "x", "moved", "as it was\n")
	from := r.tree()
	r.remove("moved")
	r.write("a", "new", "b", "damaged", "large", "much too large", "new", "n", "now here", "as it was\n")
	to := r.tree()
	id := r.git("hash-object", "b")
	at := filepath.Join(r.dir, ".git", "objects", id[:2], id[2:])
	check.OK(t, os.Chmod(at, 0o600))
	check.OK(t, os.WriteFile(at, []byte("damaged"), 0o600))
	before, after, end := r.trees().Contents(t.Context(), from, to, 10)
	defer end()
	for range 2 {
		_, err := after("b")
		check.That(t, err != nil, "got no error for a damaged object")
		_, err = after("large")
		check.That(t, errors.Is(err, ErrTooLarge), "got %v, want ErrTooLarge", err)
		for path, want := range map[string][2]string{"a": {"old", "new"}, "new": {"", "n"}, "moved": {"as it was\n", ""}, "now here": {"", "as it was\n"}} {
			old, errOld := before(path)
			now, errNow := after(path)
			check.Equal(t, path, want, [2]string{string(old), string(now)})
			check.That(t, (errOld == nil) == (want[0] != "") && (errNow == nil) == (want[1] != ""), "%s: got %v, %v", path, errOld, errNow)
		}
	}
}

// TestContentsAreNotForged: an agent can put an object into the repository under the
// name of the file that it is about to write.
func TestContentsAreNotForged(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.commit("a.txt")
	r.write("a.txt", "bad")
	id := r.git("hash-object", "a.txt")
	var forged bytes.Buffer
	w := zlib.NewWriter(&forged)
	w.Write([]byte("blob 4\x00good"))
	w.Close()
	r.write(filepath.Join(".git", "objects", id[:2], id[2:]), forged.String())
	got, err := r.show(r.tree(), "a.txt", 100)
	check.That(t, err != nil && strings.Contains(err.Error(), "not what its name says"), "got %q, %v, want it to be refused", got, err)
}

func TestCompareRefusesWhatIsNoTree(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	tree := r.tree()
	for name, id := range map[string]string{"nothing": "", "a name": "HEAD", "an option": "--stdin", "unknown": strings.Repeat("1", 40)} {
		_, err := r.trees().Compare(t.Context(), tree, id, 0)
		check.That(t, err != nil, "%s: got no error", name)
		_, err = r.trees().Compare(t.Context(), id, tree, 100)
		check.That(t, err != nil, "%s: got no error with a patch", name)
	}
	_, err := Trees{Dir: t.TempDir()}.Compare(t.Context(), tree, tree, 0)
	check.That(t, errors.Is(err, ErrUnknown), "got %v outside of a repository, want ErrUnknown", err)
}

// TestEachChangeHasItsPartOfThePatch: also one that git says in two parts, and names that it quotes.
func TestEachChangeHasItsPartOfThePatch(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.write("a.txt", "one\n", "becomes a link", "diff --git a/x b/x\n", "gone", "x\n", "q\tü", "x\n", "renamed", "1\n2\n3\n4\n")
	before := r.tree()
	check.OK(t, errors.Join(os.Remove(filepath.Join(r.dir, "becomes a link")), os.Remove(filepath.Join(r.dir, "gone"))))
	check.OK(t, errors.Join(os.Symlink("a.txt", filepath.Join(r.dir, "becomes a link")), os.Rename(filepath.Join(r.dir, "renamed"), filepath.Join(r.dir, "z b"))))
	r.write("a.txt", "two\n", "q\tü", "y\n", "new", "y\n")
	d, err := r.trees().Compare(t.Context(), before, r.tree(), 1<<20)
	check.OK(t, err)
	want := map[string]string{"a.txt": "+two\n", "becomes a link": "+a.txt\n", "gone": "-x\n", "q\tü": "+y\n", "new": "+y\n", "z b": "rename to z b\n"}
	all := ""
	for _, c := range d.Changes {
		check.Contains(t, c.Path, want[c.Path], c.Patch)
		all += c.Patch
		delete(want, c.Path)
	}
	check.Equal(t, "missing", map[string]string{}, want)
	check.Equal(t, "all of them", d.Patch, all)
}

// TestTreesThatAnOlderRalphStoredAreRead, as long as they are there; what the repository had then, they borrow.
func TestTreesThatAnOlderRalphStoredAreRead(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.commit("a.txt", "sub/b.txt")
	before := r.git("rev-parse", "HEAD^{tree}")
	r.git("init", "-q", "--bare", ".ralph/objects")
	borrow := ".ralph/objects/objects/info/alternates"
	r.write(borrow, filepath.Join(r.dir, ".git", "objects")+"\n", "a.txt", "uncommitted", "c.txt", "untracked")
	r.git("--git-dir=.ralph/objects", "--work-tree=.", "add", "a.txt", "c.txt", "sub")
	after := r.git("--git-dir=.ralph/objects", "write-tree")
	r.remove(borrow)
	r.wantChanges(before, after, Change{Path: "a.txt", Kind: Modified}, Change{Path: "c.txt", Kind: Added})
	r.wantText(after, "c.txt", "untracked")
	files, err := r.trees().Files(t.Context(), after)
	check.OK(t, err)
	check.Equal(t, "files", []string{"a.txt", "c.txt", "sub/b.txt"}, files)
	for _, want := range [][]string{nil, {after}} {
		gone, err := r.trees().Missing(t.Context(), before, after)
		check.OK(t, err)
		check.Equal(t, "missing", want, gone)
		r.remove(".ralph/objects")
	}
}

// TestNothingOfTheRepositoryCountsInADifference, whatever an agent wrote there: no program of its settings runs, no attribute hides a file,
// and the environment leads nowhere else. Nothing is left of it.
func TestNothingOfTheRepositoryCountsInADifference(t *testing.T) {
	r, other := newRepo(t), newRepo(t)
	other.commit("b.txt")
	r.commit("a.txt")
	before := r.tree()
	r.write("a.txt", "changed\n", ".gitattributes", "* diff=evil\n")
	after := r.tree()
	trap, home := filepath.Join(t.TempDir(), "trap"), t.TempDir()
	check.OK(t, os.WriteFile(trap, []byte("#!/bin/sh\n: > '"+trap+".sprung'\ncat\n"), 0o700))
	for key, value := range map[string]string{
		"diff.evil.command": trap, "diff.evil.textconv": trap, "diff.external": trap, "core.pager": trap, "core.fsmonitor": trap, "core.alternateRefsCommand": trap,
	} {
		r.git("config", key, value)
	}
	r.write(".git/info/attributes", "* -diff\n", ".git/index", "damaged")
	settings := filepath.Join(home, ".gitconfig") // which make every text a binary file
	check.OK(t, os.WriteFile(settings, []byte("[core]\n\tbigFileThreshold = 1\n"), 0o600))
	for name, value := range map[string]string{
		"HOME": home, "GIT_CONFIG_GLOBAL": settings, "GIT_DIR": filepath.Join(other.dir, ".git"), "GIT_WORK_TREE": other.dir,
		"GIT_INDEX_FILE": filepath.Join(other.dir, ".git", "index"), "GIT_OBJECT_DIRECTORY": filepath.Join(other.dir, ".git", "objects"),
	} {
		t.Setenv(name, value)
	}
	text, _ := r.patch(before, after, 1000)
	check.Contains(t, "the patch", "+changed\n", text)
	r.wantText(after, "a.txt", "changed\n")
	check.That(t, !exists(trap+".sprung"), "it ran a program of the repository")
	left, err := os.ReadDir(filepath.Join(r.dir, state))
	check.That(t, err == nil && len(left) == 0, "left: %v, %v", left, err)
}

// TestNoFileHidesAnother: each has its part of the patch, up to a limit, and what is cut is marked.
func TestNoFileHidesAnother(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.write("b.bin", "x\x00y", "old.txt", "one\ntwo\nthree\n", "z.go", "a = 1\n")
	before := r.tree()
	r.remove("old.txt")
	r.write("a.json", strings.Repeat("\"many\",\n", 100_000), "b.bin", "x\x00yz", "line.json", strings.Repeat("x", 200_000), "new.txt", "one\ntwo\n3\n", "z.go", "a = 2\n")
	after := r.tree()
	d, err := r.trees().Patches(t.Context(), before, after, 1000)
	check.OK(t, err)
	check.That(t, d.Cut && d.Patch == "", "cut %v, patch %q", d.Cut, d.Patch)
	got := map[string]Change{}
	for _, c := range d.Changes {
		check.That(t, len(c.Patch) <= 1000 && strings.HasPrefix(c.Patch, "diff --git a/"), "%s has %d bytes: %.40q", c.Path, len(c.Patch), c.Patch)
		check.Equal(t, c.Path+" is cut", c.Path == "a.json" || c.Path == "line.json", c.Cut)
		check.Equal(t, c.Path+" is binary", c.Path == "b.bin", c.Binary)
		got[c.Path] = c
	}
	check.That(t, strings.HasSuffix(got["z.go"].Patch, "\n-a = 1\n+a = 2\n"), "z.go: %q", got["z.go"].Patch)
	check.That(t, strings.Contains(got["new.txt"].Patch, "-three\n+3\n") && got["new.txt"].Old == "old.txt", "new.txt: %+v", got["new.txt"])
	check.Equal(t, "lines of a.json", 100_000, got["a.json"].Added)
	sizes, err := r.trees().Sizes(t.Context(), after, []string{"b.bin", "gone", "not\nthere", "line.json"})
	check.OK(t, err)
	check.Equal(t, "sizes", map[string]int64{"b.bin": 4, "line.json": 200_000}, sizes)
	_, err = r.trees().Patches(t.Context(), before, strings.Repeat("1", len(before)), 1000)
	check.That(t, err != nil, "got no error for a tree that is missing")
}
