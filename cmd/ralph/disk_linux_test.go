package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// sandboxedRalph copies the test binary, as ralph, to where any user can run it.
func sandboxedRalph(t *testing.T) (dir, bin string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "ralph-disk-") //nolint:usetesting // another user must be able to enter it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin = filepath.Join(dir, "ralph")
	in, err := os.Open(self)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(bin, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	return dir, bin
}

func exitOf(t *testing.T, cmd *exec.Cmd) (int, string) {
	t.Helper()
	var errs bytes.Buffer
	cmd.Stderr = &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%v: %v", cmd.Args, err)
	}
	return cmd.ProcessState.ExitCode(), errs.String()
}

func TestReadOnlyFolderIsRefusedToAnOrdinaryUser(t *testing.T) {
	t.Parallel()
	dir, bin := sandboxedRalph(t)
	project := filepath.Join(dir, "project")
	if err := os.Mkdir(project, 0o755); err != nil {
		t.Fatal(err)
	}
	setUp := exec.CommandContext(t.Context(), bin, "init")
	setUp.Dir = project
	if status, text := exitOf(t, setUp); status != 0 {
		t.Fatal(text)
	}
	add := exec.CommandContext(t.Context(), bin, "task", "add", "kept")
	add.Dir = project
	if status, text := exitOf(t, add); status != 0 {
		t.Fatal(text)
	}
	empty := filepath.Join(dir, "empty")
	if err := os.Mkdir(empty, 0o555); err != nil {
		t.Fatal(err)
	}
	// Others may look, but not write: what an ordinary user meets on a read-only mount.
	for path, mode := range map[string]os.FileMode{".ralph": 0o555, ".ralph/progress.db": 0o444} {
		if err := os.Chmod(filepath.Join(project, path), mode); err != nil {
			t.Fatal(err)
		}
	}
	for name, tc := range map[string]struct {
		dir  string
		args []string
	}{
		"adding":  {project, []string{"task", "add", "lost"}},
		"listing": {project, []string{"task", "list"}},
		"init":    {empty, []string{"init"}},
	} {
		cmd := exec.CommandContext(t.Context(), bin, tc.args...)
		cmd.Dir = tc.dir
		cmd.Env = append(os.Environ(), "HOME="+dir)
		if os.Getuid() == 0 {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		}
		status, text := exitOf(t, cmd)
		if status != exitRefused || !strings.Contains(text, "cannot be written") || strings.Count(text, "\n") != 2 {
			t.Errorf("%s: status %d, want %d and one clear line with a hint, got:\n%s", name, status, exitRefused, text)
		}
	}
}

func TestFullDiskLosesNothing(t *testing.T) {
	t.Parallel()
	dir, _ := sandboxedRalph(t)
	if err := os.Mkdir(filepath.Join(dir, "small"), 0o755); err != nil {
		t.Fatal(err)
	}
	script := `
mount -t tmpfs -o size=700k tmpfs small || exit 99
cd small
../ralph init || exit 98
../ralph task add kept || exit 97
head -c 2000000 /dev/zero > filler 2>/dev/null
head -c 200000 /dev/zero | tr '\0' x > ../text
../ralph task add lost -d @../text 2> ../said; echo $? > ../status
rm filler
../ralph task list --all > ../listed && ../ralph doctor > ../examined && ../ralph task add again
`
	cmd := exec.CommandContext(t.Context(), "unshare", "-rm", "sh", "-c", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+dir)
	status, text := exitOf(t, cmd)
	if _, err := os.Stat(filepath.Join(dir, "status")); err != nil {
		t.Skipf("no small file system to be had here: %s", text)
	}
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	if got := strings.TrimSpace(read("status")); got != "1" {
		t.Errorf("exit status on a full disk: got %s, want 1", got)
	}
	if said := read("said"); !strings.Contains(said, "the disk is full") || !strings.Contains(said, "hint: free some space") {
		t.Errorf("got %q, want the disk to be named as full", said)
	}
	if listed := read("listed"); !strings.Contains(listed, "kept") || strings.Contains(listed, "lost") {
		t.Errorf("after the disk was full: %s", listed)
	}
	if told := read("examined"); !regexp.MustCompile(`(?m)^warning  disk +[0-9]+ KiB free for the project, .*\n +- [0-9]+ KiB are left in .*/small\n`).MatchString(told) {
		t.Errorf("doctor does not warn of a small disk:\n%s", told)
	}
	if status != 0 {
		t.Errorf("after space was freed: status %d\n%s", status, text)
	}
}

func TestWhatWasBegunOnAFullDiskIsWholeTheNextTime(t *testing.T) {
	t.Parallel()
	dir, _ := sandboxedRalph(t)
	if err := os.Mkdir(filepath.Join(dir, "small"), 0o755); err != nil {
		t.Fatal(err)
	}
	script := `
mount -t tmpfs -o size=1m tmpfs small || exit 99
cd small
head -c 2000000 /dev/zero > filler 2>/dev/null
../ralph init 2> ../init; echo $? > ../init.status
rm filler
../ralph init || exit 98
cp .ralph/.gitignore ../ignored
head -c 2000000 /dev/zero > filler 2>/dev/null
../ralph knowledge add Note -d text 2> ../knowledge; echo $? > ../knowledge.status
rm filler
../ralph knowledge add Note -d text
`
	cmd := exec.CommandContext(t.Context(), "unshare", "-rm", "sh", "-c", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+dir)
	status, text := exitOf(t, cmd)
	if _, err := os.Stat(filepath.Join(dir, "init.status")); err != nil {
		t.Skipf("no small file system to be had here: %s", text)
	}
	if status != 0 {
		t.Errorf("after space was freed: status %d\n%s", status, text)
	}
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	for _, command := range []string{"init", "knowledge"} {
		said := read(command)
		if got := strings.TrimSpace(read(command + ".status")); got != "1" || strings.Count(said, "\n") != 2 || !strings.Contains(said, "hint: free some space") {
			t.Errorf("%s: status %s, want 1 and one line with a hint that names the disk, got:\n%s", command, got, said)
		}
	}
	if ignored := read("ignored"); !strings.Contains(ignored, "!knowledge/**") {
		t.Errorf("git would be given ralph's state, because of a half written list: %q", ignored)
	}
}
