package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ralph/internal/testing/check"
)

// TestAModuleIsCheckedWhenItChanged has .ci/temporal check a small module, and counts how often its tests are run: again after a
// change of its files, or of what it imports of ours, and not after any other.
func TestAModuleIsCheckedWhenItChanged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		check.OK(t, os.MkdirAll(filepath.Dir(path), 0o755))
		check.OK(t, os.WriteFile(path, []byte(text), 0o644))
	}
	check.OK(t, os.Mkdir(filepath.Join(dir, ".ci"), 0o755))
	for _, name := range []string{".ci/temporal", ".ci/sum"} {
		data, err := os.ReadFile(filepath.Join("../..", name))
		check.OK(t, err)
		check.OK(t, os.WriteFile(filepath.Join(dir, name), data, 0o755))
	}
	write("go.mod", "module ralph\n\ngo 1.26\n")
	write("direct/direct.go", "package direct\n\nimport \"ralph/indirect\"\n\nconst N = indirect.N\n")
	write("indirect/indirect.go", "package indirect\n\nimport _ \"embed\"\n\nconst N = 1\n\n//go:embed text\nvar text string\n")
	write("indirect/text", "one")
	write("other/other.go", "package other\n")
	const module = "module ralph/temporal\n\ngo 1.26\n\nrequire ralph v0.0.0\n\nreplace ralph => ../\n"
	write("temporal/go.mod", module)
	write("temporal/some.go", "package temporal\n\nimport (\n\t\"ralph/direct\"\n)\n\nconst N = direct.N\n")
	write("temporal/some_test.go", "package temporal\n\nimport \"testing\"\n\nfunc TestN(t *testing.T) {\n\tif N == 0 {\n\t\tt.Fatal(\"N is 0\")\n\t}\n}\n")
	write("temporal/story/go.mod", "module ralph/temporal/story\n")

	const skipped, ran, failed = "skipped", "ran", "failed"
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), filepath.Join(dir, ".ci/temporal"), args...)
		cmd.Env = append(os.Environ(), "GOFLAGS=", "GOPROXY=off")
		out, err := cmd.CombinedOutput()
		switch text := string(out); {
		case strings.Contains(text, "FAIL: TestN"):
			return failed
		case err != nil:
			t.Fatalf("%v\n%s", err, out)
		case strings.Contains(text, "SKIPPED: nothing in temporal/ changed since it passed"):
			return skipped
		case strings.Contains(text, "ok  \tralph/temporal"):
			return ran
		default:
			t.Fatalf("it says neither that tests were skipped nor that they passed:\n%s", out)
		}
		return ""
	}
	check.Equal(t, "without a note", ran, run())
	check.Equal(t, "as CI notes nothing, without a note again", ran, run())
	check.Equal(t, "when asked to", ran, run("always"))
	check.Equal(t, "as it passed", skipped, run())
	check.Equal(t, "when asked to, as it passed", ran, run("always"))

	for _, tc := range []struct{ name, file, text, want string }{
		{"a file of the module", "temporal/some.go", "package temporal\n\nimport \"ralph/direct\"\n\nconst N = direct.N + 1\n", ran},
		{"a recorded history", "temporal/testdata/history.json", "{}\n", ran},
		{"its other libraries", "temporal/go.mod", "// Of its own.\n" + module, ran},
		{"what it imports of ours", "direct/direct.go", "package direct\n\nimport \"ralph/indirect\"\n\nconst N = indirect.N + 1\n", ran},
		{"what that imports", "indirect/indirect.go", "package indirect\n\nimport _ \"embed\"\n\nconst N = 2\n\n//go:embed text\nvar text string\n", ran},
		{"what that embeds", "indirect/text", "two", ran},
		{"the story", "temporal/story/story_test.go", "package story\n", skipped},
		{"our tests", "direct/direct_test.go", "package direct\n", skipped},
		{"what it does not import", "other/other.go", "package other\n\nconst N = 1\n", skipped},
		{"what makes a test fail", "indirect/indirect.go", "package indirect\n\nconst N = -2\n", failed},
	} {
		write(tc.file, tc.text)
		check.Equal(t, tc.name, tc.want, run())
		if tc.want == ran {
			run("always")
		}
	}
	check.Equal(t, "a failure is not noted", failed, run("always"))
	check.Equal(t, "and fails again", failed, run())
}
