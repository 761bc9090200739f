package git

import (
	"bytes"
	"compress/zlib"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ralph/internal/testing/check"
)

func (r repo) patch(from, to string, limit int) (string, bool) {
	r.t.Helper()
	text, cut, err := Patch(r.t.Context(), r.dir, r.objects(), from, to, limit)
	check.OK(r.t, err)
	return text, cut
}

func (r repo) show(tree, path string, limit int64) (string, error) {
	r.t.Helper()
	data, err := Show(r.t.Context(), r.dir, r.objects(), tree, path, limit)
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
	for limit := range len(want) {
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

func TestShowReadsAFileOfATree(t *testing.T) {
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
	for name, ask := range map[string][2]string{
		"no such file":   {tree, "none"},
		"a folder":       {tree, "sub"},
		"no such tree":   {strings.Repeat("0", 40), odd},
		"not a tree":     {"HEAD", odd},
		"an option":      {"--all", odd},
		"an empty name":  {tree, ""},
		"a name outside": {tree, "../" + odd},
	} {
		if got, err := r.show(ask[0], ask[1], 100); err == nil {
			t.Errorf("%s: got %q and no error", name, got)
		}
	}
}

// TestShowIsNotDeceived: an agent can put an object into the repository under the
// name of the file that it is about to write.
func TestShowIsNotDeceived(t *testing.T) {
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
		_, err := Compare(t.Context(), r.dir, r.objects(), tree, id)
		check.That(t, err != nil, "%s: got no error", name)
		_, _, err = Patch(t.Context(), r.dir, r.objects(), id, tree, 100)
		check.That(t, err != nil, "%s: got no error from Patch", name)
	}
	_, err := Compare(t.Context(), t.TempDir(), r.objects(), tree, tree)
	check.That(t, errors.Is(err, ErrUnknown), "got %v outside of a repository, want ErrUnknown", err)
}

// TestWhatWasUncommittedIsKeptByUs, whatever becomes of it in the repository.
func TestWhatWasUncommittedIsKeptByUs(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.commit("a.txt")
	r.write("a.txt", "uncommitted", "b.txt", "untracked")
	before := r.tree()
	r.git("add", "-A", "--", ":(exclude).state")
	r.git("reset", "-q", "--hard")
	r.git("gc", "-q", "--prune=now")
	if _, err := os.Stat(filepath.Join(r.dir, "b.txt")); err == nil {
		t.Fatal("b.txt is still there")
	}
	r.wantChanges(before, r.tree(), Change{Path: "a.txt", Kind: Modified}, Change{Path: "b.txt", Kind: Deleted})
	r.wantText(before, "b.txt", "untracked")
}
