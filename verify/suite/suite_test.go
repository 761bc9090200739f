package suite

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ralph/internal/git"
	"ralph/internal/testing/check"
	"ralph/internal/testing/raced"
	_ "ralph/internal/testing/seeded"
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
		Files: base.all, Beside: base.beside,
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

func TestOldFilesArePutBack(t *testing.T) {
	t.Parallel()
	const goTest = "package a // tests\nfunc TestA(t *testing.T) { if f() != 1 { t.Fatal() } }\n"
	tests := map[string]struct {
		base, work files
		gate       string
		changed    string // paths of Changed
		tree       files  // what differs from the work; "-" is not there
	}{
		"nothing changed":         {files{"a.go": "1"}, files{"a.go": "2"}, "go test ./...", "", nil},
		"a test is new":           {files{"a.go": "1"}, files{"a.go": "2", "a_test.go": goTest}, "go test ./...", "", nil},
		"a test is changed":       {files{"a_test.go": goTest}, files{"a_test.go": "package a\n"}, "go test ./...", "a_test.go", files{"a_test.go": goTest}},
		"a test is deleted":       {files{"a_test.go": goTest}, files{}, "go test ./...", "a_test.go", files{"a_test.go": goTest}},
		"a test is renamed":       {files{"a_test.go": goTest}, files{"b_test.go": goTest + "// more\n"}, "go test ./...", "b_test.go", files{"a_test.go": goTest, "b_test.go": "-"}},
		"a test hides":            {files{"a_test.go": goTest}, files{"_a_test.go": goTest}, "go test ./...", "_a_test.go", files{"a_test.go": goTest}},
		"a snapshot is changed":   {files{"__snapshots__/a.snap": "1"}, files{"__snapshots__/a.snap": "2"}, "npx jest", "__snapshots__/a.snap", files{"__snapshots__/a.snap": "1"}},
		"settings are new":        {files{"test_a.py": "a"}, files{"test_a.py": "a", "conftest.py": "collect_ignore"}, "pytest", "conftest.py", files{"conftest.py": "-"}},
		"a runner is shadowed":    {files{"test_a.py": "a"}, files{"test_a.py": "a", "pytest.py": "exit"}, "python -m pytest", "pytest.py", files{"pytest.py": "-"}},
		"a library is shadowed":   {files{"t/a.t": "a"}, files{"t/a.t": "a", "lib/Test/More.pm": "1"}, "prove -l t", "lib/Test/More.pm", files{"lib/Test/More.pm": "-"}},
		"a program is shadowed":   {files{"a_test.go": "a"}, files{"a_test.go": "a", "bin/go": "exit"}, "go test ./...", "bin/go", files{"bin/go": "-"}},
		"a Makefile is shadowed":  {files{"Makefile": "test:\n\tgo test\n"}, files{"Makefile": "test:\n\tgo test\n", "GNUmakefile": "test:\n"}, "make test", "GNUmakefile", files{"GNUmakefile": "-"}},
		"a script is emptied":     {files{"check.sh": "go test"}, files{"check.sh": "exit 0"}, "./check.sh", "check.sh", files{"check.sh": "go test"}},
		"a script is a link":      {files{"check.sh": "impl/all", "impl/all": "go test\n"}, files{"check.sh": "impl/all", "impl/all": "go vet\n"}, "./check.sh", "impl/all", files{"impl/all": "go test\n"}},
		"a script runs a new one": {files{"check.sh": "[ -f ci/local.sh ] && . ci/local.sh; go test"}, files{"check.sh": "[ -f ci/local.sh ] && . ci/local.sh; go test", "ci/local.sh": "exit 0"}, "./check.sh", "ci/local.sh", files{"ci/local.sh": "-"}},
		"a new test ends the run": {files{"a_test.go": "a"}, files{"a_test.go": "a", "main_test.go": "func TestMain(m *testing.M) { os.Exit(0) }"}, "go test", "main_test.go", files{"main_test.go": "-"}},
		"a new test comes along":  {files{"a_test.go": goTest}, files{"a_test.go": "package a", "b_test.go": "package b"}, "go test", "a_test.go", files{"a_test.go": goTest, "b_test.go": "-"}},
		"a folder is cut off":     {files{"a/a_test.go": goTest}, files{"a/a_test.go": goTest, "a/go.mod": "module a"}, "go test ./...", "a/go.mod", files{"a/go.mod": "-"}},
		"a new module":            {files{"a/a_test.go": goTest}, files{"a/a_test.go": goTest, "b/go.mod": "module b"}, "go test ./...", "", nil},
		"the work is a script":    {files{"hello.sh": "echo 1"}, files{"hello.sh": "echo 2"}, `[ "$(./hello.sh)" = 2 ]`, "", nil},
		"a list is shortened":     {files{"check.sh": "while read a; do go test ./$a; done < packages.txt", "packages.txt": "a b"}, files{"check.sh": "while read a; do go test ./$a; done < packages.txt", "packages.txt": "a"}, "./check.sh", "packages.txt", files{"packages.txt": "a b"}},
		"a script reads the work": {files{"check.sh": "test $(cat count.txt | wc -w) = 2", "count.txt": "a"}, files{"check.sh": "test $(cat count.txt | wc -w) = 2", "count.txt": "a b"}, "./check.sh", "", nil},
		"the gate names the work": {files{"README.md": "1"}, files{"README.md": "hello"}, "grep -q hello README.md", "", nil},
		"what tests is in the way": {
			files{"tests/a": "1"}, files{"tests": "2"}, "true", "tests/a", files{"tests": "-", "tests/a": "1"},
		},
		"a folder is in the way": {
			files{"conftest.py": "1"}, files{"conftest.py/x": "2"}, "pytest", "conftest.py", files{"conftest.py": "1", "conftest.py/x": "-"},
		},
		"a package moves with its tests": {
			files{"a/a.go": "package a // code", "a/a_test.go": goTest},
			files{"b/a.go": "package a // code, more", "b/a_test.go": "package a // tests\n"},
			"go test ./...", "b/a_test.go",
			files{"b/a_test.go": goTest},
		},
		"a package moves with its tests as they are": {
			files{"a/a.go": "package a // code", "a/a_test.go": goTest}, files{"b/a.go": "package a // code", "b/a_test.go": goTest}, "go test ./...", "", nil,
		},
		"tests within a source of Rust": {
			files{"src/lib.rs": "fn f() -> char { '{' }\n#[cfg(test)]\nmod tests {\n  #[test] fn a() { assert!(f(), \"}\"); }\n}\n"},
			files{"src/lib.rs": "fn f() -> char { '}' }\n#[cfg(test)]\nmod tests {\n  #[test] #[ignore] fn a() { }\n}\nfn g() {}\n"},
			"cargo test", "src/lib.rs",
			files{"src/lib.rs": "fn f() -> char { '}' }\n#[cfg(test)]\nmod tests {\n  #[test] fn a() { assert!(f(), \"}\"); }\n}\nfn g() {}\n"},
		},
		"other lines of Rust": {files{"src/lib.rs": "fn f() {}\n#[cfg(test)]\nmod tests { }\n"}, files{"src/lib.rs": "fn f() { 1 }\n#[cfg(test)]\nmod tests { }\n"}, "cargo test", "", nil},
		"tests of Rust move to a file": {
			files{"src/lib.rs": "fn f() {}\n#[cfg(test)]\nmod tests { old }\n"},
			files{"src/lib.rs": "fn f() {}\n#[cfg(test)]\nmod tests;\n", "src/tests.rs": "old"},
			"cargo test", "src/lib.rs",
			files{"src/lib.rs": "fn f() {}\n#[cfg(test)]\nmod tests { old }\n", "src/tests.rs": "-"},
		},
		"a test embeds data": {
			files{"a.go": "package a", "a_test.go": "//go:embed a.json", "a.json": "1"},
			files{"a.go": "package a", "a_test.go": "//go:embed a.json", "a.json": "2"},
			"go test ./...", "a.json",
			files{"a.json": "1"},
		},
		"a source embeds it, too": {
			files{"a.go": "//go:embed a.json", "a_test.go": "//go:embed a.json", "a.json": "1"},
			files{"a.go": "//go:embed a.json", "a_test.go": "//go:embed a.json", "a.json": "2"},
			"go test ./...", "", nil,
		},
		"what a tool leaves among libraries is no check": {
			files{"node_modules/.vite/vitest/results.json": "1"}, files{"node_modules/.vite/vitest/results.json": "2"}, "npx vitest run", "", nil,
		},
		"a library where pnpm has it is": {
			files{"node_modules/.pnpm/be/be.js": "1"}, files{"node_modules/.pnpm/be/be.js": "2"}, "npm test", "node_modules/.pnpm/be/be.js", files{"node_modules/.pnpm/be/be.js": "1"},
		},
		"a library is changed here": {
			files{"vendor/be/be.go": "1"}, files{"vendor/be/be.go": "2"}, "go test ./...", "vendor/be/be.go", files{"vendor/be/be.go": "1"},
		},
		"a library has another version": {
			files{"vendor/be/be.go": "1", "vendor/modules.txt": "1"}, files{"vendor/be/be.go": "2", "vendor/modules.txt": "2"}, "go test ./...", "", nil,
		},
		"a script reads a list": {
			files{"check.sh": "while read x; do run $x\ndone < names/ALL", "names/ALL": "a"},
			files{"check.sh": "while read x; do run $x\ndone < names/ALL", "names/ALL": ""},
			"./check.sh", "names/ALL",
			files{"names/ALL": "a"},
		},
		"a build file, its tests": {files{"pom.xml": "<a>\n</a>"}, files{"pom.xml": "<a>\n<skipTests>true</skipTests>\n</a>"}, "mvn test", "pom.xml", files{"pom.xml": "<a>\n</a>"}},
		"a build file, a library": {files{"pom.xml": "<a>\n</a>"}, files{"pom.xml": "<a>\n<dependency>x</dependency>\n</a>"}, "mvn test", "", nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, tree := plan(t, tt.base, tt.work, "", tt.gate)
			var changed []string
			for _, c := range p.Changed {
				changed = append(changed, c.Path)
			}
			check.Equal(t, "changed", tt.changed, strings.Join(changed, " "))
			want := maps.Clone(tt.work)
			for path, text := range tt.tree {
				if want[path] = text; text == "-" {
					delete(want, path)
				}
			}
			check.Equal(t, "tree", want, tree)
		})
	}
}

// TestOldTestsHaveTheNewNames of what the work renamed as its task says, and test the same.
func TestOldTestsHaveTheNewNames(t *testing.T) {
	t.Parallel()
	code := files{"a.py": "def total(x):\n    return x\n", "test_a.py": "import a\nassert a.total(1) == 1\nassert a.total(2) == 2\n"}
	with := func(texts ...string) files {
		work := maps.Clone(code)
		for i := 0; i < len(texts); i += 2 {
			work[texts[i]] = texts[i+1]
		}
		return work
	}
	const product, renamed = "def sum_up(x):\n    return x\n", "import a\nassert a.sum_up(1) == 1\nassert a.sum_up(2) == 2\n"
	const task = "Rename total to sum_up"
	tests := map[string]struct {
		base, work files
		task       string
		test       string // in the tree; "" if the old tests need not run
	}{
		"nothing else":             {code, with("a.py", product, "test_a.py", renamed), task, ""},
		"and an assertion":         {code, with("a.py", product, "test_a.py", "import a\nassert a.sum_up(1) == 1\nassert a.sum_up(2)\n"), task, renamed},
		"and a test is gone":       {code, with("a.py", product, "test_a.py", "import a\nassert a.sum_up(1) == 1\n"), task, renamed},
		"the task does not say so": {code, with("a.py", product, "test_a.py", renamed), "Make total faster", code["test_a.py"]},
		"it only names both":       {code, with("a.py", product, "test_a.py", renamed), "Add sum_up(x). The old function total stays.", code["test_a.py"]},
		"in other words":           {code, with("a.py", product, "test_a.py", renamed), "Tidy up\n\nPlease rename the function `a.total()` to `a.sum_up()`.", ""},
		"the old one stays":        {code, with("a.py", product+"def total(x):\n    return 0\n", "test_a.py", renamed), task, code["test_a.py"]},
		"the new one was there":    {with("a.py", code["a.py"]+"def sum_up(): pass\n"), with("a.py", product, "test_a.py", renamed), task, code["test_a.py"]},
		"it is another function":   {code, with("a.py", "def sum_up(y):\n    return 1\n", "test_a.py", renamed), task, code["test_a.py"]},
		"a line stays": {
			with("test_a.py", "say('total')\n"+code["test_a.py"]), with("a.py", product, "test_a.py", "say('total')\n"+renamed), task, "",
		},
		"a file has the old name": {
			with("a.py", "import x/total\n"+code["a.py"], "test_a.py", "import x/total\n"+code["test_a.py"]),
			with("a.py", "import x/total\n"+product, "test_a.py", "import x/total\n"+renamed), task, "",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, tree := plan(t, tt.base, tt.work, tt.task, "python3 test_a.py")
			check.Equal(t, "runs the old tests", tt.test != "", len(p.Changed) > 0)
			check.Equal(t, "old tests", cmp.Or(tt.test, tt.work["test_a.py"]), tree["test_a.py"])
		})
	}
}

func TestAFileThatIsPartlyWorkKeepsThatPart(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ file, base, work, want string }{
		"a script of npm": {
			"package.json", `{"scripts":{"test":"jest","start":"a"},"dependencies":{"a":"1"}}`,
			`{"scripts":{"test":"true","start":"b","new":"c","pretest":"d"},"dependencies":{"a":"2","b":"1"},"jest":{"testPathIgnorePatterns":["x"]}}`,
			`{"dependencies":{"a":"2","b":"1"},"scripts":{"new":"c","start":"b","test":"jest"}}`,
		},
		"a dependency":              {"package.json", `{"dependencies":{}}`, `{"dependencies":{"a":"1"}}`, ""},
		"a runner from a folder":    {"package.json", `{"devDependencies":{"jest":"^29"}}`, `{"devDependencies":{"jest":"file:./fake"}}`, `{"devDependencies":{"jest":"^29"}}`},
		"a module from elsewhere":   {"package.json", `{"imports":{"#a":"./a.js"}}`, `{"imports":{"#a":"./b.js","#c":"./c.js"}}`, `{"imports":{"#a":"./a.js","#c":"./c.js"}}`},
		"a crate from elsewhere":    {"Cargo.toml", "[dev-dependencies]\ncompare = {path = 'compare'}\n", "[dev-dependencies]\ncompare = {path = 'fake'}\n", "[dev-dependencies]\n[dev-dependencies.compare]\npath = 'compare'\n"},
		"another version of it":     {"package.json", `{"devDependencies":{"jest":"^29"}}`, `{"devDependencies":{"jest":"^30"}}`, ""},
		"what npm cannot read":      {"package.json", `{"scripts":{}}`, `{"scripts":`, `{"scripts":{}}`},
		"pytest in a pyproject":     {"pyproject.toml", "[project]\nname = 'a'\n", "[project]\nname = 'b'\n[tool.pytest.ini_options]\naddopts = '-k nothing'\n", "[project]\nname = 'b'\n\n[tool]\n"},
		"the rest of a pyproject":   {"pyproject.toml", "[tool.ruff]\na = 1\n", "[project]\nname = 'b'\n[tool.ruff]\na = 1\n", ""},
		"a test of cargo":           {"Cargo.toml", "[package]\nname = 'a'\n", "[package]\nname = 'a'\nautotests = false\n[patch.crates-io]\nx = {path = 'x'}\n[dependencies]\ny = '1'\n", "[dependencies]\ny = '1'\n\n[package]\nname = 'a'\n"},
		"a section of a setup.cfg":  {"setup.cfg", "[metadata]\nname = a\n[tool:pytest]\ntestpaths = tests\n", "[metadata]\nname = b\n[tool:pytest]\naddopts = --co\n", "[metadata]\nname = b\n[tool:pytest]\ntestpaths = tests\n"},
		"a replaced module":         {"go.mod", "module a\n\ngo 1.22\n", "module a\n\ngo 1.22\n\nrequire b v1.0.0\n\nreplace github.com/stretchr/testify => ./fake\n", "module a\n\ngo 1.22\n"},
		"a folder left out of a go": {"go.mod", "module a\n\ngo 1.25\n", "module a\n\ngo 1.25\n\nignore ./broken\n", "module a\n\ngo 1.25\n"},
		"a required module":         {"go.mod", "module a\n", "module a\n\nrequire b v1.0.0\n", ""},
		"how strict a compiler is":  {"tsconfig.json", `{"compilerOptions":{"strict":true, /* as ever */ "target":"es5",}}`, `{"compilerOptions":{"strict":false,"target":"es6"},"exclude":["**/*.test.ts"]}`, `{"compilerOptions":{"strict":true,"target":"es6"}}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, tree := plan(t, files{tt.file: tt.base, "a_test.go": ""}, files{tt.file: tt.work, "a_test.go": ""}, "", "npm test")
			if tt.want == "" {
				check.Equal(t, "changed", 0, len(p.Changed))
				return
			}
			check.That(t, len(p.Changed) == 1, "got %v", p.Changed)
			got, err := tree.read(tt.file)
			check.OK(t, err)
			if strings.HasSuffix(tt.file, ".json") {
				table, err := readJSON(got)
				check.OK(t, err)
				want, err := readJSON([]byte(tt.want))
				check.OK(t, err)
				check.Equal(t, "content", want, table)
				return
			}
			check.Equal(t, "content", tt.want, string(got))
		})
	}
}

// TestAGateThatTheWorkMadePossibleTellsNothing about the old files: there was nothing to run.
func TestAGateThatTheWorkMadePossibleTellsNothing(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		base, work files
		gate       string
		green      bool // before the work
		want       bool
	}{
		"a changed test":            {files{"a_test.go": "1"}, files{"a_test.go": "2"}, "go test ./...", false, true},
		"a new script":              {files{"a_test.go": "1"}, files{"a_test.go": "2", "check.sh": "go test"}, "./check.sh", false, false},
		"a new Makefile":            {files{"a_test.go": "1"}, files{"a_test.go": "2", "Makefile": "test:\n"}, "make test", false, false},
		"a new target":              {files{"a_test.go": "1", "Makefile": "all:\n"}, files{"a_test.go": "2", "Makefile": "test:\n"}, "make test", false, false},
		"a target that was":         {files{"a_test.go": "1", "Makefile": "test:\n"}, files{"a_test.go": "2", "Makefile": "test: x\n"}, "make test", false, true},
		"a target from outside":     {files{"a_test.go": "1", "Makefile": "include x.mk\n"}, files{"a_test.go": "2", "Makefile": "include x.mk\n"}, "make test", false, true},
		"a new script of npm":       {files{"a.test.js": "1", "package.json": "{}"}, files{"a.test.js": "2", "package.json": `{"scripts":{"test":"jest"}}`}, "npm test", false, false},
		"a built program":           {files{"a_test.go": "1"}, files{"a_test.go": "2"}, ".venv/bin/pytest", false, true},
		"the first settings, red":   {files{"a.py": "1"}, files{"a.py": "2", "pytest.ini": "x", "test_a.py": "1"}, "pytest", false, false},
		"the first settings, green": {files{"a.py": "1"}, files{"a.py": "2", "ruff.toml": "x"}, "ruff check", true, true},
		"settings for old tests":    {files{"test_a.py": "1"}, files{"test_a.py": "1", "pytest.ini": "x"}, "pytest", false, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, _ := plan(t, tt.base, tt.work, "", tt.gate)
			check.That(t, len(p.Changed) > 0, "nothing changed")
			check.Equal(t, "tells", tt.want, p.Tells(tt.gate, tt.green))
		})
	}
}

// TestWhatIsNoTextIsPutBack, too: nobody reads it.
func TestWhatIsNoTextIsPutBack(t *testing.T) {
	t.Parallel()
	dir, objects := t.TempDir(), filepath.Join(t.TempDir(), "objects")
	at := func(name string) string { return filepath.Join(dir, name) }
	write := func(name, text string) {
		t.Helper()
		check.OK(t, os.MkdirAll(filepath.Dir(at(name)), 0o700))
		check.OK(t, os.WriteFile(at(name), []byte(text), 0o700))
	}
	tree := func() string {
		t.Helper()
		taken, err := git.Take(t.Context(), dir, objects)
		check.OK(t, err)
		return taken.Tree
	}
	check.OK(t, exec.CommandContext(t.Context(), "git", "init", "-q", dir).Run())
	write("check.sh", "scripts/a.sh\n")
	write("scripts/real.sh", "go test\n")
	write("tests/a.bin", "\x00\xff")
	check.OK(t, os.Symlink("real.sh", at("scripts/a.sh")))
	check.OK(t, exec.CommandContext(t.Context(), "git", "init", "-q", at("tests/sub")).Run())
	write("tests/sub/x", "1")
	base := tree()

	check.OK(t, os.Chmod(at("check.sh"), 0o600))
	check.OK(t, os.Remove(at("scripts/a.sh")))
	write("scripts/a.sh", "exit 0\n")
	write("scripts/real.sh", "exit 0\n")
	write("tests/a.bin", "\x00\xfe")
	write("tests/sub/x", "2")
	write("main.go", "package main\n")
	work := tree()

	d, err := git.Compare(t.Context(), dir, objects, base, work, 0)
	check.OK(t, err)
	before, after, end := git.Contents(t.Context(), dir, objects, base, work, 1<<20)
	defer end()
	s, err := Of(Base{Gates: []string{"./check.sh"}, Read: before})
	check.OK(t, err)
	p, err := s.Plan(d.Changes, after)
	check.OK(t, err)
	var want []Edit
	for _, name := range []string{"check.sh", "scripts/a.sh", "scripts/real.sh", "tests/a.bin", "tests/sub/x"} {
		want = append(want, Edit{Path: name, From: name})
	}
	check.Equal(t, "edits", want, p.Edits)
}

func TestAGateThatRunsNothingIsIdle(t *testing.T) {
	t.Parallel()
	const mk = "lint:\n\tgolint\ntest: # all\n\tgo test ./...\n"
	tests := map[string]struct {
		base, work files
		gate, want string
	}{
		"an emptied script":    {files{"check.sh": "go test\n"}, files{"check.sh": "#!/bin/sh\nset -e\necho fine\n"}, "./check.sh", "check.sh"},
		"a script that leaves": {files{"check.sh": "go test\n"}, files{"check.sh": "exit 0\ngo test\n"}, "sh check.sh", "check.sh"},
		"a new script":         {files{}, files{"check.sh": "true\n"}, "./check.sh", "check.sh"},
		"an emptied target":    {files{"Makefile": mk}, files{"Makefile": "lint:\n\tgolint\ntest:\n\t@echo fine\n"}, "make test", "Makefile (test)"},
		"a new target":         {files{}, files{"Makefile": "test:\n\t@true\n"}, "make test", "Makefile (test)"},
		"a target with a need": {files{"Makefile": mk}, files{"Makefile": "unit:\n\tgo test\ntest: unit\n\t@echo fine\n"}, "make test", ""},
		"an emptied script of npm": {
			files{"package.json": `{"scripts":{"test":"jest"}}`}, files{"package.json": `{"scripts":{"test":"echo no tests && exit 0"}}`}, "npm test", "package.json (test)",
		},
		"a script that works":   {files{"check.sh": "go test\n"}, files{"check.sh": "go vet\n"}, "./check.sh", ""},
		"it never did anything": {files{"check.sh": "true\n"}, files{"check.sh": "echo\n"}, "./check.sh", ""},
	}
	for name, tt := range tests {
		s, err := Of(Base{Gates: []string{tt.gate}, Read: tt.base.read})
		check.OK(t, err)
		check.Equal(t, name, tt.want, strings.Join(s.Idle(changes(tt.base, tt.work), tt.work.read), " "))
	}
}

func TestWhatCannotBeReadIsAnError(t *testing.T) {
	t.Parallel()
	broken := errors.New("damaged")
	read := func(string) ([]byte, error) { return nil, broken }
	_, err := Of(Base{Gates: []string{"make test"}, Read: read})
	check.That(t, errors.Is(err, broken), "got %v", err)
	s, err := Of(Base{Gates: []string{"go test ./..."}, Read: read})
	check.OK(t, err)
	_, err = s.Plan([]git.Change{{Path: "package.json", Kind: git.Modified}}, read)
	check.That(t, errors.Is(err, broken), "got %v", err)
}

// TestAGateThatNamesNoFileReadsNothing: most projects pay nothing for being asked.
func TestAGateThatNamesNoFileReadsNothing(t *testing.T) {
	t.Parallel()
	read := func(path string) ([]byte, error) { t.Errorf("%s is read", path); return nil, fs.ErrNotExist }
	s, err := Of(Base{Gates: []string{"go test ./...", "go vet ./...", "pytest -q", "cargo test", "test -f README.md"}, Read: read})
	check.OK(t, err)
	p, err := s.Plan([]git.Change{{Path: "main.go", Kind: git.Modified}, {Path: "a.py", Kind: git.Added}}, read)
	check.That(t, err == nil && len(p.Changed)+len(p.Edits) == 0, "got %v, %v", p, err)
}

// TestTheOldFilesAreAllBack is what a plan is for, whatever the work did: every file that checked it is as it was, and
// there is no other.
func TestTheOldFilesAreAllBack(t *testing.T) {
	t.Parallel()
	names := []string{
		"a.go", "a_test.go", "pkg/b.go", "pkg/b_test.go", "testdata/x", "testdata", "conftest.py", "conftest.py/x", "tests/test_a.py", "tests", "tests/data.json",
		"check.sh", "ci/lib.sh", "GNUmakefile", "Makefile", "jest.config.js", "locked/a", "README.md", "bin/go",
	}
	texts := []string{"one\n", "two\n", "three\n", "one\nmore\n"}
	tree := rapid.Custom(func(t *rapid.T) files {
		f := files{}
		for _, name := range names {
			inTheWay := slices.ContainsFunc(slices.Collect(maps.Keys(f)), func(o string) bool { return strings.HasPrefix(name, o+"/") || strings.HasPrefix(o, name+"/") })
			if text := rapid.SampledFrom(append(texts, "")).Draw(t, name); text != "" && !inTheWay {
				f[name] = text
			}
		}
		return f
	})
	rapid.Check(t, func(rt *rapid.T) {
		base, work := tree.Draw(rt, "base"), tree.Draw(rt, "work")
		if _, is := base["check.sh"]; is {
			base["check.sh"] = "make -f Makefile test && . ci/lib.sh\n"
		}
		s, err := Of(Base{
			Gates: []string{"./check.sh", "go test ./..."}, Protect: []string{"locked/"}, Read: base.read,
			Files: base.all, Beside: base.beside,
		})
		check.OK(t, err)
		all := changes(base, work)
		p, err := s.Plan(all, work.read)
		check.OK(t, err)
		if len(p.Changed) == 0 {
			return
		}
		got := apply(base, work, p.Edits)
		moved := map[string]string{}
		for _, e := range p.Edits {
			if e.From != "" && e.From != e.Path {
				moved[e.From] = e.Path
			}
		}
		for _, c := range all { // with its folder, as it was
			if c.Kind == git.Renamed && base[c.Old] == work[c.Path] && got[c.Path] == work[c.Path] {
				moved[c.Old] = c.Path
			}
		}
		for name, text := range base {
			at := name
			if to := moved[name]; to != "" {
				at = to
			}
			if s.Kind(name) != "" && got[at] != text {
				rt.Fatalf("%s is %q, was %q; edits %+v", name, got[at], text, p.Edits)
			}
		}
		for name := range got {
			_, was := base[name]
			if !was && s.Kind(name) != "" && !slices.Contains(slices.Collect(maps.Values(moved)), name) {
				rt.Fatalf("%s is new; edits %+v", name, p.Edits)
			}
			if parts := strings.SplitAfter(name, "/"); len(parts) == 2 && got[strings.TrimSuffix(parts[0], "/")] != "" {
				rt.Fatalf("%s is a folder and a file", parts[0])
			}
		}
	})
}

// TestALargeProjectIsNotSlow: what is looked at grows with the change, and not with a Makefile or the project.
func TestALargeProjectIsNotSlow(t *testing.T) {
	t.Parallel()
	var mk strings.Builder
	for i := range 40_000 / raced.Scale {
		fmt.Fprintf(&mk, "t%d: scripts/s%d.sh $(X)\n\t@scripts/s%d.sh a b\n", i, i, i)
	}
	reads := 0
	read := func(path string) ([]byte, error) {
		if reads++; path == "Makefile" {
			return []byte(mk.String()), nil
		}
		return nil, fs.ErrNotExist
	}
	s, err := Of(Base{Gates: []string{"make t1"}, Read: read})
	check.OK(t, err)
	check.That(t, reads <= maxReads, "%d files are read", reads)
	check.Equal(t, "kind", Script, s.Kind("Makefile"))
}

func FuzzMixed(f *testing.F) {
	f.Add("package.json", `{"scripts":{"test":"a"}}`, `{"scripts":null}`)
	f.Add("pyproject.toml", "[tool.pytest]\na=1\n", "tool = 1\n")
	f.Add("Cargo.toml", "lib = 1\n", "[lib]\ntest=false\n[[test]]\nname='a'\n")
	f.Add("go.mod", "module a\nreplace b => c v1.0.0\n", "module a\n")
	f.Add("setup.cfg", "[tool:pytest]\n", "[")
	f.Add("tsconfig.json", "{// a\n}", `{"compilerOptions":[]}`)
	f.Add("src/lib.rs", "#[cfg(test)] mod t { '{' }", "#[cfg(test)] mod t {")
	f.Fuzz(func(t *testing.T, name, base, work string) {
		merge := mixed(name, nil)
		if merge == nil {
			merge = mergeRust
		}
		text, err := merge([]byte(base), []byte(work))
		if err != nil {
			return
		}
		again, err := merge([]byte(base), text)
		if name != "src/lib.rs" && (err != nil || string(again) != string(text)) {
			t.Errorf("merged twice: %q, then %q, %v", text, again, err)
		}
	})
}
