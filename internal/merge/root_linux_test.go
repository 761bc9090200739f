package merge

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"ralph/internal/testing/check"
)

// newUnborn is a repository without a commit, and a first one that can land there.
func newUnborn(t *testing.T) (r repo, root, first string) {
	t.Helper()
	r = newRepo(t)
	r.write("new", "n\n", "zz.slow", "z\n")
	r.git("add", "-A")
	first = r.git("commit-tree", "-m", "first", r.git("write-tree"))
	r.git("rm", "-q", "-r", "-f", ".")
	r.git("update-ref", "-d", main)
	at, err := At(t.Context(), r.Repo, main)
	check.OK(t, err)
	check.That(t, isRoot(at.Branch), "%s is not the commit of nothing", at.Branch)
	return r, at.Branch, first
}

// look looks at the branch, which was seen at a commit before.
func (r repo) look(last string) (string, error) {
	w := Watch{Tip: last}
	return w.Look(r.t.Context(), r.Repo, main)
}

// TestTheFirstCommitLands on a branch that has none, also where git has no index yet, and a person's files stay.
func TestTheFirstCommitLands(t *testing.T) {
	t.Parallel()
	r, root, first := newUnborn(t)
	check.OK(t, os.Remove(filepath.Join(r.dir, ".git/index")))
	tip, err := r.look("")
	check.That(t, tip == root && err == nil, "got %s, %v", tip, err)
	check.OK(t, r.land(root, root)) // nothing
	_, err = r.run("rev-parse", "--verify", "-q", main)
	check.That(t, err != nil, "the branch has a commit")

	r.write("new", "mine\n")
	blocked := new(BlockedError)
	check.That(t, errors.As(r.land(root, first), &blocked), "it landed over a person's file")
	check.Equal(t, "files", []string{"new"}, blocked.Files)
	check.Equal(t, "mine", "mine\n", r.read("new"))
	check.OK(t, os.Remove(filepath.Join(r.dir, "new")))

	for range 2 {
		check.OK(t, r.land(root, first))
		r.wantClean(first)
	}
	tip, err = r.look(root)
	check.That(t, tip == first && err == nil, "got %s, %v", tip, err)
	r.git("update-ref", "-d", main)
	_, err = r.look(first)
	check.That(t, errors.Is(err, ErrDeleted), "got %v", err)
}

// TestAPersonsFirstCommitCounts: what was to be the first lands on it.
func TestAPersonsFirstCommitCounts(t *testing.T) {
	t.Parallel()
	r, root, first := newUnborn(t)
	r.write("mine", "m\n")
	mine := r.commit()
	check.That(t, errors.Is(r.land(root, first), ErrMoved), "it landed beside a person's commit")
	r.wantClean(mine)
	tip, err := r.look(root)
	check.That(t, tip == mine && err == nil, "got %s, %v", tip, err)
}

// TestAKilledFirstLanding is taken back.
func TestAKilledFirstLanding(t *testing.T) {
	t.Parallel()
	r, root, first := newUnborn(t)
	r.killAt(root, first)
	check.Equal(t, "written", "n\n", r.read("new"))
	check.Equal(t, "left", Left{}, r.unfinish(root, first))
	check.Equal(t, "status", "", r.git("status", "--porcelain", "--untracked-files=all"))
	r.wantUnlocked()
	check.OK(t, r.land(root, first))
	r.wantClean(first)
}

// TestABranchThatIsBornWhileItIsLookedFor is there, or is to get its first commit: it was never deleted.
func TestABranchThatIsBornWhileItIsLookedFor(t *testing.T) {
	t.Parallel()
	r, _, first := newUnborn(t)
	for range 20 {
		born := make(chan error)
		go func() {
			_, err := r.run("update-ref", main, first)
			born <- err
		}()
		at, err := At(t.Context(), r.Repo, main)
		check.OK(t, <-born)
		check.OK(t, err)
		check.That(t, at.Branch != "", "the branch is gone")
		r.git("update-ref", "-d", main)
	}
}
