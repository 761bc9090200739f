package merge

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"ralph/internal/git"
	"ralph/internal/testing/check"
)

// detach has the working tree, or a linked one, without a branch, and HEAD as its target.
func (r repo) detach(linked bool) repo {
	r.t.Helper()
	if linked {
		dir, err := filepath.EvalSymlinks(r.t.TempDir())
		check.OK(r.t, err)
		dir = filepath.Join(dir, "linked")
		r.git("worktree", "add", "-q", "--detach", dir)
		r.dir = dir
	} else {
		r.git("checkout", "-q", "--detach")
	}
	r = r.open()
	var err error
	r.target, err = HeadRef(r.Repo)
	check.OK(r.t, err)
	return r
}

// TestLandingOnADetachedHead moves it and the files, and no branch.
func TestLandingOnADetachedHead(t *testing.T) {
	t.Parallel()
	for _, linked := range []bool{false, true} {
		r := newRepo(t)
		base := r.head()
		next := r.with(base, "a.txt", "changed\n", "new", "n\n")
		r = r.detach(linked)
		for range 2 {
			check.OK(t, r.land(base, next))
			r.wantClean(next)
		}
		check.Equal(t, "main", base, r.git("rev-parse", main))
		_, err := r.run("symbolic-ref", "-q", "HEAD")
		check.That(t, err != nil, "HEAD is not detached any more")
		w := Watch{Tip: next}
		tip, err := w.Look(t.Context(), r.Repo, r.target)
		check.That(t, tip == next && err == nil, "got %s, %v", tip, err)

		// A branch that is checked out is another target, although it has the same commit.
		r.git("switch", "-q", "-c", "other")
		_, err = w.Look(t.Context(), r.Repo, r.target)
		check.That(t, errors.Is(err, ErrSwitched), "got %v", err)
		check.That(t, errors.Is(r.land(next, base), ErrMoved), "it landed on a branch")
		r.wantClean(next)
		check.Equal(t, "branch", "refs/heads/other", r.git("symbolic-ref", "HEAD"))
	}
}

// TestABranchThatIsCheckedOutAtTheLastMomentStays where it is, also where hooks cannot run.
func TestABranchThatIsCheckedOutAtTheLastMomentStays(t *testing.T) {
	t.Parallel()
	for _, hooked := range []bool{true, false} {
		r := newRepo(t)
		base := r.head()
		next := r.with(base, "new", "n\n")
		r = r.detach(false)
		l := &landing{repo: r.Repo, target: r.target, onto: base, candidate: next}
		_, err := l.begin(t.Context())
		check.OK(t, err)
		check.OK(t, l.checkout(t.Context()))
		before, err := l.copyIndex()
		check.OK(t, err)
		if hooked {
			check.OK(t, l.install())
		}
		r.git("symbolic-ref", "HEAD", main)
		err = l.fastForward(t.Context(), before)
		if hooked {
			check.That(t, errors.Is(err, ErrLocked), "got %v", err)
			r.wantClean(base)
		}
		l.end()
		check.Equal(t, "main", base, r.git("rev-parse", main))
	}
}

// TestAKilledLandingOnADetachedHead is taken back, with its locks.
func TestAKilledLandingOnADetachedHead(t *testing.T) {
	t.Parallel()
	for _, linked := range []bool{false, true} {
		r := newRepo(t)
		base := r.head()
		next := r.with(base, "a.txt", "new\n", "new", "n\n", "zz.slow", "z\n")
		common := r.dir
		r = r.detach(linked)
		there := r
		there.dir = common // where .git is a folder
		pipe := there.slow()
		cmd := r.process(base, next)
		_, err := os.ReadFile(pipe)
		check.OK(t, err)
		r.kill(cmd, gitOf(cmd))
		r.git("config", "--remove-section", "filter.slow")
		check.OK(t, os.Remove(filepath.Join(common, ".git/info/attributes")))
		check.Equal(t, "written", "new\n", r.read("a.txt"))
		check.Equal(t, "left", Left{}, r.unfinish(base, next))
		r.wantClean(base)
		check.OK(t, r.land(base, next))
		r.wantClean(next)
	}
}

// TestARebaseHasADetachedHeadForItself, so landing waits for its end.
func TestARebaseHasADetachedHeadForItself(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	base := r.head()
	next := r.with(base, "new", "n\n")
	r = r.detach(false)
	r.write(".git/rebase-merge/head-name", "detached HEAD\n")
	blocked := new(BlockedError)
	check.That(t, errors.As(r.land(base, next), &blocked) && blocked.Why == "a rebase is in progress", "got %v", blocked)
	list, err := r.Worktrees(t.Context())
	check.OK(t, err)
	check.Equal(t, "working trees", []git.Worktree{{Dir: r.dir, GitDir: filepath.Join(r.dir, ".git"), Head: base, Rebase: "detached HEAD"}}, list)
}
