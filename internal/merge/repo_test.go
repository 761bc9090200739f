package merge

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ralph/internal/git"
	"ralph/internal/testing/check"
)

var background = context.Background()

const main = "refs/heads/main"

// repo is a person's repository, with main checked out.
type repo struct {
	*git.Repo
	t      *testing.T
	dir    string
	target string
}

func newRepo(t *testing.T, options ...string) repo {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	check.OK(t, err)
	r := repo{t: t, dir: dir, target: main}
	r.git(append([]string{"init", "-q", "-b", "main"}, options...)...)
	r.git("config", "user.name", "A Person")
	r.git("config", "user.email", "person@example.org")
	r.git("config", "maintenance.auto", "false")
	r.write("a.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "sub/b.txt", "b\n")
	r.commit()
	return r.open()
}

func (r repo) open() repo {
	r.t.Helper()
	var err error
	r.Repo, err = git.OpenRepo(r.t.Context(), r.dir)
	check.OK(r.t, err)
	return r
}

func (r repo) run(args ...string) (string, error) {
	cmd := exec.CommandContext(r.t.Context(), "git", args...)
	cmd.Dir = r.dir
	out, err := cmd.CombinedOutput()
	return strings.TrimSuffix(string(out), "\n"), err
}

// input runs git with something to read.
func (r repo) input(in string, args ...string) {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), "git", args...)
	cmd.Dir, cmd.Stdin = r.dir, strings.NewReader(in)
	out, err := cmd.CombinedOutput()
	check.That(r.t, err == nil, "git %s: %v: %s", args[0], err, out)
}

func (r repo) git(args ...string) string {
	r.t.Helper()
	out, err := r.run(args...)
	if err != nil {
		r.t.Fatalf("git %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return out
}

// write writes pairs of names and contents.
func (r repo) write(pairs ...string) {
	r.t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		at := filepath.Join(r.dir, pairs[i])
		check.OK(r.t, os.MkdirAll(filepath.Dir(at), 0o755))
		check.OK(r.t, os.WriteFile(at, []byte(pairs[i+1]), 0o644))
	}
}

func (r repo) read(name string) string {
	r.t.Helper()
	text, err := os.ReadFile(filepath.Join(r.dir, name))
	check.OK(r.t, err)
	return string(text)
}

// commit commits everything and returns the commit.
func (r repo) commit() string {
	r.t.Helper()
	r.git("add", "-A", "-f")
	r.git("commit", "-q", "--allow-empty", "-m", "work")
	return r.head()
}

func (r repo) head() string { return r.git("rev-parse", "HEAD") }

// on is the commit that this makes of the files of onto. The working tree is left as in before.
func (r repo) on(onto string, change func()) string {
	r.t.Helper()
	before := r.git("rev-parse", "--abbrev-ref", "HEAD")
	r.git("checkout", "-q", "--detach", onto)
	change()
	work := r.commit()
	r.git("checkout", "-q", before)
	return work
}

func (r repo) with(onto string, pairs ...string) string {
	r.t.Helper()
	return r.on(onto, func() { r.write(pairs...) })
}

func (r repo) build(onto, base, work string) Built {
	r.t.Helper()
	b, err := Build(r.t.Context(), r.Repo, onto, base, work, "a message\n")
	check.OK(r.t, err)
	return b
}

// wantClean says that the working tree is as in commit, and that nobody holds a lock.
func (r repo) wantClean(commit string) {
	r.t.Helper()
	check.Equal(r.t, "target", commit, r.git("rev-parse", r.target))
	check.Equal(r.t, "status", "", r.git("status", "--porcelain", "--untracked-files=all"))
	check.Equal(r.t, "difference", "", r.git("diff", "--stat", commit))
	r.wantUnlocked()
}

func (r repo) wantUnlocked() {
	r.t.Helper()
	check.Equal(r.t, "locks", []string(nil), r.locks())
}

func (r repo) locks() (locks []string) {
	for _, pattern := range []string{"*.lock", "refs/*/*.lock", "worktrees/*/*.lock"} {
		found, _ := filepath.Glob(filepath.Join(r.Common(), pattern))
		locks = append(locks, found...)
	}
	return locks
}

var zeroTime = time.Unix(1_000_000_000, 0)

func (r repo) unfinish(onto, candidate string) Left {
	r.t.Helper()
	for {
		left, err := unfinish(r.t.Context(), r.Repo, r.target, onto, candidate)
		if !errors.Is(err, ErrLocked) {
			check.OK(r.t, err)
			return left
		}
	}
}
