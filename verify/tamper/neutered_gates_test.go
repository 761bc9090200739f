package tamper

import (
	"testing"

	"ralph/internal/git"
	"ralph/internal/testing/check"
)

// TestWhatAGateRunsIsNotHollowedOut, and editing it is work like any other.
func TestWhatAGateRunsIsNotHollowedOut(t *testing.T) {
	t.Parallel()
	const made = "all: build\n\nbuild:\n\tgo build ./...\n\ntest: build\n\tgo test ./...\n\nrelease:\n\t./ship\n"
	tests := map[string]struct {
		gate, file, before, after string
		want                      string
	}{
		"a script that ends at once": {"./check.sh --all", "check.sh", "#!/bin/sh\nset -e\ngo test ./...\n", "#!/bin/sh\nset -e\nexit 0\ngo test ./...\n", "what the gates run does nothing any more: check.sh"},
		"a script that only talks":   {"sh ci/check", "ci/check", "#!/bin/sh\ngo test ./...\n", "#!/bin/sh\necho all tests pass; exit 0\n", "what the gates run does nothing any more: ci/check"},
		"a group that only talks":    {"./check.sh", "check.sh", "go test ./...\n", "{ echo all tests pass; }\n", "what the gates run does nothing any more: check.sh"},
		"a script that is emptied":   {"sh -c 'cd sub && bash check.sh'", "sub/check.sh", "go test ./...\n", "# later\n", "what the gates run does nothing any more: sub/check.sh"},
		"a script that forgives":     {"./check.sh", "check.sh", "go test ./...\n", "go test ./... || true\n", `what the gates run passes whatever comes of "go test ./...": check.sh`},
		"a target that does nothing": {"make test", "Makefile", made, "all: build\n\nbuild:\n\tgo build ./...\n\ntest: build\n\t@exit 0\n\trm x\n", "what the gates run does nothing any more: Makefile (test)"},
		"a target that is ignored":   {"make", "Makefile", made, "test: build\n\t-go test ./...\n", `what the gates run passes whatever comes of "go test ./...": Makefile (test)`},
		"an npm script":              {"npm test", "web/package.json", `{"scripts":{"test":"jest"}}`, `{"scripts":{"test":"echo no tests yet && exit 0"}}`, "what the gates run does nothing any more: web/package.json (test)"},
		"an npm script that forgives": {
			"npm test", "package.json", `{"scripts":{"test":"jest --ci"}}`, `{"scripts":{"test":"jest --ci; exit 0"}}`,
			`what the gates run passes whatever comes of "jest --ci": package.json (test)`,
		},
		"a target that is only described": {"make test", "Makefile", "test:\n\tgo test ./...\n", "test: ## runs all the tests\n", "what the gates run does nothing any more: Makefile (test)"},
		"a just recipe":                   {"just lint", "justfile", "lint:\n    golangci-lint run\n", "lint:\n    @true\n", "what the gates run does nothing any more: justfile (lint)"},

		"a script with one more step":       {"./check.sh", "check.sh", "go test ./...\n", "go vet ./...\ngo test ./...\n", ""},
		"a script with a condition":         {"./check.sh", "check.sh", "go test ./...\n", "if [ -z \"$CI\" ]; then\nexit 0\nfi\ngo test ./...\n", ""},
		"a script that groups":              {"./check.sh", "check.sh", "go test ./...\n", "{ go test ./...; } > log\n", ""},
		"a script that pipes":               {"./check.sh", "check.sh", "./check < in\n", "echo all | ./check\n", ""},
		"a script that cleans up":           {"./check.sh", "check.sh", "rm x\ngo test ./...\n", "rm x || true\ngo test ./...\n", ""},
		"a target that hands on":            {"make test", "Makefile", made, "test: unit e2e\nunit:\n\tgo test ./...\n", ""},
		"a target that hands on to one":     {"make test", "Makefile", made, "test: unit\nunit: build\n\tgo test ./...\n", ""},
		"a target with conditions":          {"make test", "Makefile", made, "test: build\nifeq ($(CI),a:b)\n\tgo test -race ./...\nelse\n\tgo test ./...\nendif\n", ""},
		"a target in two rules":             {"make test", "Makefile", made, made + "test: build\n", ""},
		"a target that nobody asks for":     {"make test", "Makefile", made, "test: build\n\tgo test ./...\n\nrelease:\n\t@echo gone\n", ""},
		"a target that is renamed":          {"make test", "Makefile", made, "unit:\n\tgo test ./...\n", ""},
		"a script that is no gate's":        {"make test", "tools/x.sh", "./deploy\n", "exit 0\n", ""},
		"a program that a gate runs":        {"./app.py --check", "app.py", "#!/usr/bin/env python\nmain()\n", "#!/usr/bin/env python\nexit\n", ""},
		"an npm script that became another": {"npm test", "package.json", `{"scripts":{"test":"jest"}}`, `{"scripts":{"test":"vitest run"}}`, ""},
		"an npm script that was a stub":     {"npm test", "package.json", `{"scripts":{"test":"echo none && exit 1"}}`, `{"scripts":{"test":"vitest run"}}`, ""},
		"a new Makefile":                    {"make test", "Makefile", "", "test:\n\ttrue\n", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			read := func(text string) Read { return func(string) ([]byte, error) { return []byte(text), nil } }
			got := ""
			for _, f := range NeuteredGates([]git.Change{{Path: tt.file, Kind: git.Modified}}, read(tt.before), read(tt.after), []string{tt.gate}) {
				got += f.What
			}
			check.Equal(t, "result", tt.want, got)
		})
	}
}

// TestTestsThatWereThereAreNotLeftOut, while what is new may be.
func TestTestsThatWereThereAreNotLeftOut(t *testing.T) {
	t.Parallel()
	files := []string{"src/a.test.ts", "tests/test_a.py", "tests/slow/test_b.py", "web/__tests__/c.js", "web/e2e/d.spec.ts", "web/playwright.config.ts", "test/fixtures/f.js", "README.md"}
	tests := map[string]struct{ file, before, after, want string }{
		"jest in a package.json": {
			"package.json", `{"jest":{"testPathIgnorePatterns":["/node_modules/"]}}`, `{"jest":{"testPathIgnorePatterns":["/node_modules/","a\\.test"]}}`,
			`tests newly silenced: package.json leaves out src/a.test.ts (a\.test)`,
		},
		"jest in a folder": {"web/jest.config.js", "", "module.exports = { testPathIgnorePatterns: ['<rootDir>/__tests__'] }", "tests newly silenced: web/jest.config.js leaves out web/__tests__/c.js (<rootDir>/__tests__)"},
		"a file":           {"pytest.ini", "[pytest]\n", "[pytest]\naddopts = --ignore=tests/test_a.py\n", "tests newly silenced: pytest.ini leaves out tests/test_a.py (--ignore tests/test_a.py)"},
		"a test":           {"pyproject.toml", "", `addopts = ["--deselect", "--deselect=tests/test_a.py::test_x"]`, "tests newly silenced: pyproject.toml leaves out tests/test_a.py (--deselect tests/test_a.py::test_x)"},
		"a pattern":        {"setup.cfg", "", "addopts = --ignore-glob=tests/slow/*\n", "tests newly silenced: setup.cfg leaves out tests/slow/test_b.py (--ignore-glob tests/slow/*)"},
		"a folder":         {"tox.ini", "", "norecursedirs = .git\n  slow\n", "tests newly silenced: tox.ini leaves out tests/slow/test_b.py (norecursedirs slow)"},
		"all of them":      {"pytest.ini", "", "addopts = -q --co\n", "tests newly silenced: pytest.ini leaves out tests/test_a.py (--co)"},

		"what is new":                 {"package.json", "", `{"jest":{"testPathIgnorePatterns":["/cypress/","/dist/"]}}`, ""},
		"what another runner runs":    {"web/package.json", "", `{"jest":{"testPathIgnorePatterns":["/e2e/"]}}`, ""},
		"what holds no tests":         {"package.json", "", `{"jest":{"testPathIgnorePatterns":["/fixtures/"]}}`, ""},
		"tests in another language":   {"package.json", "", `{"jest":{"testPathIgnorePatterns":["/tests/"]}}`, ""},
		"folders of another language": {"pytest.ini", "", "norecursedirs = web src\n", ""},
		"what was left out before":    {"pytest.ini", "addopts = --ignore=tests/test_a.py\n", "addopts = -q --ignore=tests/test_a.py\n", ""},
		"another option":              {"pytest.ini", "", "addopts = --cov-report=term --color=yes\n", ""},
		"a folder of something else":  {"pytest.ini", "", "norecursedirs = build .git\n", ""},
		"a configuration of no tests": {"README.md", "", "--ignore=tests/test_a.py", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			read := func(text string) Read { return func(string) ([]byte, error) { return []byte(text), nil } }
			found, err := ExcludedTests([]git.Change{{Path: tt.file, Kind: git.Modified}}, read(tt.before), read(tt.after), func() ([]string, error) { return append([]string(nil), files...), nil })
			check.OK(t, err)
			got := ""
			for _, f := range found {
				got += f.What
			}
			check.Equal(t, "result", tt.want, got)
		})
	}
}

func TestSettingsOfARunnerMayMove(t *testing.T) {
	t.Parallel()
	const option = "addopts = --ignore=tests/test_a.py\n"
	before := func(name string) ([]byte, error) { return []byte(map[string]string{"setup.cfg": option}[name]), nil }
	after := func(name string) ([]byte, error) {
		return []byte(map[string]string{"pyproject.toml": option}[name]), nil
	}
	found, err := ExcludedTests([]git.Change{{Path: "pyproject.toml", Kind: git.Added}, {Path: "setup.cfg", Kind: git.Deleted}}, before, after,
		func() ([]string, error) { return []string{"setup.cfg", "tests/test_a.py"}, nil })
	if err != nil || len(found) > 0 {
		t.Errorf("got %v, %v, want nothing: it was left out before", found, err)
	}
}
