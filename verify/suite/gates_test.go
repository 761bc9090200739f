package suite

import (
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"

	"ralph/internal/git"
	"ralph/internal/testing/check"
)

// TestAGateOfAnyShapeIsUnderstood: what it starts checks the work, whatever the shell line looks like, and what it reads the output of
// does not.
func TestAGateOfAnyShapeIsUnderstood(t *testing.T) {
	t.Parallel()
	base := files{
		"check.sh": "go test\n", "all": "go test\n", "api/check.sh": "go test\n", "app.sh": "echo\n", "README.md": "x\n",
		"api/package.json": `{"scripts":{"test":"node spec/run.js && jest"}}`, "api/spec/run.js": "1\n",
	}
	for gate, want := range map[string]string{
		"./check.sh": "check.sh", "sh -e check.sh -v": "check.sh", `CI=1 "$PWD/check.sh" 2>&1 | tail -n 5`: "check.sh", "timeout 5m ./check.sh >/dev/null": "check.sh",
		"bash -c 'cd api && ./check.sh'": "check.sh", "cd api && ./check.sh": "check.sh", "if true; then ./check.sh; fi": "check.sh", "! ./check.sh": "check.sh",
		"sh all": "all", "all": "", "cd api && npm run -s test": "api/package.json api/spec/run.js", "npm test --prefix=api": "api/package.json api/spec/run.js",
		`[ "$(./app.sh)" = 1 ]`: "", "./app.sh | grep 1": "", "./app.sh > out; grep 1 out": "", "grep -q x README.md": "", "diff <(./app.sh) README.md": "",
		"./app.sh && true": "app.sh", "./app.sh (": "app.sh",
	} {
		f, err := follow([]string{gate}, base.read)
		check.OK(t, err)
		delete(f.scripts, "api/node")
		check.Equal(t, gate, want, strings.Join(slices.DeleteFunc(slices.Sorted(maps.Keys(f.scripts)), func(file string) bool { return base[file] == "" }), " "))
	}
}

// TestAGateThatNamesNoFileReadsNoFile but looks for those that its words could name: most projects pay nothing for being asked.
func TestAGateThatNamesNoFileReadsNoFile(t *testing.T) {
	t.Parallel()
	gates := []string{"go test ./...", "go vet ./...", "pytest -q", "cargo test", "test -f README.md"}
	read := func(path string) ([]byte, error) {
		check.That(t, strings.Contains(strings.Join(gates, " "), path), "%s is read", path)
		return nil, fs.ErrNotExist
	}
	s, err := Of(Base{Gates: gates, Read: read})
	check.OK(t, err)
	p, err := s.Plan([]git.Change{{Path: "main.go", Kind: git.Modified}, {Path: "a.py", Kind: git.Added}}, read)
	check.That(t, err == nil && len(p.Changed)+len(p.Edits) == 0, "got %v, %v", p, err)
}
