package git

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func (r repo) objects() string { return filepath.Join(r.dir, ".state", "objects") }

func (r repo) tree(exclude ...string) string {
	r.t.Helper()
	id, err := Tree(r.t.Context(), r.dir, r.objects(), exclude...)
	if err != nil {
		r.t.Fatal(err)
	}
	return id
}

func (r repo) compare(from, to string) []Change {
	r.t.Helper()
	changes, err := Compare(r.t.Context(), r.dir, r.objects(), from, to)
	if err != nil {
		r.t.Fatal(err)
	}
	return changes
}

func (r repo) wantChanges(from, to string, want ...Change) {
	r.t.Helper()
	if diff := cmp.Diff(want, r.compare(from, to)); diff != "" {
		r.t.Errorf("changes differ (-want +got):\n%s", diff)
	}
}

func (r repo) files(tree string) []string {
	r.t.Helper()
	var names []string
	for _, c := range r.compare("4b825dc642cb6eb9a060e54bf8d69288fbee4904", tree) {
		names = append(names, c.Path)
	}
	return names
}

func (r repo) wantFiles(tree string, want ...string) {
	r.t.Helper()
	if diff := cmp.Diff(want, r.files(tree)); diff != "" {
		r.t.Errorf("files of the tree differ (-want +got):\n%s", diff)
	}
}

func (r repo) remove(name string) {
	r.t.Helper()
	if err := os.RemoveAll(filepath.Join(r.dir, name)); err != nil {
		r.t.Fatal(err)
	}
}

func TestATreeHoldsWhatIsThere(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.wantFiles(r.tree()) // no commit, no file
	r.write("new.txt", "x")
	r.wantFiles(r.tree(), "new.txt") // still no commit
	r.commit("a.txt", "gone.txt", "sub/b.txt", "run.sh", "odd\n\"na\\me\".txt", "latin\xe9.txt")
	before := r.tree()
	if again := r.tree(); again != before {
		t.Errorf("got %s and %s for the same files", before, again)
	}
	r.write(".gitignore", "ignored\n")
	r.write("ignored", "x")
	r.write("a.txt", "changed\n")
	r.remove("gone.txt")
	r.git("add", "a.txt") // what is staged makes no difference
	r.write("a.txt", "changed again\n")
	r.git("mv", "sub/b.txt", "sub/c.txt")
	r.write("odd\n\"na\\me\".txt", "x")
	r.write("latin\xe9.txt", "x")
	if err := os.Chmod(filepath.Join(r.dir, "run.sh"), 0o700); err != nil {
		t.Fatal(err)
	}
	after := r.tree()
	r.wantChanges(before, after,
		Change{Path: ".gitignore", Kind: Added},
		Change{Path: "a.txt", Kind: Modified},
		Change{Path: "gone.txt", Kind: Deleted},
		Change{Path: "latin\xe9.txt", Kind: Modified},
		Change{Path: "odd\n\"na\\me\".txt", Kind: Modified},
		Change{Path: "run.sh", Kind: Mode},
		Change{Path: "sub/c.txt", Old: "sub/b.txt", Kind: Renamed},
	)
	r.wantChanges(before, before)
	r.git("add", "-A")
	r.git("commit", "-qm", "work")
	if committed := r.tree(); committed != after {
		t.Errorf("got %s after a commit of all, want the same %s", committed, after)
	}
}

// TestATreeLeavesTheRepositoryAlone: index, HEAD, refs, stash and objects are theirs.
func TestATreeLeavesTheRepositoryAlone(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.commit("a.txt", "b.txt")
	r.write("staged.txt", "x")
	r.git("add", "staged.txt")
	r.write("a.txt", "changed")
	r.write("untracked.txt", "x")
	r.write(".git/index.lock", "an agent is committing")
	before := content(t, filepath.Join(r.dir, ".git"))
	r.tree()
	if diff := cmp.Diff(before, content(t, filepath.Join(r.dir, ".git"))); diff != "" {
		t.Errorf("the repository was written (-before +after):\n%s", diff)
	}
}

func content(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		files[strings.TrimPrefix(path, dir)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestATreeRunsNothingOfTheRepository, whatever an agent wrote into its settings.
func TestATreeRunsNothingOfTheRepository(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.commit("a.txt", "b.txt")
	trap := filepath.Join(t.TempDir(), "trap")
	if err := os.WriteFile(trap, []byte("#!/bin/sh\necho \"$0 $*\" >> '"+trap+".sprung'\ncat\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, hook := range []string{"post-index-change", "pre-commit", "reference-transaction", "fsmonitor-watchman"} {
		if err := os.Symlink(trap, filepath.Join(r.dir, ".git", "hooks", hook)); err != nil {
			t.Fatal(err)
		}
	}
	r.write(".gitattributes", "* filter=evil diff=evil\n")
	r.write(".git/info/attributes", "* filter=evil diff=evil\n")
	before := r.tree()
	set := func(key, value string) { r.t.Helper(); r.git("config", key, value) }
	set("filter.evil.clean", trap+" clean")
	set("filter.evil.process", trap)
	set("filter.evil.required", "true")
	set("diff.evil.command", trap)
	set("diff.evil.textconv", trap)
	set("diff.external", trap)
	set("core.pager", trap)
	set("core.fsmonitor", trap)
	set("core.sshCommand", trap)
	set("core.alternateRefsCommand", trap)
	set("core.hooksPath", filepath.Join(r.dir, ".git", "hooks"))
	set("uploadpack.packObjectsHook", trap)
	set("alias.ls-files", "!"+trap)
	// and a repository inside, which git would look into
	inner := repo{t, filepath.Join(r.dir, "inner")}
	if err := os.Mkdir(inner.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	inner.git("init", "-q", "-b", "main")
	inner.commit("i.txt")
	inner.write(".gitattributes", "* filter=evil\n")
	inner.git("config", "core.fsmonitor", trap)
	inner.git("config", "filter.evil.clean", trap)
	inner.write("i.txt", "changed")
	r.write("a.txt", "changed\n")
	r.write("new.txt", "x\n")
	os.Remove(trap + ".sprung")
	mid := r.tree()
	inner.write("i.txt", "changed again")
	after := r.tree()
	r.wantChanges(mid, after, Change{Path: "inner/i.txt", Kind: Modified})
	HeadTree(t.Context(), r.dir, "inner")
	r.wantChanges(before, after, Change{Path: "a.txt", Kind: Modified}, Change{Path: "inner/.gitattributes", Kind: Added},
		Change{Path: "inner/i.txt", Kind: Added}, Change{Path: "new.txt", Kind: Added})
	if _, _, err := Patch(t.Context(), r.dir, r.objects(), before, after, 1<<20); err != nil {
		t.Error(err)
	}
	if _, err := Show(t.Context(), r.dir, r.objects(), after, "a.txt", 100); err != nil {
		t.Error(err)
	}
	if said, err := os.ReadFile(trap + ".sprung"); err == nil {
		t.Errorf("it ran the repository's own program:\n%s", said)
	}
}

// TestATreeCannotBeBlinded: what git offers to make a change invisible.
func TestATreeCannotBeBlinded(t *testing.T) {
	t.Parallel()
	tests := map[string]func(r repo){
		"an entry that is assumed to be unchanged": func(r repo) {
			r.git("update-index", "--assume-unchanged", "a.txt")
			r.write("a.txt", "CHANGED OF a.txt\n")
		},
		"an entry that is left out of the checkout": func(r repo) {
			r.git("update-index", "--skip-worktree", "a.txt")
			r.write("a.txt", "CHANGED OF a.txt\n")
		},
		"the same size and the same time": func(r repo) {
			path := filepath.Join(r.dir, "a.txt")
			info, err := os.Stat(path)
			if err != nil {
				r.t.Fatal(err)
			}
			r.git("config", "core.trustctime", "false")
			r.git("config", "core.checkStat", "minimal")
			r.write("a.txt", "TEXT of a.txt\n")
			if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
				r.t.Fatal(err)
			}
		},
		"a file that is ignored from now on": func(r repo) {
			r.write(".git/info/exclude", "*.txt\n")
			r.write("a.txt", "changed")
		},
		"a file that is ignored and not tracked any more": func(r repo) {
			r.write(".git/info/exclude", "*.txt\n")
			r.git("rm", "-q", "--cached", "a.txt")
			r.write("a.txt", "changed")
		},
		"an encoding that git cannot read": func(r repo) {
			r.write(".git/info/attributes", "*.txt working-tree-encoding=UTF-16\n")
			r.write("a.txt", "odd")
		},
		"an index that is damaged": func(r repo) {
			r.write(".git/index", "no index")
			r.write("a.txt", "changed")
		},
		"settings that cannot be read": func(r repo) {
			r.write(".git/config", "[no settings")
			r.write("a.txt", "changed")
		},
		"a folder that became a repository of its own": func(r repo) {
			inner := repo{r.t, filepath.Join(r.dir, "sub")}
			inner.git("init", "-q")
			r.write("a.txt", "changed")
		},
	}
	for name, blind := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t)
			r.commit("a.txt", "sub/b.txt")
			before := r.tree()
			blind(r)
			r.wantChanges(before, r.tree(), Change{Path: "a.txt", Kind: Modified})
		})
	}
}

// TestATreeSeesAChangeInTheSameMoment: size and times may all be the same when a
// file is written twice within one tick of the clock.
func TestATreeSeesAChangeInTheSameMoment(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	seen := map[string]string{}
	for _, text := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		r.write("a.txt", text)
		id := r.tree()
		if was, is := seen[id]; is {
			t.Fatalf("%q has the tree of %q", text, was)
		}
		seen[id] = text
	}
}

// TestATreeSeesAChangeInTheMomentOfTheLast, also a second later: what git remembers
// of a file is worth nothing if the file is as young as the memory.
func TestATreeSeesAChangeInTheMomentOfTheLast(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	moment := time.Now().Add(-time.Hour)
	at := func(path string) {
		t.Helper()
		if err := os.Chtimes(path, moment, moment); err != nil {
			t.Fatal(err)
		}
	}
	r.write("a.txt", "one")
	at(filepath.Join(r.dir, "a.txt"))
	before := r.tree()
	index, err := filepath.Glob(filepath.Join(r.objects(), "index-*"))
	if err != nil || len(index) != 1 {
		t.Fatalf("got %q, %v, want one index", index, err)
	}
	at(index[0])
	r.write("a.txt", "two")
	at(filepath.Join(r.dir, "a.txt"))
	r.wantChanges(before, r.tree(), Change{Path: "a.txt", Kind: Modified})
}

func TestATreeTakesWhatItCan(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.commit("a.txt", "was a file", "dir/was in a folder", "now a file/x", "pipe")
	before := r.tree()
	r.remove("was a file")
	r.write("was a file/now/a folder", "x")
	r.remove("dir")
	r.remove("now a file")
	r.write("now a file", "x")
	r.remove("pipe")
	r.write("z.txt", "x")
	if err := os.Symlink("nowhere", filepath.Join(r.dir, "dir")); err != nil {
		t.Fatal(err)
	}
	makeUnreadable(t, filepath.Join(r.dir, "pipe"))
	empty := repo{t, filepath.Join(r.dir, "empty")} // a repository without a commit
	if err := os.Mkdir(empty.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	empty.git("init", "-q")
	empty.write("inside.txt", "x")
	after := r.tree()
	r.wantFiles(after, "a.txt", "dir", "empty/inside.txt", "now a file", "was a file/now/a folder", "z.txt")
	r.wantFiles(before, "a.txt", "dir/was in a folder", "now a file/x", "pipe", "was a file")
}

func TestATreeHasWhatIsTrackedAlthoughIgnored(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.write(".gitignore", "build\n")
	r.write("build/kept.txt", "x")
	r.write("build/left.txt", "x")
	r.git("add", "-f", "build/kept.txt", ".gitignore")
	r.wantFiles(r.tree(), ".gitignore", "build/kept.txt")
	// people have ignore rules outside of the repository, too
	rules := filepath.Join(t.TempDir(), "ignore")
	if err := os.WriteFile(rules, []byte("*.swp\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.git("config", "core.excludesFile", rules)
	r.write("a.swp", "x")
	r.write("b.tmp", "x")
	r.write(".git/info/exclude", "*.tmp\n")
	r.learn()
	r.wantFiles(r.tree(), ".gitignore", "build/kept.txt")
}

func (r repo) learn() {
	r.t.Helper()
	if err := Rules(r.t.Context(), r.dir, r.objects()); err != nil {
		r.t.Fatal(err)
	}
}

// TestRulesThatWereAddedMeanwhileHideNothing: an agent can write those that are not
// in the working tree, where nobody sees them.
func TestRulesThatWereAddedMeanwhileHideNothing(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.commit("a.txt")
	before := r.tree()
	rules := filepath.Join(t.TempDir(), "ignore")
	if err := os.WriteFile(rules, []byte("conftest.py\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.git("config", "core.excludesFile", rules)
	r.write(".git/info/exclude", "pytest.ini\n")
	r.write("conftest.py", "x")
	r.write("pytest.ini", "x")
	seen := r.tree()
	r.wantChanges(before, seen, Change{Path: "conftest.py", Kind: Added}, Change{Path: "pytest.ini", Kind: Added})
	r.learn() // and what was seen once stays seen
	r.write("later/conftest.py", "x")
	if got := r.tree(); got != seen {
		t.Error("what was ignored when it was asked for the last time is in the tree, or what was seen is gone")
	}
}

func TestATreeOfAFolderInARepository(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.write(".gitignore", "*.log\n") // above, and holds below
	r.commit("top.txt", "sub/a.txt", "sub/.state/x", "sub/out/y")
	sub := repo{t, filepath.Join(r.dir, "sub")}
	before := sub.tree(".state", "out")
	r.write("top.txt", "changed")
	sub.write("x.log", "x")
	sub.write(".state/x", "changed")
	sub.write("out/z", "x")
	if got := sub.tree(".state", "out"); got != before {
		t.Errorf("got %s for changes elsewhere, want %s", got, before)
	}
	sub.write("b.txt", "x")
	sub.wantFiles(sub.tree(".state", "out"), "a.txt", "b.txt")
	sub.wantFiles(sub.tree("out"), ".state/x", "a.txt", "b.txt") // our own folder is never in it
	sub.remove("a.txt")
	sub.remove("b.txt")
	sub.wantFiles(sub.tree(".state", "out"))
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(sub.dir, link); err != nil {
		t.Fatal(err)
	}
	sub.write("b.txt", "x")
	if got, err := Tree(t.Context(), link, r.objects(), ".state", "out"); err != nil || got != sub.tree(".state", "out") {
		t.Errorf("got %s, %v through a symbolic link", got, err)
	}
}

func TestATreeOfAWorktreeAndASubmodule(t *testing.T) {
	t.Parallel()
	r := repo{t, filepath.Join(t.TempDir(), "re:po \"x\"\\\n")}
	if err := os.Mkdir(r.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	r.git("init", "-q", "-b", "main")
	r.commit("a.txt")
	work := repo{t, filepath.Join(t.TempDir(), "work")}
	r.git("worktree", "add", "-q", "-b", "other", work.dir)
	before := work.tree()
	if before != r.tree() {
		t.Error("the same files in a worktree are another tree")
	}
	if n := len(content(t, filepath.Join(work.objects(), "objects"))); n != 0 {
		t.Errorf("got %d objects written that the repository has", n)
	}
	work.write("a.txt", "changed")
	work.write(".gitignore", "*.log\n")
	work.write("x.log", "x")
	work.git("add", "-f", "x.log")
	work.wantChanges(before, work.tree(),
		Change{Path: ".gitignore", Kind: Added}, Change{Path: "a.txt", Kind: Modified}, Change{Path: "x.log", Kind: Added})

	other := newRepo(t)
	other.commit("m.txt")
	r = newRepo(t)
	r.commit("a.txt")
	r.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", other.dir, "module")
	r.git("commit", "-qm", "module")
	with := r.tree()
	r.wantFiles(with, ".gitmodules", "a.txt", "module/m.txt")
	module := repo{t, filepath.Join(r.dir, "module")}
	module.commit("new.txt")
	r.wantChanges(with, r.tree(), Change{Path: "module/new.txt", Kind: Added})
	module.wantFiles(module.tree(), "m.txt", "new.txt")
}

func TestATreeOfARepositoryWithOtherIDs(t *testing.T) {
	t.Parallel()
	r := repo{t, t.TempDir()}
	r.git("init", "-q", "--object-format=sha256")
	r.commit("a.txt")
	before := r.tree()
	r.write("a.txt", "changed")
	after := r.tree()
	if len(after) != 64 {
		t.Errorf("got %q, want an ID of 64 digits", after)
	}
	r.wantChanges(before, after, Change{Path: "a.txt", Kind: Modified})
	if got, err := Show(t.Context(), r.dir, r.objects(), after, "a.txt", 100); err != nil || string(got) != "changed" {
		t.Errorf("got %q, %v", got, err)
	}
}

// TestATreeIsTakenAgainWhenWhatWeRememberIsOfNoUse: objects may be pruned, and our
// own files damaged.
func TestATreeIsTakenAgainWhenWhatWeRememberIsOfNoUse(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.commit("a.txt")
	want := r.tree()
	found, err := filepath.Glob(filepath.Join(r.objects(), "index-*"))
	if err != nil || len(found) != 1 {
		t.Fatalf("got %q, %v, want one index", found, err)
	}
	if err := os.WriteFile(found[0], []byte("no index"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := r.tree(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	left, err := filepath.Glob(filepath.Join(r.objects(), "tree-*"))
	if err != nil || left != nil {
		t.Errorf("got %q left behind, %v", left, err)
	}
}

func TestWhereNobodyCanTellWhatChanged(t *testing.T) {
	t.Parallel()
	plain, broken := t.TempDir(), t.TempDir()
	if err := os.Mkdir(filepath.Join(broken, ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, dir := range map[string]string{"a plain folder": plain, "an empty .git": broken} {
		objects := filepath.Join(t.TempDir(), "objects")
		if _, err := Tree(t.Context(), dir, objects); !errors.Is(err, ErrUnknown) {
			t.Errorf("%s: got %v, want ErrUnknown", name, err)
		}
		if _, err := os.Stat(objects); err == nil {
			t.Errorf("%s: the store was made for nothing", name)
		}
	}
}

// TestATreeDoesNotDependOnTheEnvironment, nor on the settings of a person.
func TestATreeDoesNotDependOnTheEnvironment(t *testing.T) {
	r, other := newRepo(t), newRepo(t)
	r.commit("a.txt", "left/out.txt")
	other.commit("b.txt")
	home := t.TempDir()
	settings := filepath.Join(home, ".gitconfig") // which make every text a binary file
	if err := os.WriteFile(settings, []byte("[core]\n\tbigFileThreshold = 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	before := r.tree("left")
	for name, value := range map[string]string{
		"HOME": home, "GIT_CONFIG_GLOBAL": settings, "GIT_LITERAL_PATHSPECS": "1", "GIT_DIR": filepath.Join(other.dir, ".git"), "GIT_WORK_TREE": other.dir,
		"GIT_INDEX_FILE": filepath.Join(other.dir, ".git", "index"), "GIT_OBJECT_DIRECTORY": filepath.Join(other.dir, ".git", "objects"),
	} {
		t.Setenv(name, value)
	}
	r.write("a.txt", "changed\n")
	after := r.tree("left")
	r.wantChanges(before, after, Change{Path: "a.txt", Kind: Modified})
	r.wantFiles(after, "a.txt")
	if text, _ := r.patch(before, after, 1000); !strings.Contains(text, "+changed\n") {
		t.Errorf("got %q, want the text", text)
	}
}

func TestWithoutAGitProgram(t *testing.T) {
	r := newRepo(t)
	t.Setenv("PATH", t.TempDir())
	if _, err := Tree(t.Context(), r.dir, r.objects()); !errors.Is(err, ErrUnknown) || !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("got %v, want ErrUnknown because git is missing", err)
	}
}
