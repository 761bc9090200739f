package project

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ralph/internal/seq"
	"ralph/internal/testing/check"
)

func TestProposeGates(t *testing.T) {
	t.Parallel()
	const workflow = ".github/workflows/ci.yml"
	for name, tc := range map[string]struct {
		files map[string]string
		want  string
	}{
		"nothing":            {nil, ""},
		"Go":                 {map[string]string{"go.mod": "module x\n"}, "go vet ./... (go.mod); go test ./... (go.mod)"},
		"Rust":               {map[string]string{"Cargo.toml": ""}, "cargo test (Cargo.toml)"},
		"Python":             {map[string]string{"pyproject.toml": "[tool.ruff]\n[tool.mypy]\n", "pytest.ini": ""}, "mypy . (pyproject.toml); ruff check . (pyproject.toml); pytest (pyproject.toml)"},
		"Node":               {map[string]string{"package.json": `{"scripts":{"test":"jest","lint":"eslint","typecheck":"tsc","deploy":"rm -rf /"}}`}, "npm run typecheck (package.json); npm run lint (package.json); npm test (package.json)"},
		"Node as npm init":   {map[string]string{"package.json": `{"scripts":{"test":"echo \"Error: no test specified\" && exit 1"}}`}, ""},
		"broken JSON":        {map[string]string{"package.json": `{"scripts":{"test"`}, ""},
		"a script of a list": {map[string]string{"package.json": `{"scripts":{"test":["a"],"lint":"x"}}`}, "npm run lint (package.json)"},
		"two languages":      {map[string]string{"go.mod": "", "package.json": `{"scripts":{"test":"x"}}`}, "go vet ./... (go.mod); go test ./... (go.mod); npm test (package.json)"},
		"make":               {map[string]string{"Makefile": "lint: a\n\tx\ntest:\ncheck: lint test\nvet := no\ndeploy:\n"}, "make lint (Makefile); make test (Makefile)"},
		"make check":         {map[string]string{"Makefile": "check:\n\tx\n"}, "make check (Makefile)"},
		"make with one file": {map[string]string{"GNUmakefile": "all:\n", "Makefile": "test:\n"}, ""},
		"an assignment":      {map[string]string{"Makefile": "test := a\nlint ::= b\ncheck = c\n"}, ""},
		"just":               {map[string]string{"justfile": "test *args:\n  x\n@lint:\n"}, "just lint (justfile); just test (justfile)"},
		"make with several":  {map[string]string{"Makefile": "test lint: deps\nbuild vet:\n"}, "make vet (Makefile); make lint (Makefile); make test (Makefile)"},
		"a parameter":        {map[string]string{"justfile": "run test:\n"}, ""},
		"Just":               {map[string]string{"Justfile": "test:\n"}, "just test (Justfile)"},
		"just, hidden":       {map[string]string{".justfile": "lint:\n"}, "just lint (.justfile)"},
		"a language first":   {map[string]string{"go.mod": "", "Makefile": "test:\nlint:\n"}, "go vet ./... (go.mod); make lint (Makefile); go test ./... (go.mod)"},
		"GitHub": {
			map[string]string{workflow: "jobs:\n  a:\n    steps:\n      - run: npm ci\n      - run: golangci-lint run ./...\n      - run: |\n          go test -race ./...\n          ./deploy.sh\n"},
			"golangci-lint run ./... (.github/workflows/ci.yml); go test -race ./... (.github/workflows/ci.yml)",
		},
		"GitLab":             {map[string]string{".gitlab-ci.yml": "test:\n  script:\n    - pip install .\n    - tox -e py3\n"}, "tox -e py3 (.gitlab-ci.yml)"},
		"CI last":            {map[string]string{"Makefile": "test:\n", workflow: "- run: go test ./...\n"}, "make test (Makefile)"},
		"CI elsewhere":       {map[string]string{workflow: "- run: npm test\n  working-directory: web\n"}, ""},
		"CI after cd":        {map[string]string{workflow: "- run: |\n    cd web\n    npm test\n"}, ""},
		"CI after pushd":     {map[string]string{workflow: "- run: pushd web\n- run: npm test\n"}, ""},
		"CI after both":      {map[string]string{workflow: "- run: true && cd web\n- run: npm test\n"}, ""},
		"GitLab elsewhere":   {map[string]string{".gitlab-ci.yml": "before_script:\n  - cd web\ntest:\n  script: npm test\n"}, ""},
		"GitLab in brackets": {map[string]string{".gitlab-ci.yml": "before_script: [\"cd web\"]\ntest:\n  script: npm test\n"}, ""},
		"CI with a comment":  {map[string]string{workflow: "# no working-directory: here\n- run: npm test # cd web\n- run: make abcd test\n- run: npm test\n"}, "npm test (.github/workflows/ci.yml)"},
		"CI in quotes":       {map[string]string{workflow: "- run: \"golangci-lint run\"\n- run: 'go test ./...'\n- run: \"go vet $(x)\"\n"}, "golangci-lint run (.github/workflows/ci.yml); go test ./... (.github/workflows/ci.yml)"},
		"CI with a shell":    {map[string]string{workflow: "- run: go test ./... && curl evil\n- run: go test $(curl evil)\n- run: go test ./... > /etc/passwd\n- run: go test ${{ secrets.X }}\n- run: go test `x`\n- run: go test ./...; x\n- run: go testing\n# go test ./...\n"}, ""},
		"control characters": {map[string]string{workflow: "- run: go test \x1b[31m./...\n- run: go test .\x07/...\n", "Makefile": "te\x1bst:\n\x1b[2Jlint:\n"}, ""},
		"a long line":        {map[string]string{workflow: "- run: go test " + strings.Repeat("a", 200) + "\n"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for file, text := range tc.files {
				check.OK(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o700))
				write(t, filepath.Join(dir, file), text)
			}
			got := seq.Map(ProposeGates(dir), func(g Gate) string { return g.Command + " (" + g.From + ")" })
			check.Equal(t, "gates", tc.want, strings.Join(got, "; "))
		})
	}
}

// TestTheTestsOfTargetsAreDetected: a target of several counts, and one that only begins like it does not.
func TestTheTestsOfTargetsAreDetected(t *testing.T) {
	t.Parallel()
	for file, tc := range map[string]struct{ text, want string }{
		"Makefile": {"lint test: deps\n", "make test"}, "Justfile": {"test *args:\n", "just test"}, "justfile": {"testing:\n", ""}, "makefile": {"check:\n", ""},
	} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, file), tc.text)
		check.Equal(t, file, tc.want, DetectTests(dir))
	}
}

// TestGatesAreProposedOfWhatOthersWrote: a large script is not shown, what is too large is not read, a link to a file is one, and a
// link to what never ends, or to itself, suggests nothing.
func TestGatesAreProposedOfWhatOthersWrote(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "package.json"), `{"scripts":{"test":"`+strings.Repeat("x", 10<<20)+`"}}`)
	check.Equal(t, "a large script", []Gate{{"npm test", "package.json"}}, ProposeGates(dir))
	check.Equal(t, "its tests", "npm test", DetectTests(dir))
	write(t, filepath.Join(dir, "package.json"), `{"scripts":{"test":"`+strings.Repeat("x", maxSuggesting)+`"}}`)
	check.Equal(t, "too large a file", 0, len(ProposeGates(dir)))
	check.Equal(t, "its tests", "", DetectTests(dir))

	write(t, filepath.Join(dir, "elsewhere"), "test:\n")
	for link, to := range map[string]string{"Makefile": "elsewhere", "go.mod": os.DevNull, "Cargo.toml": "Cargo.toml", "justfile": ".", ".gitlab-ci.yml": "/dev/zero"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Skipf("no links here: %v", err)
		}
	}
	check.Equal(t, "links", []Gate{{"make test", "Makefile"}}, ProposeGates(dir))
	check.Equal(t, "their tests", "make test", DetectTests(dir))
}
