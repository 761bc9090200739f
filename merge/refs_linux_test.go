package merge

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"ralph/internal/git"
	"ralph/internal/testing/check"
)

// TestLocksThatAKilledGitLeft are in nobody's way: refs can be set and deleted.
func TestLocksThatAKilledGitLeft(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	leave := func(name string) string {
		at := filepath.Join(r.dir, ".git", name)
		check.OK(t, os.MkdirAll(filepath.Dir(at), 0o700))
		check.OK(t, os.WriteFile(at, nil, 0o600))
		return at
	}
	ref := Ref{Name: CandidateRef(1), Commit: r.head()}
	locks := []string{leave(ref.Name + ".lock")}
	check.OK(t, SetRefs(t.Context(), r.Repo, ref))
	r.git("pack-refs", "--all")
	locks = append(locks, leave("packed-refs.lock"))
	check.OK(t, SetRefs(t.Context(), r.Repo, Ref{Name: ref.Name}))
	for _, at := range locks {
		_, err := os.Lstat(at)
		check.That(t, os.IsNotExist(err), "%s is still there", at)
	}
}

// TestNoLockOfALiveGitIsRemoved, not even of one that began while we were looking for who
// holds the one before.
func TestNoLockOfALiveGitIsRemoved(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	var people sync.WaitGroup
	for range 3 { // each in the way of the others
		people.Go(func() {
			for range 30 {
				_, _ = r.run("commit", "-q", "--allow-empty", "-m", "mine")
			}
		})
	}
	over := make(chan struct{})
	go func() { people.Wait(); close(over) }()
	lock := filepath.Join(r.dir, ".git/index.lock")
	for {
		select {
		case <-over:
			return
		default:
		}
		removed, _ := removeLocks(r.Repo, git.Worktree{}, []string{lock})
		check.That(t, len(removed) == 0, "removed %v", removed)
	}
}
