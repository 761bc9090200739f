package suite

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
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
		"a package moves with the data of its tests, too": {
			files{"in/a/a.go": "package a // code", "in/a/a_test.go": goTest, "in/a/testdata/x/y": "1"}, files{"b/a.go": "package a // code", "b/a_test.go": goTest, "b/testdata/x/y": "1"}, "go test ./...", "", nil,
		},
		"and with tests that are elsewhere": {
			files{"src/a/a.js": "code", "test/a/a.test.js": "tests"}, files{"src/b/a.js": "code", "test/b/a.test.js": "tests"}, "npm test", "", nil,
		},
		"tests move alone": {
			files{"src/a/a.js": "code", "test/a/a.test.js": "tests"},
			files{"src/a/a.js": "code", "test/b/a.test.js": "tests"},
			"npm test", "test/b/a.test.js",
			files{"test/a/a.test.js": "tests", "test/b/a.test.js": "-"},
		},
		"what is tested is deleted, too": {
			files{"lib/unique.sh": "unique() { sort -u; }\n", "tests/unique.test.sh": "a test\n", "tests/b.test.sh": "b\n"}, files{"tests/b.test.sh": "b\n"}, "./check.sh", "", nil,
		},
		"it is only somewhere else": {
			files{"lib/unique.sh": "unique() { sort -u; }\n", "tests/unique.test.sh": "a test\n", "lib/b.sh": "b\n"},
			files{"lib/b.sh": "unique() { sort -u; }\nb\n"},
			"./check.sh", "tests/unique.test.sh",
			files{"tests/unique.test.sh": "a test\n"},
		},
		"a library is new": {
			files{"a_test.go": goTest}, files{"a_test.go": "package a\n", "vendor/be/be.go": "1"}, "go test ./...", "a_test.go", files{"a_test.go": goTest},
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

// TestWhatTheTaskMayChangeStays as the work has it.
func TestWhatTheTaskMayChangeStays(t *testing.T) {
	t.Parallel()
	base, work := files{"a_test.go": "1", "b_test.go": "1"}, files{"a_test.go": "2", "b_test.go": "2"}
	s, err := Of(Base{Read: base.read, Beside: base.beside, May: func(file string) bool { return file == "a_test.go" }})
	check.OK(t, err)
	p, err := s.Plan(changes(base, work), work.read)
	check.OK(t, err)
	check.Equal(t, "edits", []Edit{{Path: "b_test.go", From: "b_test.go"}}, p.Edits)
}

// TestWhatIsNoTextIsPutBack, too: nobody reads it.
func TestWhatIsNoTextIsPutBack(t *testing.T) {
	t.Parallel()
	dir, index := t.TempDir(), filepath.Join(t.TempDir(), "index")
	at := func(name string) string { return filepath.Join(dir, name) }
	write := func(name, text string) {
		t.Helper()
		check.OK(t, os.MkdirAll(filepath.Dir(at(name)), 0o700))
		check.OK(t, os.WriteFile(at(name), []byte(text), 0o700))
	}
	tree := func() string {
		t.Helper()
		id := ""
		for _, args := range [][]string{{"add", "-A"}, {"write-tree"}} {
			cmd := exec.CommandContext(t.Context(), "git", args...)
			cmd.Dir, cmd.Env = dir, append(os.Environ(), "GIT_INDEX_FILE="+index)
			out, err := cmd.Output()
			check.OK(t, err)
			id = strings.TrimSpace(string(out))
		}
		return id
	}
	check.OK(t, exec.CommandContext(t.Context(), "git", "init", "-q", dir).Run())
	write("check.sh", "scripts/a.sh\n")
	write("scripts/real.sh", "go test\n")
	write("tests/a.bin", "\x00\xff")
	check.OK(t, os.Symlink("real.sh", at("scripts/a.sh")))
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

	d, err := git.Trees{Dir: dir}.Compare(t.Context(), base, work, 0)
	check.OK(t, err)
	before, after, end := git.Trees{Dir: dir}.Contents(t.Context(), base, work, 1<<20)
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

func TestWhatCannotBeReadIsAnError(t *testing.T) {
	t.Parallel()
	broken := errors.New("damaged")
	read := func(string) ([]byte, error) { return nil, broken }
	_, err := Of(Base{Gates: []string{"make test"}, Read: read})
	check.That(t, errors.Is(err, broken), "got %v", err)
	s, err := Of(Base{Read: read})
	check.OK(t, err)
	_, err = s.Plan([]git.Change{{Path: "package.json", Kind: git.Modified}}, read)
	check.That(t, errors.Is(err, broken), "got %v", err)
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
			Beside: base.beside,
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
