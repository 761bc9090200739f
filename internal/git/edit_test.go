package git

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ralph/internal/testing/check"
)

func TestATreeIsEdited(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"sha1", "sha256"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			r := repo{t, t.TempDir()}
			r.git("init", "-q", "-b", "main", "--object-format="+format)
			r.write("src.txt", "old", "a_test.txt", "old", "gone_test.txt", "old", "same_test.txt", "old", "odd\n\"na\\me\".txt", "old", "mixed.json", "old")
			r.write("binary", "\x00\xff\n", "run.sh", "old", "tests/x.txt", "old", "flat", "old")
			check.OK(t, os.Chmod(filepath.Join(r.dir, "run.sh"), 0o700))
			check.OK(t, os.Symlink("src.txt", filepath.Join(r.dir, "link")))
			base := r.tree()
			r.remove("gone_test.txt", "link", "tests", "flat")
			r.write("src.txt", "new", "a_test.txt", "new", "new_test.txt", "new", "odd\n\"na\\me\".txt", "new", "mixed.json", "new", "binary", "text", "link", "a file")
			r.write("run.sh", "new", "flat/deep/y.txt", "new")
			check.OK(t, os.Chmod(filepath.Join(r.dir, "run.sh"), 0o600))
			check.OK(t, os.Symlink("/", filepath.Join(r.dir, "tests"))) // which leads out, and is no folder of the tree
			work := r.tree()
			edits := []Edit{{Path: "new_test.txt"}, {Path: "mixed.json", Content: []byte("both")}, {Path: "never"}, {Path: "moved.txt", From: "same_test.txt"}}
			for _, name := range []string{"a_test.txt", "gone_test.txt", "same_test.txt", "odd\n\"na\\me\".txt", "binary", "run.sh", "link", "tests/x.txt", "flat", "never there"} {
				edits = append(edits, Edit{Path: name, From: name})
			}
			repo, err := OpenRepo(t.Context(), r.dir)
			check.OK(t, err)
			git := repo.Plumbing(t.Context(), Call{Index: filepath.Join(t.TempDir(), "index"), WorkTree: r.dir})
			id, err := EditTree(git, base, work, edits)
			check.OK(t, err)
			r.wantChanges(base, id, Change{Path: "mixed.json", Kind: Modified}, Change{Path: "moved.txt", Kind: Added}, Change{Path: "src.txt", Kind: Modified})
			for name, want := range map[string]string{"a_test.txt": "old", "odd\n\"na\\me\".txt": "old", "binary": "\x00\xff\n", "mixed.json": "both", "tests/x.txt": "old", "flat": "old", "src.txt": "new"} {
				r.wantText(id, name, want)
			}
			modes, err := r.trees().Modes(t.Context(), id)
			check.OK(t, err)
			check.Equal(t, "modes", []string{"100755", "120000"}, []string{modes["run.sh"], modes["link"]})
			same, err := EditTree(git, base, work, nil)
			check.That(t, err == nil && same == work, "got %s, %v without edits; want %s", same, err, work)
			_, err = EditTree(git, strings.Repeat("1", len(base)), work, edits)
			check.That(t, err != nil, "got no error for a base that is gone")
		})
	}
}

// TestWhatIsPutBackHasOrdinaryTimes, and never the second of what was there before: Python knows a source by that and its size.
func TestWhatIsPutBackHasOrdinaryTimes(t *testing.T) {
	t.Parallel()
	folder, outside := t.TempDir(), t.TempDir()
	now := time.Unix(1_700_000_000, 700_000_000)
	write := func(at time.Time, files ...string) {
		t.Helper()
		for _, file := range files {
			check.OK(t, os.WriteFile(file, nil, 0o600))
			check.OK(t, os.Chtimes(file, at, at))
		}
	}
	in := func(name string) string { return filepath.Join(folder, name) }
	edits := []Edit{{Path: "put", From: "put"}, {Path: "slow", From: "slow"}, {Path: "new", From: "new"}, {Path: "link", From: "link"}, {Path: "gone"}}
	write(now.Add(-time.Second/2), in("put"), in("other"), in("gone"))
	write(now.Add(-time.Minute), in("slow"))
	check.OK(t, os.Symlink(filepath.Join(outside, "file"), in("link")))
	before, err := Written(folder, edits)
	check.OK(t, err)
	check.OK(t, os.Remove(in("gone")))
	write(now, in("put"), in("slow"), in("new"), filepath.Join(outside, "file"))
	check.OK(t, Later(folder, edits, before))
	for file, want := range map[string]time.Time{
		in("put"): time.Unix(1_700_000_001, 0), in("slow"): now, in("new"): now, in("other"): now.Add(-time.Second / 2), filepath.Join(outside, "file"): now,
	} {
		info, err := os.Stat(file)
		check.OK(t, err)
		check.That(t, info.ModTime().Equal(want), "%s is from %s, want %s", file, info.ModTime(), want)
	}
}
