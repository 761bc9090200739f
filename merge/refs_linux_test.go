package merge

import (
	"os"
	"path/filepath"
	"testing"

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
