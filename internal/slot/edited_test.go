package slot

import (
	"testing"

	"ralph/internal/git"
	"ralph/internal/testing/check"
)

// TestASlotShowsWorkWithTheTestsFromBeforeIt, as a commit on the same base, and the work again afterwards.
func TestASlotShowsWorkWithTheTestsFromBeforeIt(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	base := r.commit("sub/a.txt", "old", "sub/a_test.txt", "old", "a_test.txt", "old")
	p := open(t, r, func(o *Options) { o.Sub = "sub" })
	s, at := take(t, p, 1, base)
	at.write("sub/a.txt", "new", "sub/a_test.txt", "new", "sub/b_test.txt", "new", "a_test.txt", "new")
	work := keep(t, s, base).Commit
	commit, err := s.Edited(t.Context(), base, work, []git.Edit{{Path: "sub/b_test.txt"}, {Path: "sub/a_test.txt", From: "sub/a_test.txt"}})
	check.OK(t, err)
	for range 2 {
		check.OK(t, s.Show(t.Context(), base, commit))
		check.Equal(t, "files", map[string]string{"sub/a.txt": "new", "sub/a_test.txt": "old", "a_test.txt": "new"}, at.working())
		wantClean(t, at, commit)
		check.Equal(t, "what is below", base, at.git("rev-parse", "HEAD^"))
		check.OK(t, s.Show(t.Context(), base, work))
		check.Equal(t, "files of the work", "new", at.text("sub/a_test.txt"))
	}
}
