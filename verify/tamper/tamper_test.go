package tamper

import (
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ralph/internal/git"
	"ralph/internal/testing/check"
	"ralph/verify/suite"
)

// files are texts by path.
type files map[string]string

func (f files) read(path string) ([]byte, error) {
	text, ok := f[path]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return []byte(text), nil
}

// changesOf compares two sets of files as git does. A file that is gone and whose
// text is in a new file, word for word or marked by "moved:", was renamed.
func changesOf(before, after files) []git.Change {
	var changes []git.Change
	renamed := map[string]string{}
	for _, path := range slices.Sorted(maps.Keys(after)) {
		if _, was := before[path]; was {
			continue
		}
		for _, old := range slices.Sorted(maps.Keys(before)) {
			if _, is := after[old]; !is && renamed[old] == "" && (before[old] == after[path] || strings.Contains(after[path], "moved:"+old)) {
				renamed[old] = path
				changes = append(changes, git.Change{Path: path, Old: old, Kind: git.Renamed})
				break
			}
		}
	}
	for _, path := range slices.Sorted(maps.Keys(before)) {
		text, is := after[path]
		switch {
		case !is && renamed[path] == "":
			changes = append(changes, git.Change{Path: path, Kind: git.Deleted})
		case is && text != before[path]:
			changes = append(changes, git.Change{Path: path, Kind: git.Modified})
		}
	}
	for _, path := range slices.Sorted(maps.Keys(after)) {
		_, was := before[path]
		if !was && !slices.ContainsFunc(changes, func(c git.Change) bool { return c.Path == path }) {
			changes = append(changes, git.Change{Path: path, Kind: git.Added})
		}
	}
	return changes
}

type tampering struct {
	before, after files
	want          []string
}

func (tt tampering) run(t *testing.T) {
	t.Helper()
	var got []string
	for _, f := range find(t, changesOf(tt.before, tt.after), tt.before.read, tt.after.read) {
		if f.Path == "" || !strings.Contains(f.What, plain(f.Path)) {
			t.Errorf("finding %+v does not say where", f)
		}
		got = append(got, f.What)
	}
	check.Equal(t, "findings", tt.want, got)
}

func find(t *testing.T, changes []git.Change, before, after suite.Read) []Finding {
	t.Helper()
	s, err := suite.Of(suite.Base{Gates: []string{"./check.sh", "go test ./..."}, Protect: theProtected(), Read: before})
	check.OK(t, err)
	return Find(changes, s, before, after, theProtected())
}

func runTampering(t *testing.T, tests map[string]tampering) {
	t.Helper()
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.run(t)
		})
	}
}

func TestProtectedFilesAreNotTouched(t *testing.T) {
	t.Parallel()
	runTampering(t, map[string]tampering{
		"a workflow is changed": {
			files{".github/workflows/ci.yml": "a"},
			files{".github/workflows/ci.yml": "b"},
			[]string{"protected file changed: .github/workflows/ci.yml"},
		},
		"a workflow is added":     {nil, files{".github/workflows/x/y.yml": "b"}, []string{"protected file added: .github/workflows/x/y.yml"}},
		"a pipeline is deleted":   {files{".gitlab-ci.yml": "a"}, nil, []string{"protected file deleted: .gitlab-ci.yml"}},
		"a pipeline is moved":     {files{"Jenkinsfile": "a"}, files{"old/Jenkinsfile": "a"}, []string{"protected file renamed: Jenkinsfile -> old/Jenkinsfile"}},
		"a pipeline is put there": {files{"mine.yml": "a"}, files{".travis.yml": "a"}, []string{"protected file renamed: .travis.yml"}},
		"ralph's settings":        {files{".ralph.toml": "a"}, files{".ralph.toml": "b"}, []string{"protected file changed: .ralph.toml"}},
		"ralph's state":           {files{".ralph/features/x/spec.md": "a"}, files{".ralph/features/x/spec.md": "b"}, []string{"protected file changed: .ralph/features/x/spec.md"}},
		"what ralph learned":      {nil, files{".ralph/knowledge/go/x.md": "a"}, nil},
		"the rest of .github":     {nil, files{".github/CODEOWNERS": "a"}, nil},
		"a pipeline of a part":    {nil, files{"sub/.gitlab-ci.yml": "a"}, nil},
		"a name over two lines":   {nil, files{".ci/a\nb": "a"}, []string{`protected file added: ".ci/a\nb"`}},
		"code":                    {files{"main.go": "a"}, files{"main.go": "b", "new.go": "c"}, nil},
	})
}

func TestDeletedTestFilesAreFound(t *testing.T) {
	t.Parallel()
	const one, two = "package a\n\nfunc TestOne(t *testing.T) {\n\tone(t)\n}\n", "package a\n\nfunc TestTwo(t *testing.T) {\n\ttwo(t)\n}\n"
	const all = "for t in tests/* ./t/*.sh; do sh $t; done"
	deleted := []string{"test file deleted: a_test.go"}
	runTampering(t, map[string]tampering{
		"deleted":                       {files{"a_test.go": one, "b_test.go": two}, files{"b_test.go": two}, deleted},
		"emptied":                       {files{"a_test.go": one}, files{"a_test.go": "\n"}, deleted},
		"deleted with its code":         {files{"a.go": "package a", "a_test.go": one}, files{}, nil},
		"renamed":                       {files{"a_test.go": one}, files{"b_test.go": one}, nil},
		"renamed so that it never runs": {files{"a_test.go": one}, files{"_a_test.go": one}, deleted},
		"renamed to something else":     {files{"a_test.go": one}, files{"a.txt": one}, deleted},
		"merged into another":           {files{"a_test.go": one, "b_test.go": two}, files{"b_test.go": two + strings.TrimPrefix(one, "package a\n")}, nil},
		"a part of it is merged":        {files{"a_test.go": one + "func TestX(t *testing.T) {}\n", "b_test.go": two}, files{"b_test.go": two + one}, deleted},
		"split into two":                {files{"a_test.go": one + two}, files{"b_test.go": one, "c_test.go": two}, nil},
		"a test in it":                  {files{"a_test.go": one + two}, files{"a_test.go": one}, nil}, // running it shows
		"run by a gate":                 {files{"check.sh": all, "tests/a.sh": "a", "t/b.sh": "b"}, files{"check.sh": all}, []string{"test file deleted: t/b.sh", "test file deleted: tests/a.sh"}},
		"run by a gate, renamed":        {files{"check.sh": all, "tests/a.sh": "a"}, files{"check.sh": all, "tests/b.sh": "a"}, nil},
		"run by a gate, merged":         {files{"check.sh": all, "tests/a.sh": "a", "tests/b.sh": "b"}, files{"check.sh": all, "tests/b.sh": "b\na"}, nil},
		"run by no gate":                {files{"check.sh": "ls", "tests/a.sh": "a"}, files{"check.sh": "ls"}, nil},
		"a helper, or data":             {files{"check.sh": all, "tests/lib.sh": "a", "tests/util.sh": "b", "tests/a.txt": "c"}, files{"check.sh": all}, nil},
		"other files":                   {files{"a.go": "package a", "testdata/a": "x"}, files{}, nil},
	})
}

func TestWhatRunningTheOldTestsDoesNotShow(t *testing.T) {
	t.Parallel()
	const rust = "fn f() {}\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn adds() {}\n    #[tokio::test]\n    #[ignore]\n    async fn slow() {}\n}\n"
	edited := func(text string, pairs ...string) files {
		return files{"src/lib.rs": strings.NewReplacer(pairs...).Replace(text)}
	}
	runTampering(t, map[string]tampering{
		"a test of Rust is ignored": {edited(rust), edited(rust, "    fn adds", "    #[ignore = \"flaky\"]\n    fn adds"), []string{"test newly ignored: adds in src/lib.rs"}},
		"one is left out":           {edited(rust), edited(rust, "    fn adds", "    #[cfg(any())]\n    fn adds"), []string{"test newly ignored: adds in src/lib.rs"}},
		"a new one is ignored":      {edited(rust), edited(rust, "    fn adds() {}", "    fn adds() {}\n    #[test]\n    #[ignore]\n    fn more() {}"), nil},
		"it says so in a string":    {edited(rust), edited(rust, "fn f() {}", "fn f() { \"#[ignore] fn adds\" }"), nil},
		"the work asks":             {files{"a.go": "package a\n"}, files{"a.go": "package a\nvar x = testing.Testing()\n"}, []string{"the work asks whether it is tested: var x = testing.Testing() (a.go)"}},
		"it did so before":          {files{"a.py": "'pytest' in sys.modules\n"}, files{"a.py": "'pytest' in sys.modules\nx = 1\n"}, nil},
		"a test may":                {nil, files{"a_test.go": "if testing.Testing() {}\n"}, nil},
		"assertions are replaced":   {files{"a.rs": ""}, files{"a.rs": "macro_rules! assert_eq {\n"}, []string{"the work replaces what its tests assert with: macro_rules! assert_eq { (a.rs)"}},
		"a macro of its own":        {files{"a.rs": ""}, files{"a.rs": "macro_rules! my_assert {\nassert == 1\n"}, nil},
		"settings are hidden":       {files{".gitignore": "bin/\n"}, files{".gitignore": "bin/\nconftest.py\n"}, []string{"git ignores a file that checks the work: conftest.py (.gitignore)"}},
		"what people hide":          {nil, files{".gitignore": ".env\ncoverage/\n*.log\n.pytest_cache/\nnode_modules/\n"}, nil},
	})
}

// theProtected is what a project protects unless it says otherwise.
func theProtected() []string {
	return []string{
		".github/workflows/**", ".github/actions/**", ".gitlab-ci.yml", ".circleci/**", "Jenkinsfile", "azure-pipelines.yml",
		".travis.yml", "bitbucket-pipelines.yml", ".buildkite/**", ".drone.yml", ".woodpecker/**", ".ci/**",
		".ralph.toml", ".ralph/**", "!.ralph/knowledge/**",
	}
}

// TestTamperingIsSeenInARealRepository, committed or not, and whatever the agent
// told git to hide.
func TestTamperingIsSeenInARealRepository(t *testing.T) {
	t.Parallel()
	dir, index := t.TempDir(), filepath.Join(t.TempDir(), "index")
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
	run("init", "-q")
	write("a_test.go", "package a\n")
	write("b_test.go", "package b\n")
	write("web/a.test.ts", "it('adds')\n")
	write(".github/workflows/ci.yml", "on: push\n")
	run("add", "-A")
	run("commit", "-qm", "all")
	before := tree()

	check.OK(t, os.Remove(filepath.Join(dir, "b_test.go")))
	run("commit", "-qam", "Make it green")
	run("update-index", "--assume-unchanged", "a_test.go")
	check.OK(t, os.Remove(filepath.Join(dir, "a_test.go")))
	check.OK(t, os.Remove(filepath.Join(dir, "web/a.test.ts")))
	write(".gitattributes", "*.ts binary\n")
	write(".github/workflows/ci.yml", "on: never\n")
	after := tree()

	d, err := git.Trees{Dir: dir}.Compare(t.Context(), before, after, 0)
	check.OK(t, err)
	was, is, end := git.Trees{Dir: dir}.Contents(t.Context(), before, after, 1<<20)
	defer end()
	want := []Finding{
		{".github/workflows/ci.yml", "protected file changed: .github/workflows/ci.yml"},
		{"a_test.go", "test file deleted: a_test.go"},
		{"b_test.go", "test file deleted: b_test.go"},
		{"web/a.test.ts", "test file deleted: web/a.test.ts"},
	}
	check.Equal(t, "findings", want, find(t, d.Changes, was, is))
}
