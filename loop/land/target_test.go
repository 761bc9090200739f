package land

import (
	"os/exec"
	"strings"
	"testing"

	"ralph/internal/git"
	"ralph/internal/testing/check"
)

// TestATargetThatIsSetBackNamesWhatIsGone, also if nobody has looked at it since we moved it.
func TestATargetThatIsSetBackNamesWhatIsGone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=t", "-c", "user.email=t@localhost"}, args...)...)
		cmd.Dir = dir
		out, err := cmd.Output()
		check.OK(t, err)
		return strings.TrimSpace(string(out))
	}
	run("init", "-q", "-b", "main")
	run("commit", "-q", "--allow-empty", "-m", "first")
	repo, err := git.OpenRepo(t.Context(), dir)
	check.OK(t, err)
	l := Lander{Options: Options{Repo: repo, Target: "refs/heads/main"}}
	_, err = l.Tip(t.Context())
	check.OK(t, err)
	run("commit", "-q", "--allow-empty", "-m", "second", "-m", "Ralph-Task: t-00000001")
	l.moved(run("rev-parse", "HEAD"), nil)
	run("reset", "-q", "--hard", "HEAD~1")
	_, err = l.Tip(t.Context())
	check.That(t, err != nil && strings.Contains(err.Error(), "nor is the work of t-00000001"), "got %v, want the task that is gone", err)
}
