package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ralph/internal/testing/check"
)

func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		name = filepath.Join(dir, name)
		check.OK(t, os.MkdirAll(filepath.Dir(name), 0o755))
		check.OK(t, os.WriteFile(name, []byte(text), 0o644))
	}
	return dir
}

func TestProtectedTellsWhatWasTamperedWith(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		".ralph.toml": "config", ".ralph/knowledge/x.md": "x", ".ralph/progress.db": "db", ".git/hooks/pre-push": "hook", ".git/config": "c", "code": "code",
	})
	at := func(name string) string { return filepath.Join(dir, name) }
	f, err := fingerprint(guard{
		path: dir, names: []string{".ralph", ".ralph.toml", ".git/hooks", ".git/config", ".git/config.worktree"}, skip: []string{".ralph/progress.db*", ".ralph/runs"},
	})
	check.OK(t, err)
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
		f, err := fingerprint(guard{path: dir, names: []string{"hooks", "config"}, mayGo: true})
		check.OK(t, err)
		check.OK(t, tt.do(dir))
		got, err := f.Changed()
		if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
			t.Error(name, err, diff)
		}
	}
}
