//go:build linux

package acp

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"ralph/internal/seen"
	"ralph/internal/testing/check"
)

func TestReadOnlySession(t *testing.T) {
	t.Parallel()
	b := newBench(t, say(step{Do: "write", Path: "a.txt", Text: "x"}, step{Do: "terminal", Argv: []string{"echo", "ran"}}))
	b.cfg.ReadOnly = true
	b.must(t)
	check.Contains(t, "write", "read-only", b.results(t)["write a.txt"])
	check.Contains(t, "terminals must still work", "ran", b.results(t)["terminal output"])
	check.That(t, !strings.Contains(b.transcript.String(), `"writeTextFile":true`), "the agent was offered to write")
	if _, err := os.Stat(filepath.Join(b.cfg.Dir, "a.txt")); err == nil {
		t.Error("the file was written")
	}
}

// attacked is a project with everything in it that leads somewhere else.
func attacked(t *testing.T) (dir, secret string) {
	t.Helper()
	dir, out := t.TempDir(), t.TempDir()
	secret = filepath.Join(out, "secret")
	for path, text := range map[string]string{secret: "secret", dir + "/ok.txt": "ok", dir + "/.ralph.toml": "", dir + "/bin": "\xff\xfe"} {
		check.OK(t, os.WriteFile(path, []byte(text), 0o640))
	}
	for _, folder := range []string{".git/hooks", ".ralph/runs", "sub"} {
		check.OK(t, os.MkdirAll(filepath.Join(dir, folder), 0o755))
	}
	for name, target := range map[string]string{
		"out": out, "file-out": secret, "up": "../..", "to-ralph": ".ralph", "to-runs": ".ralph/runs", "to-git": "sub/../.git",
		"loop": "loop", "to-ok": "ok.txt", "abs-ok": filepath.Join(dir, "ok.txt"), "sub/to-hooks": "../.git/hooks", "dangling": "not/yet.txt",
		"to-toml": ".ralph.toml", "sub/to-moved": "../moved",
	} {
		check.OK(t, os.Symlink(target, filepath.Join(dir, name)))
	}
	check.OK(t, syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o644))
	check.OK(t, os.Link(filepath.Join(dir, ".ralph.toml"), filepath.Join(dir, "hard-toml")))
	huge, err := os.Create(filepath.Join(dir, "huge"))
	check.OK(t, err)
	defer huge.Close()
	check.OK(t, huge.Truncate(1<<40))
	return dir, secret
}

func TestReadAttacks(t *testing.T) {
	t.Parallel()
	dir, secret := attacked(t)
	f := mustFiles(t, dir)
	around := dir + "/../" + filepath.Base(filepath.Dir(secret)) + "/secret"
	for path, want := range map[string]string{
		"../x": "outside", "/etc/passwd": "outside", secret: "outside", "out/secret": "outside", "file-out": "outside", "up/etc": "outside",
		around: "outside", "fifo": "not a regular", "sub": "not a regular", ".": "not a regular", "huge": "too large", "bin": "not UTF-8",
		"": "outside", "a\x00b": "outside", "loop": "too many", "none": "no such file",
	} {
		if text, err := f.read(path, 0, 0); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("read %q: got %q, %v, want %q", path, text, err, want)
		}
	}
}

// What the sandbox hides is not read on behalf of the agent either.
func TestHiddenFilesAreNotRead(t *testing.T) {
	t.Parallel()
	dir, _ := attacked(t)
	for path, text := range map[string]string{"keys/one": "secret", "keys.txt": "ok", "token": "secret"} {
		path = filepath.Join(dir, path)
		check.OK(t, os.MkdirAll(filepath.Dir(path), 0o755))
		check.OK(t, os.WriteFile(path, []byte(text), 0o600))
	}
	for name, target := range map[string]string{"to-keys": "keys", "to-token": "token"} {
		check.OK(t, os.Symlink(target, filepath.Join(dir, name)))
	}
	check.OK(t, os.Link(filepath.Join(dir, "token"), filepath.Join(dir, "hard-token")))
	f := mustFiles(t, dir)
	f.hidden = []string{filepath.Join(dir, "keys"), filepath.Join(dir, "token"), filepath.Join(dir, "missing")}
	for _, path := range []string{"keys/one", "to-keys/one", "sub/../keys/one", "token", "to-token", "hard-token", filepath.Join(dir, "token")} {
		if text, err := f.read(path, 0, 0); err == nil || !strings.Contains(err.Error(), "hidden by ralph") {
			t.Errorf("read %q: got %q, %v", path, text, err)
		}
	}
	for _, path := range []string{"keys.txt", "ok.txt", "to-ok"} {
		if text, err := f.read(path, 0, 0); err != nil || text != "ok" {
			t.Errorf("read %q: got %q, %v", path, text, err)
		}
	}
}

func TestWriteAttacks(t *testing.T) {
	t.Parallel()
	dir, secret := attacked(t)
	f := mustFiles(t, dir, ".ralph", filepath.Join(dir, ".ralph.toml"), ".git", "settings/ralph.toml")
	// Moved after the session began, to be moved back later.
	check.OK(t, os.Rename(filepath.Join(dir, ".git"), filepath.Join(dir, "moved")))
	for path, want := range map[string]string{
		"../x": "outside", "/tmp/x": "outside", "out/x": "outside", "file-out": "outside", "up/x": "outside", "loop": "outside", "abs-ok": "outside",
		".ralph/x": "protected", ".RALPH/x": "protected", "to-ralph/x": "protected", "to-runs/x": "protected", ".ralph": "protected",
		".git/hooks/x": "protected", ".git/config": "protected", "to-git/config": "protected", "to-git/hooks/x": "protected",
		"sub/to-hooks/x": "protected", ".git": "protected", ".git/../.git/config": "protected", ".git/index": "protected",
		".ralph.toml": "protected", ".Ralph.TOML": "protected", "to-toml": "protected", "hard-toml": "protected", "settings/ralph.toml": "protected",
		"new/.git/hooks/x": "protected", "sub/.GIT/config": "protected", "sub/.git": "protected",
		"moved/hooks/x": "protected", "sub/to-moved/hooks/x": "protected",
		"fifo": "not a regular", "sub": "not a regular", ".": "outside", "": "outside", "ok.txt/x": "not a regular",
	} {
		if _, err := f.write(path, "evil"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("write %q: got %v, want %q", path, err, want)
		}
	}
	for path, want := range map[string]string{
		"ok.txt": "ok.txt", dir + "/ok.txt": "ok.txt", "to-ok": "ok.txt", "a/b/c.txt": "a/b/c.txt",
		".github/x": ".github/x", ".gitignore": ".gitignore", "sub/.ralph.toml": "sub/.ralph.toml", "dangling": "not/yet.txt",
	} {
		if got, err := f.write(path, "new "+path); err != nil || got != want {
			t.Errorf("write %q: got %q, %v, want %q", path, got, err, want)
		} else if text, err := f.read(path, 0, 0); err != nil || text != "new "+path {
			t.Errorf("read back %q: got %q, %v", path, text, err)
		}
	}
	if info, err := os.Stat(dir + "/ok.txt"); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the mode was not kept: %v, %v", info, err)
	}
	if raw, _ := os.ReadFile(secret); string(raw) != "secret" {
		t.Errorf("the file outside was changed: %q", raw)
	}
	filepath.WalkDir(dir, func(path string, _ os.DirEntry, _ error) error {
		check.That(t, !strings.HasSuffix(path, ".tmp"), "left behind: %s", path)
		return nil
	})
}

// What is protected and does not exist yet cannot be made either.
func TestProtectedBeforeItExists(t *testing.T) {
	t.Parallel()
	f := mustFiles(t, t.TempDir(), ".ralph", ".ralph.toml", "settings/ralph.toml")
	for _, path := range []string{".ralph", ".ralph/x", ".ralph.toml", "settings", "settings/ralph.toml", ".git", ".git/hooks/x", ".git/config", ".Git/Hooks/x", "new/.git/config"} {
		if _, err := f.write(path, "evil"); err == nil || !strings.Contains(err.Error(), "protected") {
			t.Errorf("write %q: got %v", path, err)
		}
	}
}

func TestReadLines(t *testing.T) {
	t.Parallel()
	const text = "1\n2\n3\n4"
	for name, tc := range map[string]struct {
		line, limit int
		want        string
	}{
		"all": {0, 0, text}, "from the first": {1, 0, text}, "from the third": {3, 0, "3\n4"}, "two": {2, 2, "2\n3\n"},
		"beyond the end": {9, 0, ""}, "more than there are": {4, 9, "4"}, "the first one": {0, 1, "1\n"},
	} {
		if got, err := readLines(strings.NewReader(text), tc.line, tc.limit); err != nil || got != tc.want {
			t.Errorf("%s: got %q, %v, want %q", name, got, err, tc.want)
		}
	}
}

// A folder is swapped for a link that leads out, or to what is protected, again
// and again while we write through it.
func TestSwappedLinks(t *testing.T) {
	t.Parallel()
	dir, out := t.TempDir(), t.TempDir()
	check.OK(t, os.Mkdir(filepath.Join(dir, ".ralph"), 0o755))
	f := mustFiles(t, dir, ".ralph")
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		name := filepath.Join(dir, "swap")
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			os.RemoveAll(name)
			switch i % 3 {
			case 0:
				os.Symlink(out, name)
			case 1:
				os.Symlink(".ralph", name)
			default:
				os.Mkdir(name, 0o755)
			}
			runtime.Gosched()
		}
	}()
	for range 3000 {
		f.write("swap/evil.txt", "evil")
	}
	close(stop)
	<-stopped
	for _, folder := range []string{out, filepath.Join(dir, ".ralph")} {
		if entries, _ := os.ReadDir(folder); len(entries) > 0 {
			t.Errorf("%s: got %v, want nothing written", folder, entries)
		}
	}
}

func mustFiles(t testing.TB, dir string, protected ...string) *files {
	t.Helper()
	f, err := openFiles(dir, seen.Folder{}, protected, []string{".git"}, nil)
	check.OK(t, err)
	t.Cleanup(f.close)
	return f
}

// A folder that becomes a link between the look and the step is not entered.
func TestSwappedBetweenLookAndStep(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, folder := range []string{".ralph", "swap"} {
		check.OK(t, os.Mkdir(filepath.Join(dir, folder), 0o755))
	}
	f := mustFiles(t, dir, ".ralph")
	p := &place{folders: []*os.Root{f.root}}
	seen, err := f.root.Lstat("swap")
	check.OK(t, err)
	check.OK(t, os.Remove(filepath.Join(dir, "swap")))
	check.OK(t, os.Symlink(".ralph", filepath.Join(dir, "swap")))
	if err := p.enter("swap", seen); err == nil {
		p.close()
		t.Error("entered")
	}
}
