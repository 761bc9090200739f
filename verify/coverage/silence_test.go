package coverage

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"ralph/internal/testing/check"
)

// TestAGateThatTellsNothingIsNotAskedAgain for the languages of which it told nothing; one that told of other files of the project is.
func TestAGateThatTellsNothingIsNotAskedAgain(t *testing.T) {
	t.Parallel()
	python := tool(t, "python3")
	root := write(t, map[string]string{
		"go.mod": goMod, "a/a.go": "package a\n", "b/b_test.go": "package b\n\nimport \"testing\"\n\nfunc TestB(*testing.T) {}\n",
		"x.py": "x = 1\n", "y.py": "y = 1\n", "z.js": "",
	})
	for gate, want := range map[string][3]bool{ // of Go, Python and both
		"true":          {true, true, true},
		"go vet ./...":  {true, true, true},
		"go test ./...": {false, true, false}, // there is no line of the changed package
		python + " y.py; " + python + " -c 'import sys'": {true, false, false},
		python + " --version":                            {true, true, true},
	} {
		files := []string{"a/a.go", "x.py"}
		c, err := Begin(t.TempDir(), root, files, func(file string) ([]byte, error) { return os.ReadFile(filepath.Join(root, file)) })
		check.OK(t, err)
		cmd := exec.Command("sh", "-c", gate)
		cmd.Dir, cmd.Env = root, c.Env(os.Environ())
		out, err := cmd.CombinedOutput()
		check.That(t, err == nil, "%s: %v\n%s", gate, err, out)
		_, _, err = c.End()
		check.OK(t, err)
		check.OK(t, c.Close())
		var s Silence
		check.That(t, !s.Covers(gate, files), "%s: it is silent before it was asked", gate)
		s.Note(gate, c)
		check.Equal(t, gate, want, [3]bool{s.Covers(gate, files[:1]), s.Covers(gate, files[1:]), s.Covers(gate, files)})
		check.That(t, !s.Covers(gate, []string{"z.js"}), "%s: it was not asked about JavaScript", gate)
	}
}
