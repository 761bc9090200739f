package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"ralph/internal/testing/check"
)

// fill writes files into a folder, and returns it.
func fill(t testing.TB, dir string, files map[string]string) string {
	t.Helper()
	for name, text := range files {
		name = filepath.Join(dir, name)
		check.OK(t, os.MkdirAll(filepath.Dir(name), 0o755))
		check.OK(t, os.WriteFile(name, []byte(text), 0o644))
	}
	return dir
}

func TestProtectedTellsWhatWasTamperedWith(t *testing.T) {
	t.Parallel()
	dir := fill(t, t.TempDir(), map[string]string{
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
	wantChanged(t, "what ralph writes", f)
	os.WriteFile(at(".git/hooks/pre-commit"), nil, 0o755)
	os.WriteFile(at(".git/config.worktree"), nil, 0o644)
	os.WriteFile(at(".ralph.toml"), []byte("other!"), 0o644)
	os.Remove(at(".ralph/knowledge/x.md"))
	wantChanged(t, "tampered with", f, Change{".git/config.worktree", Added}, Change{".git/hooks/pre-commit", Added},
		Change{".ralph.toml", Content}, Change{".ralph/knowledge/x.md", Removed})
}

// wantChanged compares what has changed, by names below the folder of the fingerprint.
func wantChanged(t *testing.T, what string, f *Fingerprint, want ...Change) {
	t.Helper()
	got, err := f.Changed()
	check.OK(t, err)
	for i := range want {
		want[i].Path = filepath.Join(f.path, want[i].Path)
	}
	check.Equal(t, what, want, got)
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
		dir := filepath.Join(fill(t, t.TempDir(), map[string]string{"git/config": "x"}), "git")
		f, err := fingerprint(guard{path: dir, names: []string{"hooks", "config"}, mayGo: true})
		check.OK(t, err)
		check.OK(t, tt.do(dir))
		wantChanged(t, name, f, tt.want...)
	}
}
