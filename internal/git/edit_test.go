package git

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ralph/internal/testing/check"
)

// edited is the tree with edits, and what of it differs from tree, as files in a folder.
func (r repo) edited(base, tree string, edits ...Edit) (id, folder string, gone []string) {
	r.t.Helper()
	id, err := Edited(r.t.Context(), r.dir, r.objects(), base, tree, edits)
	check.OK(r.t, err)
	folder = r.t.TempDir()
	gone, err = Extract(r.t.Context(), r.dir, r.objects(), tree, id, folder)
	check.OK(r.t, err)
	return id, folder, gone
}

func TestATreeIsEdited(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"sha1", "sha256", "sha1 in a subfolder"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			r := repo{t, t.TempDir()}
			format, below := strings.CutSuffix(format, " in a subfolder")
			r.git("init", "-q", "-b", "main", "--object-format="+format)
			if below {
				r.write("sub/src.txt", "", "outside_test.txt", "")
				r.dir = filepath.Join(r.dir, "sub")
			}
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
			id, folder, gone := r.edited(base, work, edits...)
			wantChanges := []string{"mixed.json", "moved.txt", "src.txt"} // from base
			for i, c := range r.compare(base, id) {
				check.That(t, i < len(wantChanges) && c.Path == wantChanges[i], "got %v changed from base", c)
			}
			check.Equal(t, "removed from the work", []string{"flat/deep/y.txt", "new_test.txt", "tests"}, gone)
			for name, want := range map[string]string{"a_test.txt": "old", "odd\n\"na\\me\".txt": "old", "binary": "\x00\xff\n", "mixed.json": "both", "tests/x.txt": "old", "flat": "old"} {
				got, err := os.ReadFile(filepath.Join(folder, name))
				check.That(t, err == nil && string(got) == want, "got %q, %v in %q; want %q", got, err, name, want)
			}
			_, err := os.Stat(filepath.Join(folder, "src.txt"))
			check.That(t, errors.Is(err, fs.ErrNotExist), "got %v for what is part of the work", err)
			info, err := os.Stat(filepath.Join(folder, "run.sh"))
			check.That(t, err == nil && info.Mode().Perm()&0o100 != 0, "got %v, %v; want an executable", info, err)
			to, err := os.Readlink(filepath.Join(folder, "link"))
			check.That(t, err == nil && to == "src.txt", "got a link to %q, %v", to, err)
			same, _, gone := r.edited(base, work)
			check.That(t, same == work && len(gone) == 0, "got %s, %v without edits; want %s", same, gone, work)
		})
	}
}

// TestFilesOfARepositoryInsideAreEdited, as those of any folder. Of one that counts by its commit nobody has the files.
func TestFilesOfARepositoryInsideAreEdited(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.commit("a.txt")
	in := r.init("inside")
	in.commit("b_test.txt")
	base := r.tree()
	in.write("b_test.txt", "weaker")
	_, folder, _ := r.edited(base, r.tree(), Edit{Path: "inside/b_test.txt", From: "inside/b_test.txt"})
	got, err := os.ReadFile(filepath.Join(folder, "inside", "b_test.txt"))
	check.That(t, err == nil && string(got) == "text of b_test.txt\n", "got %q, %v", got, err)

	link := func(commit string) string {
		work := r.tree()
		s, err := openStore(t.Context(), r.dir, r.objects())
		check.OK(t, err)
		env := []string{"GIT_INDEX_FILE=" + filepath.Join(t.TempDir(), "index")}
		for _, args := range [][]string{{"read-tree", work}, {"update-index", "--add", "--cacheinfo", Gitlink + "," + commit + ",other"}} {
			_, err = s.git(t.Context(), env, nil, args...)
			check.OK(t, err)
		}
		id, err := s.git(t.Context(), env, nil, "write-tree")
		check.OK(t, err)
		return id[:len(id)-1]
	}
	was, is := link(in.commit("c.txt")), link(in.commit("d.txt"))
	id, err := Edited(t.Context(), r.dir, r.objects(), was, is, []Edit{{Path: "other", From: "other"}})
	check.OK(t, err)
	_, err = Extract(t.Context(), r.dir, r.objects(), is, id, t.TempDir())
	check.Equal(t, "what is not known", error(Described{"other"}), err)
}

func TestWhatIsGoneCannotBeRestored(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.write("a_test.txt", "old")
	base := r.tree()
	r.write("a_test.txt", "new")
	work := r.tree()
	check.OK(t, os.RemoveAll(r.objects()))
	_ = r.tree()
	_, err := Edited(t.Context(), r.dir, r.objects(), base, work, []Edit{{Path: "a_test.txt", From: "a_test.txt"}})
	check.That(t, err != nil, "got no error for a base that is gone")
}

// TestALargeFileIsNotRestored: only its size and time are known.
func TestALargeFileIsNotRestored(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.write("data", "", "more", "")
	check.OK(t, os.Truncate(filepath.Join(r.dir, "data"), LargeFile+1))
	check.OK(t, os.Truncate(filepath.Join(r.dir, "more"), LargeFile+1))
	base := r.tree()
	r.write("data", "small", "more", "small")
	work := r.tree()
	id, err := Edited(t.Context(), r.dir, r.objects(), base, work, []Edit{{Path: "data", From: "data"}, {Path: "more", From: "more"}})
	check.OK(t, err)
	_, err = Extract(t.Context(), r.dir, r.objects(), work, id, t.TempDir())
	check.Equal(t, "what is not known", error(Described{"data", "more"}), err)
}

// TestWhatIsPutBackIsNewer than anything that was made of it, by whole seconds; links lead nowhere else.
func TestWhatIsPutBackIsNewer(t *testing.T) {
	t.Parallel()
	folder, outside := t.TempDir(), t.TempDir()
	now := time.Now()
	for _, file := range []string{filepath.Join(folder, "put"), filepath.Join(folder, "other"), filepath.Join(outside, "file")} {
		check.OK(t, os.WriteFile(file, nil, 0o600))
		check.OK(t, os.Chtimes(file, now, now))
	}
	check.OK(t, os.Symlink(filepath.Join(outside, "file"), filepath.Join(folder, "link")))
	check.OK(t, Later(folder, []Edit{{Path: "put", From: "put"}, {Path: "link", From: "link"}, {Path: "gone"}}))
	for file, want := range map[string]bool{filepath.Join(folder, "put"): true, filepath.Join(folder, "other"): false, filepath.Join(outside, "file"): false} {
		info, err := os.Stat(file)
		check.OK(t, err)
		check.That(t, info.ModTime().After(now.Add(time.Minute)) == want, "%s is from %s", file, info.ModTime())
	}
}
