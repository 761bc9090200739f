package tamper

import (
	"errors"
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
	for _, f := range Find(changesOf(tt.before, tt.after), tt.before.read, tt.after.read, theProtected()) {
		if f.Path == "" || !strings.Contains(f.What, plain(f.Path)) {
			t.Errorf("finding %+v does not say where", f)
		}
		got = append(got, f.What)
	}
	check.Equal(t, "findings", tt.want, got)
}

// edited makes cases in which one file is edited by pairs of old and new text.
func edited(file, text string) func(pairs ...string) tampering {
	return func(pairs ...string) tampering {
		return tampering{before: files{file: text}, after: files{file: strings.NewReplacer(pairs...).Replace(text)}}
	}
}

func (tt tampering) wants(want ...string) tampering { tt.want = want; return tt }

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

func TestATestFileThatCannotBeReadIsNotTakenForGood(t *testing.T) {
	t.Parallel()
	fails := func(string) ([]byte, error) { return nil, errors.New("too large") }
	works := func(string) ([]byte, error) { return []byte("package a\n"), nil }
	changes := []git.Change{{Path: "a_test.go", Kind: git.Modified}, {Path: "a.go", Kind: git.Modified}}
	want := []Finding{{"a_test.go", "test file cannot be checked: a_test.go (too large)"}}
	check.Equal(t, "findings", want, Find(changes, works, fails, nil))
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
	dir, objects := t.TempDir(), filepath.Join(t.TempDir(), "objects")
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
		taken, err := git.Take(t.Context(), dir, objects)
		check.OK(t, err)
		return taken.Tree
	}
	run("init", "-q")
	write("a_test.go", goTwo)
	write("b_test.go", goOne)
	write("web/a.test.ts", jsTwo)
	write(".github/workflows/ci.yml", "on: push\n")
	run("add", "-A")
	run("commit", "-qm", "all")
	before := tree()

	check.OK(t, os.Remove(filepath.Join(dir, "b_test.go")))
	run("commit", "-qam", "Make it green")
	run("update-index", "--assume-unchanged", "a_test.go")
	write("a_test.go", goOne)
	write("web/a.test.ts", "xit('adds numbers', f)\nit('adds words', f)\n")
	write(".gitattributes", "*.ts binary\n")
	write(".github/workflows/ci.yml", "on: never\n")
	after := tree()

	d, err := git.Compare(t.Context(), dir, objects, before, after, 0)
	check.OK(t, err)
	was, is, end := git.Contents(t.Context(), dir, objects, before, after, 1<<20)
	defer end()
	want := []Finding{
		{".github/workflows/ci.yml", "protected file changed: .github/workflows/ci.yml"},
		{"a_test.go", "1 test fewer: TestTwo in a_test.go"},
		{"b_test.go", "test file deleted: b_test.go (TestOne)"},
		{"web/a.test.ts", "test newly skipped: adds numbers in web/a.test.ts (xit)"},
	}
	check.Equal(t, "findings", want, Find(d.Changes, was, is, theProtected()))
}
