package attempt

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	ralphgit "ralph/internal/git"
	"ralph/internal/risk"
	"ralph/internal/testing/check"
)

// TestTheContentOfWorkIsSeenByBytes also where the patch that was read first is cut before it: a token at the end of much data, and a
// program with the name of a text.
func TestTheContentOfWorkIsSeenByBytes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	git := func(args ...string) string {
		cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
		cmd.Dir = dir
		out, err := cmd.Output()
		check.OK(t, err)
		return strings.TrimSpace(string(out))
	}
	write := func(name, text string, mode os.FileMode) {
		check.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), mode))
	}
	git("init", "-q", "-b", "main")
	write("x_test.go", "package x\n", 0o600)
	git("add", "-A")
	git("commit", "-qm", "base")
	base := git("rev-parse", "HEAD^{tree}")
	write("data.json", strings.Repeat("0123456789abcdef\n", maxPatch/16), 0o600)
	write("notes.txt", "\x7fELF\x02\x00\x00", 0o600)
	write("logo.png", "\x89PNG\r\n\x00\x00", 0o600)
	write("zz.go", "package x\n\nconst key = \"AKIA"+"IOSFODNN7EXAMPLE\"\n", 0o600)
	check.OK(t, os.Remove(filepath.Join(dir, "x_test.go")))
	git("add", "-A")
	git("commit", "-qm", "work")

	a := &attempt{}
	a.evidence.trees.Dir = dir
	a.evidence.compared = map[[2]string]ralphgit.Difference{}
	a.evidence.OwnFiles = func(context.Context) []string { return nil }
	a.evidence.base.Tree, a.evidence.candidate = base, git("rev-parse", "HEAD^{tree}")
	changes, err := a.evidence.compare(t.Context(), base, a.evidence.candidate)
	check.OK(t, err)
	want := risk.Content{Secrets: []string{"zz.go"}, Programs: []string{"notes.txt"}, Deleted: []string{"x_test.go"}}
	check.Equal(t, "content", want, a.evidence.content(t.Context(), changes))
}

// TestWorkThatCannotBeComparedIsRisky: nothing that nobody could see lands where a person looks at what is risky.
func TestWorkThatCannotBeComparedIsRisky(t *testing.T) {
	t.Parallel()
	a := &attempt{}
	a.evidence.trees.Dir = t.TempDir()
	a.evidence.compared = map[[2]string]ralphgit.Difference{}
	a.evidence.base.Tree, a.evidence.candidate = strings.Repeat("1", 40), strings.Repeat("2", 40)
	seen := a.facts(t.Context())
	check.That(t, seen.Unseen != "", "nothing says that it cannot be seen: %+v", seen)
	check.Equal(t, "risk", 1.0, risk.Of(seen).Risk)
}
