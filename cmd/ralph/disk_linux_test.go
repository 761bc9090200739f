package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"ralph/internal/cli"
	"ralph/internal/testing/check"
)

// sandboxedRalph copies the test binary, as ralph, to where any user can run it.
func sandboxedRalph(t *testing.T) (dir, bin string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "ralph-disk-") //nolint:usetesting // another user must be able to enter it
	check.OK(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	check.OK(t, os.Chmod(dir, 0o755))
	self, err := os.Executable()
	check.OK(t, err)
	bin = filepath.Join(dir, "ralph")
	data, err := os.ReadFile(self)
	if err == nil {
		err = os.WriteFile(bin, data, 0o755)
	}
	check.OK(t, err)
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
	project, empty := filepath.Join(dir, "project"), filepath.Join(dir, "empty")
	check.OK(t, errors.Join(os.Mkdir(project, 0o755), os.Mkdir(empty, 0o555)))
	ralph := func(dir string, args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), bin, args...)
		cmd.Dir = dir
		return cmd
	}
	for _, cmd := range []*exec.Cmd{ralph(project, "init"), ralph(project, "task", "add", "kept")} {
		if status, text := exitOf(t, cmd); status != 0 {
			t.Fatal(text)
		}
	}
	// Others may look, but not write: what an ordinary user meets on a read-only mount.
	check.OK(t, errors.Join(os.Chmod(filepath.Join(project, ".ralph"), 0o555), os.Chmod(filepath.Join(project, ".ralph/progress.db"), 0o444)))
	for name, cmd := range map[string]*exec.Cmd{
		"adding": ralph(project, "task", "add", "lost"), "listing": ralph(project, "task", "list"), "init": ralph(empty, "init"),
	} {
		cmd.Env = append(os.Environ(), "HOME="+dir)
		if os.Getuid() == 0 {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		}
		status, text := exitOf(t, cmd)
		if status != cli.ExitRefused || !strings.Contains(text, "cannot be written") || strings.Count(text, "\n") != 2 {
			t.Errorf("%s: status %d, want %d and one clear line with a hint, got:\n%s", name, status, cli.ExitRefused, text)
		}
	}
}

// onSmallDisk runs a script in a file system of that size. The script has ralph and the folder in
// which it leaves its results beside it; read reads one of them. It must succeed.
func onSmallDisk(t *testing.T, size, script string) (read func(name string) string) {
	t.Helper()
	dir, _ := sandboxedRalph(t)
	check.OK(t, os.Mkdir(filepath.Join(dir, "small"), 0o755))
	const prepare = `
fill() { head -c 2000000 /dev/zero > filler 2>/dev/null; }
mount -t tmpfs -o "size=$0" tmpfs small && touch mounted && cd small || exit 99
`
	cmd := exec.CommandContext(t.Context(), "unshare", "-rm", "sh", "-c", prepare+script, size)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+dir)
	status, text := exitOf(t, cmd)
	if _, err := os.Stat(filepath.Join(dir, "mounted")); err != nil {
		t.Skipf("no small file system to be had here: %s", text)
	}
	if status != 0 {
		t.Errorf("after space was freed: status %d\n%s", status, text)
	}
	return func(name string) string {
		data, err := os.ReadFile(filepath.Join(dir, name))
		check.OK(t, err)
		return string(data)
	}
}

func TestFullDiskLosesNothing(t *testing.T) {
	t.Parallel()
	read := onSmallDisk(t, "1600k", `
../ralph init || exit 98
../ralph task add kept || exit 97
fill
head -c 200000 /dev/zero | tr '\0' x > ../text
../ralph task add lost -d @../text 2> ../stderr; echo $? > ../status
rm filler
../ralph task list --all > ../list && ../ralph doctor > ../doctor && ../ralph task add again
`)
	for name, want := range map[string]string{
		"status": `^1\n$`, "stderr": `(?s)the disk is full.*hint: free some space`, "list": `kept`,
		"doctor": `(?m)^warning  disk +[0-9.]+ [KM]iB free for the project, .*\n +- [0-9.]+ [KM]iB are left in .*/small\n`,
	} {
		if got := read(name); !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("%s: got %q, want a match of %s", name, got, want)
		}
	}
	if list := read("list"); strings.Contains(list, "lost") {
		t.Errorf("after the disk was full: %s", list)
	}
}

func TestWhatWasBegunOnAFullDiskIsWholeTheNextTime(t *testing.T) {
	t.Parallel()
	read := onSmallDisk(t, "1900k", `
fill
../ralph init 2> ../init; echo $? > ../init.status
rm filler
../ralph init || exit 98
cp .ralph/.gitignore ../ignored
fill
../ralph knowledge add Note -d text 2> ../knowledge; echo $? > ../knowledge.status
rm filler
../ralph knowledge add Note -d text
`)
	for _, command := range []string{"init", "knowledge"} {
		text := read(command)
		if got := strings.TrimSpace(read(command + ".status")); got != "1" || strings.Count(text, "\n") != 2 || !strings.Contains(text, "hint: free some space") {
			t.Errorf("%s: status %s, want 1 and one line with a hint that names the disk, got:\n%s", command, got, text)
		}
	}
	if ignored := read("ignored"); !strings.Contains(ignored, "!knowledge/**") {
		t.Errorf("git would be given ralph's state, because of a half written list: %q", ignored)
	}
}
