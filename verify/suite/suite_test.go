package suite

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"ralph/internal/git"
	"ralph/internal/testing/check"
)

// files are texts by path.
type files map[string]string

func (f files) read(path string) ([]byte, error) {
	if text, ok := f[path]; ok {
		return []byte(text), nil
	}
	for name := range f {
		if strings.HasPrefix(name, path+"/") {
			return nil, fmt.Errorf("a folder: %w", git.ErrTooLarge)
		}
	}
	return nil, fs.ErrNotExist
}

// changes compares two trees as git does: a file whose text is in a new one was renamed.
func changes(base, work files) (list []git.Change) {
	taken := map[string]bool{}
	for _, old := range slices.Sorted(maps.Keys(base)) {
		text, still := work[old]
		if still {
			if text != base[old] {
				list = append(list, git.Change{Path: old, Kind: git.Modified})
			}
			continue
		}
		c := git.Change{Path: old, Kind: git.Deleted}
		for _, path := range slices.Sorted(maps.Keys(work)) {
			if _, was := base[path]; !was && !taken[path] && similar(base[old], work[path]) {
				taken[path], c = true, git.Change{Path: path, Old: old, Kind: git.Renamed}
				break
			}
		}
		list = append(list, c)
	}
	for _, path := range slices.Sorted(maps.Keys(work)) {
		if _, was := base[path]; !was && !taken[path] {
			list = append(list, git.Change{Path: path, Kind: git.Added})
		}
	}
	return list
}

// similar goes by the first line, which is most of these files.
func similar(a, b string) bool {
	first, _, _ := strings.Cut(a, "\n")
	return first != "" && strings.HasPrefix(b, first)
}

// apply makes the tree in which the old files check the work.
func apply(base, work files, edits []Edit) files {
	tree := maps.Clone(work)
	for _, e := range edits {
		switch {
		case e.From != "":
			tree[e.Path] = base[e.From]
		case e.Content != nil:
			tree[e.Path] = string(e.Content)
		default:
			delete(tree, e.Path)
		}
	}
	return tree
}

func (f files) all() ([]string, error) { return slices.Sorted(maps.Keys(f)), nil }

func (f files) beside(dir string) ([]string, error) {
	all, _ := f.all()
	return slices.DeleteFunc(all, func(file string) bool { return path.Dir(file) != dir }), nil
}

func plan(t *testing.T, base, work files, task string, gates ...string) (Plan, files) {
	t.Helper()
	s, err := Of(Base{
		Gates: gates, Task: task, Read: base.read,
		Beside: base.beside,
	})
	check.OK(t, err)
	p, err := s.Plan(changes(base, work), work.read)
	check.OK(t, err)
	return p, apply(base, work, p.Edits)
}

func TestFilesAreOfAKind(t *testing.T) {
	t.Parallel()
	base := files{
		"Makefile":   "include mk/lint.mk\ntest: ## runs all\n\t@./scripts/unit.sh -v\nserve:\n\tgo run ./cmd/server\n",
		"mk/lint.mk": "lint:\n\tpython3 tools/lint.py\n", "tools/lint.py": "import subprocess\nsubprocess.run(['tools/rules.json'])\n", "tools/rules.json": "{}",
		"scripts/unit.sh": "#!/bin/sh\n. \"$(dirname \"$0\")/lib.sh\"\n. ./lib/slug.sh\ngo test ./...\n", "lib/slug.sh": "slug() { :; }\n", "scripts/lib.sh": "set -e\n", "scripts/release.sh": "git tag\n",
		"cmd/server/main.go": "package main\n", "hello.sh": "echo hello\n", "all": "#!/bin/sh\nmake test\n",
		"web/package.json": `{"scripts":{"test":"node scripts/run.js && jest"}}`, "web/scripts/run.js": "1",
		"tools/gate/main.go": "package main\n", "app.py": "print(1)\n", "coverage.sh": "[ $n -ge $(cat .minimum) ] && [ -f .rc ] && . ./.rc\n", ".minimum": "80",
		"internal/assert/assert.go": "package assert\n\nimport (\n\t\"testing\"\n)\n", "internal/checkout/cart.go": "package checkout\n",
	}
	s, err := Of(Base{
		Gates: []string{
			"make test", "./all", "./hello.sh | grep -q hello", "cd web && npm test", "go run ./tools/gate", "grep -q x README.md", "python app.py --check", "./coverage.sh", "python -m doctest GUIDE.md",
			"go test ./... && pytest -q",
		},
		Protect: []string{"locked/"}, Read: base.read,
	})
	check.OK(t, err)
	want := map[Kind]string{
		Test: `a_test.go pkg/x_test.go web/a.test.ts src/b.spec.js test/foo.js __tests__/x.tsx tests/test_a.py test_a.py app/tests.py a_test.py
			tests/it.rs src/tests.rs src/test/java/FooTest.java FooTests.cs App.Tests/FooTests.cs spec/a_spec.rb test/a_test.rb tests/FooTest.php
			t/basic.t tests/a.bats run_test.sh FooSpec.kt test/a_test.exs lib/a_test.dart e2e/login.cy.ts features/test_login.feature x_unittest.cc test/runtests.jl`,
		Fixture: `testdata/a.txt pkg/testdata/x_test.go src/__snapshots__/a.snap tests/data.json test/fixtures/a.bin expected.txt out.golden tests/common/mod.rs
			tests/helpers.py internal/testutil/assert.go internal/assert/assert.go testutil.go src/test/resources/a.xml golden/a.json cassettes/x.yml api/expected/a.json
			cases/one.expected out-expected.txt`,
		Settings: `conftest.py tests/conftest.py pytest.ini tox.ini .coveragerc jest.config.js jest.config.mts vitest.config.ts .mocharc.json karma.conf.js
			babel.config.js .npmrc .cargo/config.toml .config/nextest.toml go.work .golangci.yml eslint.config.js ruff.toml mypy.ini sitecustomize.py
			evil.pth .env .env.test .husky/pre-commit phpunit.xml .rspec spec/spec_helper.rb package.json web/package.json pyproject.toml setup.cfg Cargo.toml go.mod tsconfig.json
			pom.xml __mocks__/fs.js tests/__init__.py cypress/support/e2e.js rust-toolchain.toml vendor/github.com/stretchr/testify/assert/assert.go`,
		Script:    `Makefile GNUmakefile mk/lint.mk scripts/unit.sh scripts/lib.sh tools/lint.py tools/rules.json all web/scripts/run.js tools/gate/main.go coverage.sh .minimum .rc GUIDE.md`,
		Protected: `locked/a locked/a_test.go`,
		"": `main.go testing.go contest.go latest.py src/main/java/PodSpec.java cmd/server/main.go hello.sh lib/slug.sh app.py README.md config/app.toml locales/en.json
			package-lock.json go.sum Cargo.lock docs/test_plan.md specs/openapi.yaml .env.example vendor/github.com/a/b/c_test.go node_modules/x/test/a.js
			internal/testing/run.go scripts/release.sh internal/checkout/cart.go .gitignore _old/a_test.go tests/README.md Dockerfile Gemfile`,
	}
	for kind, paths := range want {
		for _, path := range strings.Fields(paths) {
			check.Equal(t, path, kind, s.Kind(path))
		}
	}
}
