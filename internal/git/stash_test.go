package git

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ralph/internal/testing/check"
)

// TestStashTakesOnlyWhatItWasTold, tracked or not, whatever its name.
func TestStashTakesOnlyWhatItWasTold(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@localhost"}, args...)...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	write := func(name, text string) {
		t.Helper()
		check.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	run("init", "-q")
	write("tracked", "1")
	write("mine", "1")
	run("add", "-A")
	run("commit", "-qm", "first")
	write("tracked", "2")
	write("mine", "2")
	write("new [*]", "3")
	write("my new", "3")
	check.OK(t, Stash(t.Context(), dir, "ralph: what was left", []string{"tracked", "new [*]"}))
	check.Equal(t, "still uncommitted", []string{"mine", "my new"}, Look(t.Context(), dir).Uncommitted)
	if got := run("stash", "list"); !strings.Contains(got, "ralph: what was left") {
		t.Errorf("got %q, want it in the stash", got)
	}
	run("stash", "pop", "-q")
	if got := len(Look(t.Context(), dir).Uncommitted); got != 4 {
		t.Errorf("got %d uncommitted files after the pop, want all 4", got)
	}
	if err := Stash(t.Context(), dir, "none", nil); err == nil {
		t.Error("stashing nothing would stash everything")
	}
}
