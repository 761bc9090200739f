package tamper

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"ralph/internal/git"
	"ralph/internal/testing/check"
)

// TestTamperingIsSeenInARealRepository, committed or not, and whatever the agent
// told git to hide.
func TestTamperingIsSeenInARealRepository(t *testing.T) {
	t.Parallel()
	dir, objects := t.TempDir(), filepath.Join(t.TempDir(), "objects")
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		check.OK(t, os.MkdirAll(filepath.Dir(path), 0o700))
		check.OK(t, os.WriteFile(path, []byte(text), 0o600))
	}
	run := func(args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=t", "-c", "user.email=t@localhost"}, args...)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	tree := func() string {
		t.Helper()
		id, err := git.Tree(t.Context(), dir, objects)
		check.OK(t, err)
		return id
	}
	run("init", "-q")
	write("a_test.go", goTwo)
	write("b_test.go", goOne)
	write("web/a.test.ts", jsTwo)
	write(".github/workflows/ci.yml", "on: push\n")
	run("add", "-A")
	run("commit", "-qm", "all")
	before := tree()

	check.OK(t, os.Remove(filepath.Join(dir, "b_test.go")))
	run("commit", "-qam", "Make it green")
	run("update-index", "--assume-unchanged", "a_test.go")
	write("a_test.go", goOne)
	write("web/a.test.ts", "xit('adds numbers', f)\nit('adds words', f)\n")
	write(".gitattributes", "*.ts binary\n")
	write(".github/workflows/ci.yml", "on: never\n")
	after := tree()

	changes, err := git.Compare(t.Context(), dir, objects, before, after)
	check.OK(t, err)
	read := func(tree string) Read {
		return func(path string) ([]byte, error) { return git.Show(t.Context(), dir, objects, tree, path, 1<<20) }
	}
	want := []Finding{
		{".github/workflows/ci.yml", "protected file changed: .github/workflows/ci.yml"},
		{"a_test.go", "1 test fewer: TestTwo in a_test.go"},
		{"b_test.go", "test file deleted: b_test.go (TestOne)"},
		{"web/a.test.ts", "test newly skipped: adds numbers in web/a.test.ts (xit)"},
	}
	check.Equal(t, "findings", want, Find(changes, read(before), read(after), theProtected()))
}
