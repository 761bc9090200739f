package git

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"ralph/internal/testing/check"
)

// repo is a real repository in a folder of its own.
type repo struct {
	t   *testing.T
	dir string
}

func newRepo(t *testing.T) repo {
	t.Helper()
	return repo{t, t.TempDir()}.init(".")
}

func (r repo) git(args ...string) string {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), "git", append([]string{"-c", "user.name=t", "-c", "user.email=t@localhost"}, args...)...)
	cmd.Dir = r.dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// write writes files: the name and the text of one, of the next, and so on.
func (r repo) write(files ...string) {
	r.t.Helper()
	for file := range slices.Chunk(files, 2) {
		path := filepath.Join(r.dir, file[0])
		check.OK(r.t, os.MkdirAll(filepath.Dir(path), 0o700))
		check.OK(r.t, os.WriteFile(path, []byte(file[1]), 0o600))
	}
}

func (r repo) commit(names ...string) string {
	r.t.Helper()
	for _, name := range names {
		r.write(name, "text of "+name+"\n")
	}
	r.git("add", "-A")
	r.git("commit", "-qm", "work")
	return r.git("rev-parse", "HEAD")
}

// in is a folder of the repository, or a repository inside.
func (r repo) in(name string) repo { return repo{r.t, filepath.Join(r.dir, name)} }

// init makes a repository in a folder, without a commit.
func (r repo) init(name string) repo {
	r.t.Helper()
	in := r.in(name)
	check.OK(r.t, os.MkdirAll(in.dir, 0o700))
	in.git("init", "-q", "-b", "main")
	return in
}

// within makes a repository inside, with one commit of the named files.
func (r repo) within(name string, files ...string) repo {
	r.t.Helper()
	in := r.init(name)
	in.commit(files...)
	return in
}

func (r repo) look() State { r.t.Helper(); return Look(r.t.Context(), r.dir) }

func (r repo) want(want State) {
	r.t.Helper()
	check.Equal(r.t, "state", want, r.look(), cmpopts.IgnoreUnexported(State{}))
}

func TestLookWhereThereIsNoRepository(t *testing.T) {
	t.Parallel()
	for name, dir := range map[string]string{"a plain folder": t.TempDir(), "no folder": filepath.Join(t.TempDir(), "none")} {
		got := Look(t.Context(), dir)
		check.That(t, !got.Known && got.Head == "" && got.Uncommitted == nil, "%s: got %+v, want nothing", name, got)
	}
}

func TestLookFollowsARepository(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.want(State{Known: true, Branch: "main"})
	r.write("new.txt", "x")
	r.want(State{Known: true, Branch: "main", Uncommitted: []string{"new.txt"}})
	head := r.commit("a.txt", "? odd name.txt", "sub/stays.txt", "ü\n.txt")
	r.want(State{Known: true, Branch: "main", Head: head})

	// every kind of change, each by the name that the file has now
	r.write("a.txt", "changed\n")
	r.git("mv", "? odd name.txt", "sub/moved.txt")
	r.git("rm", "-q", "ü\n.txt")
	r.write("sub/new file.txt", "x", ".gitignore", "ignored\n", "ignored", "x")
	r.want(State{Known: true, Branch: "main", Head: head, Uncommitted: []string{
		".gitignore", "a.txt", "sub/moved.txt", "sub/new file.txt", "ü\n.txt",
	}})

	// from a folder below, and without a branch
	r.git("stash", "-q", "-a")
	r.git("checkout", "-q", "--detach")
	check.Equal(t, "state", State{Known: true, Head: head}, Look(t.Context(), filepath.Join(r.dir, "sub")), cmpopts.IgnoreUnexported(State{}))
}

func TestLookTellsConflicts(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.commit("both.txt")
	r.git("checkout", "-q", "-b", "other")
	r.write("both.txt", "theirs\n")
	r.commit()
	r.git("checkout", "-q", "main")
	r.write("both.txt", "ours\n")
	head := r.commit()
	cmd := exec.CommandContext(t.Context(), "git", "merge", "-q", "other")
	cmd.Dir = r.dir
	_ = cmd.Run() // the conflict is what is wanted
	r.want(State{Known: true, Branch: "main", Head: head, Uncommitted: []string{"both.txt"}})
}

// TestLookRunsNothingOfTheRepository: an agent can write hooks, monitors and filters into
// a repository, or into one inside it, and ralph is not confined.
func TestLookRunsNothingOfTheRepository(t *testing.T) {
	t.Parallel()
	for _, inner := range []string{".", "n"} {
		r := newRepo(t)
		place := r.within(inner, "a")
		r.commit("b")
		r.commit("c")
		trap := filepath.Join(t.TempDir(), "trap")
		check.OK(t, os.WriteFile(trap, []byte("#!/bin/sh\ntouch '"+trap+".sprung'\ncat\n"), 0o700))
		check.OK(t, os.Symlink(trap, filepath.Join(filepath.Dir(trap), "post-index-change")))
		for key, value := range map[string]string{
			"core.fsmonitor": trap, "core.hooksPath": filepath.Dir(trap), "filter.x.clean": trap, "filter.x.process": trap, "filter.x.required": "true",
		} {
			place.git("config", key, value)
		}
		place.write(".git/info/attributes", "* filter=x\n", "a", "two")
		now := r.look()
		check.That(t, now.Known, "it could not be looked at")
		_, err := os.Stat(trap + ".sprung")
		check.That(t, err != nil, "it ran a program of the repository %s", inner)
	}
}

// TestNoFilterIsOverlooked, however an agent writes it: git is asked about filters only where
// the text of a configuration may name one.
func TestNoFilterIsOverlooked(t *testing.T) {
	t.Parallel()
	const filter = "[filter \"x\"]\n\tclean = %\n\trequired = true\n"
	tests := map[string]func(r repo, filter string){
		"in capitals":        func(r repo, filter string) { r.append(".git/config", strings.ToUpper(filter[:7])+filter[7:]) },
		"in an older syntax": func(r repo, filter string) { r.append(".git/config", strings.Replace(filter, ` "x"`, ".x", 1)) },
		"in another file": func(r repo, filter string) {
			r.append(".git/config", "[Include]\n\tpath = ../more\n")
			r.write("more", filter)
		},
		"for a worktree": func(r repo, filter string) {
			r.git("config", "extensions.worktreeConfig", "true")
			r.write(".git/config.worktree", filter)
		},
	}
	for name, plant := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t)
			r.commit("a")
			trap := filepath.Join(t.TempDir(), "trap")
			check.OK(t, os.WriteFile(trap, []byte("#!/bin/sh\ntouch '"+trap+".sprung'\ncat\n"), 0o700))
			plant(r, strings.Replace(filter, "%", trap, 1))
			r.write(".gitattributes", "* filter=x\n", "a", "TEXT of a\n") // of the same size, so that git reads it
			r.look()
			_, err := os.Stat(trap + ".sprung")
			check.That(t, err != nil, "it ran")
		})
	}
}

// TestNoSignatureIsChecked: an agent can name the program that does.
func TestNoSignatureIsChecked(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.commit("a")
	r.write("a", "2")
	r.git("stash")
	trap := filepath.Join(t.TempDir(), "trap")
	check.OK(t, os.WriteFile(trap, []byte("#!/bin/sh\ntouch '"+trap+".sprung'\n"), 0o700))
	headers, message, _ := strings.Cut(r.git("cat-file", "commit", "refs/stash"), "\n\n")
	r.write("signed", headers+"\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\n"+message+"\n")
	r.git("stash", "store", "-m", "On main: ralph: kept", r.git("hash-object", "-t", "commit", "-w", "signed"))
	r.git("config", "log.showSignature", "true")
	r.git("config", "gpg.program", trap)
	check.Equal(t, "stashes", []Stashed{{"stash@{0}", "ralph: kept"}}, Stashes(t.Context(), r.dir, "ralph: "))
	_, err := os.Stat(trap + ".sprung")
	check.That(t, err != nil, "it ran")
}

func (r repo) append(name, text string) {
	r.t.Helper()
	was, err := os.ReadFile(filepath.Join(r.dir, name))
	check.OK(r.t, err)
	r.write(name, string(was)+text)
}

// TestLookTakesNoLock: an agent may be committing, and a look writes nothing.
func TestLookTakesNoLock(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	head := r.commit("a.txt")
	index := filepath.Join(r.dir, ".git", "index")
	before, err := os.ReadFile(index)
	check.OK(t, err)
	later := time.Now().Add(time.Hour) // an ordinary status would refresh the index now
	check.OK(t, os.Chtimes(filepath.Join(r.dir, "a.txt"), later, later))
	r.want(State{Known: true, Branch: "main", Head: head})
	after, err := os.ReadFile(index)
	check.That(t, err == nil && bytes.Equal(before, after), "the index was written (%v)", err)
	r.write(".git/index.lock", "an agent is committing")
	r.want(State{Known: true, Branch: "main", Head: head})
}

// TestNamesBeginAtTheFolderThatAsks: a project may be a part of a repository, and
// all other names of files begin at the project.
func TestNamesBeginAtTheFolderThatAsks(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.commit("top.txt", "sub/a.txt")
	r.git("config", "diff.relative", "true") // what a person likes must not change it
	sub := filepath.Join(r.dir, "sub")
	r.write("sub/c.txt", "x", "above.txt", "x")
	check.Equal(t, "files", []string{"../above.txt", "c.txt"}, Look(t.Context(), sub).Uncommitted)
}

func TestHeadIsWhatGitSays(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	check.Equal(t, "head without a commit", "", Head(t.Context(), r.dir))
	first := r.commit("a.txt")
	r.git("worktree", "add", "-q", "-b", "other/branch", "tree")
	second := r.commit("b.txt")
	r.git("pack-refs", "--all")
	check.Equal(t, "head", second, Head(t.Context(), r.dir))
	check.Equal(t, "head of a worktree", first, Head(t.Context(), filepath.Join(r.dir, "tree")))
	third := r.commit("c.txt") // newer than what is packed
	check.Equal(t, "head", third, Head(t.Context(), r.dir))
	r.git("symbolic-ref", "refs/heads/alias", "refs/heads/main")
	r.git("symbolic-ref", "HEAD", "refs/heads/alias")
	check.Equal(t, "head through two names", third, Head(t.Context(), r.dir))
	check.Equal(t, "head of no repository", "", Head(t.Context(), t.TempDir()))
}

// TestARepositoryOfSomebodyElseIsLeftAlone, as git leaves it alone.
func TestARepositoryOfSomebodyElseIsLeftAlone(t *testing.T) {
	r := newRepo(t)
	t.Setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
	check.That(t, !Look(t.Context(), r.dir).Known, "it is read")
	t.Setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "0")
	check.That(t, Look(t.Context(), r.dir).Known, "it is not read although it is ours")
}

// TestNoGitIsStartedWhereThereIsNoRepository: attempts ask for the commit in any project.
func TestNoGitIsStartedWhereThereIsNoRepository(t *testing.T) {
	bin := t.TempDir()
	started := filepath.Join(bin, "started")
	check.OK(t, os.WriteFile(filepath.Join(bin, "git"), []byte("#!/bin/sh\n: > "+started+"\n"), 0o700))
	t.Setenv("PATH", bin)
	check.Equal(t, "the commit", "", Head(t.Context(), t.TempDir()))
	check.That(t, !exists(started), "git was started")
}
