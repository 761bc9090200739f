package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestSnapshotSeesAndUndoesEveryChange(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("modes mean something else on Windows")
	}
	outside := tree(t, map[string]string{"victim": "outside"})
	past := time.Unix(1000, 0)
	for name, tc := range map[string]struct {
		do   func(at func(string) string) error
		want []Change
	}{
		"nothing":  {func(func(string) string) error { return nil }, nil},
		"content":  {func(at func(string) string) error { return os.WriteFile(at("a"), []byte("other"), 0) }, []Change{{"a", Content}}},
		"the size": {func(at func(string) string) error { return os.Truncate(at("a"), 0) }, []Change{{"a", Content}}},
		"content with the old times": {func(at func(string) string) error {
			info, _ := os.Stat(at("a"))
			os.WriteFile(at("a"), []byte("A"), 0)
			return os.Chtimes(at("a"), info.ModTime(), info.ModTime())
		}, []Change{{"a", Content}}},
		"mode":          {func(at func(string) string) error { return os.Chmod(at("a"), 0o755) }, []Change{{"a", Perm}}},
		"times":         {func(at func(string) string) error { return os.Chtimes(at("a"), past, past) }, []Change{{"a", Times}}},
		"folder closed": {func(at func(string) string) error { return os.Chmod(at("sub"), 0) }, nil},
		"added":         {func(at func(string) string) error { return os.WriteFile(at("sub/new"), nil, 0o644) }, []Change{{"sub", Times}, {"sub/new", Added}}},
		"added, closed": {func(at func(string) string) error { os.MkdirAll(at("new/x/y"), 0o755); return os.Chmod(at("new/x"), 0) }, nil},
		"removed":       {func(at func(string) string) error { return os.RemoveAll(at("sub")) }, []Change{{".", Times}, {"sub", Removed}, {"sub/b", Removed}, {"sub/c", Removed}}},
		"renamed":       {func(at func(string) string) error { return os.Rename(at("a"), at("z")) }, []Change{{".", Times}, {"a", Removed}, {"z", Added}}},
		"link changed":  {func(at func(string) string) error { os.Remove(at("link")); return os.Symlink("sub", at("link")) }, []Change{{".", Times}, {"link", Replaced}}},
		"file to folder": {
			func(at func(string) string) error { os.Remove(at("a")); return os.MkdirAll(at("a/x"), 0o755) },
			[]Change{{".", Times}, {"a", Replaced}, {"a/x", Added}},
		},
		"folder to a link out": {
			func(at func(string) string) error { os.RemoveAll(at("sub")); return os.Symlink(outside, at("sub")) },
			[]Change{{".", Times}, {"sub", Replaced}, {"sub/b", Removed}, {"sub/c", Removed}},
		},
		"a hard link to the outside": {
			func(at func(string) string) error { os.Remove(at("a")); return os.Link(outside+"/victim", at("a")) },
			[]Change{{".", Times}, {"a", Content}},
		},
		"what is left out": {func(at func(string) string) error { return os.WriteFile(at("skip/x"), nil, 0o644) }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := tree(t, map[string]string{"a": "a", "sub/b": "b", "sub/c": "", "skip/s": "s", ".git/index": "index"})
			at := func(name string) string { return filepath.Join(dir, name) }
			if err := os.Symlink("a", at("link")); err != nil {
				t.Fatal(err)
			}
			os.Chtimes(dir, past, past)
			os.Chtimes(at("sub"), past, past)
			os.Chtimes(at("a"), past, past.Add(time.Nanosecond))
			s, err := Snapshot(dir, t.TempDir(), "skip")
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			before, err := s.list()
			if err != nil {
				t.Fatal(err)
			}
			if err := tc.do(at); err != nil {
				t.Fatal(err)
			}
			got, err := s.Changed()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" && tc.want != nil {
				t.Error(diff)
			}
			if err := s.Restore(); err != nil {
				t.Fatal(err)
			}
			if left, err := s.Changed(); err != nil || len(left) > 0 {
				t.Errorf("after restoring: %v, %v", left, err)
			}
			after, err := s.list()
			if err != nil || len(after) != len(before) {
				t.Errorf("got %d entries, %v, want %d", len(after), err, len(before))
			}
			if raw, _ := os.ReadFile(at("a")); string(raw) != "a" {
				t.Errorf("content is %q", raw)
			}
			if raw, _ := os.ReadFile(outside + "/victim"); string(raw) != "outside" {
				t.Errorf("restoring wrote outside: %q", raw)
			}
		})
	}
}

func TestSnapshotKeepsHardLinksTogether(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"a": "text"})
	if err := os.Link(dir+"/a", dir+"/b"); err != nil {
		t.Skipf("no hard links here: %v", err)
	}
	s, err := Snapshot(dir, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	os.WriteFile(dir+"/a", []byte("in place"), 0o644)
	if err := s.Restore(); err != nil {
		t.Fatal(err)
	}
	a, _ := os.Stat(dir + "/a")
	b, _ := os.Stat(dir + "/b")
	if raw, _ := os.ReadFile(dir + "/b"); string(raw) != "text" || runtime.GOOS == "linux" && !os.SameFile(a, b) {
		t.Errorf("got %q, linked %v, want the text and the link", raw, os.SameFile(a, b))
	}
}

func TestSnapshotLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	dir, temp := tree(t, map[string]string{"a": "text"}), t.TempDir()
	s, err := Snapshot(dir, temp)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(temp); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

func TestProtectedTellsWhatWasTamperedWith(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		".ralph.toml": "config", ".ralph/knowledge/x.md": "x", ".ralph/progress.db": "db", ".git/hooks/pre-push": "hook", ".git/config": "c", "code": "code",
	})
	at := func(name string) string { return filepath.Join(dir, name) }
	f, err := Protected(dir, []string{".ralph", ".ralph.toml", ".git/hooks", ".git/config", ".git/config.worktree"}, []string{".ralph/progress.db*", ".ralph/runs"})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".ralph/progress.db", ".ralph/progress.db-wal", "code"} {
		os.WriteFile(at(name), []byte("ours"), 0o644)
	}
	os.MkdirAll(at(".ralph/runs/1"), 0o755)
	if got, err := f.Changed(); err != nil || len(got) > 0 {
		t.Errorf("got %v, %v, want nothing", got, err)
	}
	os.WriteFile(at(".git/hooks/pre-commit"), nil, 0o755)
	os.WriteFile(at(".git/config.worktree"), nil, 0o644)
	os.WriteFile(at(".ralph.toml"), []byte("other!"), 0o644)
	os.Remove(at(".ralph/knowledge/x.md"))
	got, err := f.Changed()
	want := []Change{{".git/config.worktree", Added}, {".git/hooks/pre-commit", Added}, {".ralph.toml", Content}, {".ralph/knowledge/x.md", Removed}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
}

// TestWhatMayLeaveMayNotChange: that all of it is gone is fine, half of it is not.
func TestWhatMayLeaveMayNotChange(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		do   func(dir string) error
		want []Change
	}{
		"nothing":        {func(string) error { return nil }, nil},
		"it is gone":     {os.RemoveAll, nil},
		"a file is gone": {func(dir string) error { return os.Remove(dir + "/config") }, []Change{{"config", Removed}}},
		"a file instead": {func(dir string) error { return errors.Join(os.RemoveAll(dir), os.WriteFile(dir, nil, 0o600)) }, []Change{{"config", Removed}}},
		"another instead": {func(dir string) error {
			return errors.Join(os.Rename(dir, dir+"2"), os.MkdirAll(dir+"/hooks/x", 0o700))
		}, []Change{{"config", Removed}, {"hooks", Added}, {"hooks/x", Added}}},
	} {
		dir := filepath.Join(tree(t, map[string]string{"git/config": "x"}), "git")
		f, err := Leavable(dir, []string{"hooks", "config"})
		if err != nil {
			t.Fatal(err)
		}
		if err := tt.do(dir); err != nil {
			t.Fatal(err)
		}
		got, err := f.Changed()
		if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
			t.Error(name, err, diff)
		}
	}
}
