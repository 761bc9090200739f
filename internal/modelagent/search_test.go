package modelagent

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ralph/internal/testing/check"
)

// tree is what searches look through.
func tree() map[string]string {
	return map[string]string{
		"main.go": "package main\n\nfunc main() {\n\tRun()\n}\n", "run/run.go": "package run\n\n// Run runs.\nfunc Run() {}\n", "run/run_test.go": "package run\n",
		"docs/a.md": "# Run\n", "out/built.go": "func Run() {}\n", "bin": "Run\x00", ".gitignore": "out/\n", "long.js": strings.Repeat("x", 5000) + "Run();" + strings.Repeat("y", 5000) + "\n",
	}
}

func inGit(t *testing.T, b *toolbox, args ...string) {
	t.Helper()
	out, err := exec.Command("git", append([]string{"-C", b.dir, "-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...).CombinedOutput()
	check.That(t, err == nil, "git %v: %s", args, out)
}

func TestGlobAndGrep(t *testing.T) {
	t.Parallel()
	withGit := box(t, tree())
	inGit(t, withGit, "init", "-q")
	inGit(t, withGit, "add", "main.go")
	without := box(t, tree())
	const long = "…" // the line with the match in its middle
	tests := map[string]struct{ tool, args, git, plain string }{
		"every source":              {"glob", arguments("pattern", "**/*.go"), "main.go\nrun/run.go\nrun/run_test.go\n", "main.go\nout/built.go\nrun/run.go\nrun/run_test.go\n"},
		"at the top":                {"glob", arguments("pattern", "*.go"), "main.go\n", "main.go\n"},
		"alternatives in a folder":  {"glob", arguments("pattern", "*_{test,spec}.go", "path", "run"), "run/run_test.go\n", "run/run_test.go\n"},
		"none":                      {"glob", arguments("pattern", "*.py"), "(nothing matches)", "(nothing matches)"},
		"a folder that git ignores": {"glob", arguments("pattern", "*", "path", "out"), "out/built.go\n", "out/built.go\n"},
		"no pattern":                {"glob", arguments("pattern", "{a"), `"{a" is no pattern: a bracket or a brace is not closed`, `"{a" is no pattern: a bracket or a brace is not closed`},
		"lines": {
			"grep", arguments("pattern", `^func Run\b`, "glob", "*.go"), "run/run.go:4: func Run() {}\n", "out/built.go:1: func Run() {}\nrun/run.go:4: func Run() {}\n",
		},
		"without case, in one folder": {"grep", arguments("pattern", "(?i)RUN RUNS", "path", "run"), "run/run.go:3: // Run runs.\n", "run/run.go:3: // Run runs.\n"},
		"in one file":                 {"grep", arguments("pattern", "package", "path", "main.go"), "main.go:1: package main\n", "main.go:1: package main\n"},
		"a long line": {
			"grep", arguments("pattern", "Run\\(\\);"), "long.js:1: " + strings.Repeat("x", 250) + "Run();" + strings.Repeat("y", 241) + long + "\n", "long.js:1: " + strings.Repeat("x", 250) + "Run();" + strings.Repeat("y", 241) + long + "\n",
		},
		"not in binary files": {"grep", arguments("pattern", "^Run"), "(nothing matches)", "(nothing matches)"},
		"no line":             {"grep", arguments("pattern", "nowhere"), "(nothing matches)", "(nothing matches)"},
		"no expression":       {"grep", arguments("pattern", "(a"), "error parsing regexp: missing closing ): `(a`", "error parsing regexp: missing closing ): `(a`"},
		"a missing folder":    {"grep", arguments("pattern", "a", "path", "no"), "no: no such file or directory", "no: no such file or directory"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check.Equal(t, "with git", test.git, call(t, withGit, test.tool, test.args).Text)
			check.Equal(t, "without git", test.plain, call(t, without, test.tool, test.args).Text)
		})
	}
}

func TestSearchesAreLimited(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for i := range maxFound + 3 {
		files[fmt.Sprintf("%03d.txt", i)] = "found\n"
	}
	b := box(t, files)
	inGit(t, b, "init", "-q")
	r := call(t, b, "glob", arguments("pattern", "*.txt"))
	check.Equal(t, "files", maxFound+1, strings.Count(r.Text, "\n"))
	check.Contains(t, "glob", "(there are more: narrow the search)\n", r.Text)
	r = call(t, b, "grep", arguments("pattern", "found"))
	check.Equal(t, "lines", maxFound+1, strings.Count(r.Text, "\n"))
	check.Contains(t, "grep", "(there are more: narrow the search)\n", r.Text)
	check.Contains(t, "outside", "is outside of the project", call(t, b, "grep", arguments("pattern", "root", "path", "/etc")).Text)
}

func TestSearchesSeeARepositoryInside(t *testing.T) {
	t.Parallel()
	b := box(t, map[string]string{"a.go": "a\n", "inside/b.go": "b\n", "gone.go": ""})
	inGit(t, b, "init", "-q")
	inGit(t, b, "init", "-q", "inside")
	inGit(t, b, "add", "gone.go")
	check.OK(t, os.Remove(filepath.Join(b.dir, "gone.go")))
	check.Equal(t, "lines", "a.go:1: a\ninside/b.go:1: b\n", call(t, b, "grep", arguments("pattern", "[ab]", "glob", "*.go")).Text)
}
