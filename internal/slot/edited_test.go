package slot

import (
	"path/filepath"
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

// TestATrialLeavesNothingInTheRepository: a tree of the project's folder alone is shown with what is committed around it,
// and all that this needs is in folders that can be thrown away.
func TestATrialLeavesNothingInTheRepository(t *testing.T) {
	t.Parallel()
	for name, commits := range map[string]bool{"with a commit": true, "without one": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t)
			head := ""
			if commits {
				head = r.commit("around.txt", "around", "sub/gone.txt", "gone", "sub/a.txt", "committed")
			}
			r.write("sub/a.txt", "in the folder")
			r.sh("rm -f sub/gone.txt")
			store := filepath.Join(filepath.Dir(r.dir), "objects")
			taken, err := git.Take(t.Context(), filepath.Join(r.dir, "sub"), store)
			check.OK(t, err)
			before := r.all()
			p := open(t, r, func(o *Options) {
				o.Sub = "sub"
				o.Repo, err = o.Repo.Aside(filepath.Join(filepath.Dir(r.dir), "aside"), filepath.Join(store, "objects"))
			})
			check.OK(t, err)
			want := map[string]string{"sub/a.txt": "in the folder"}
			if commits {
				want["around.txt"] = "around"
			}
			for range 2 {
				s, err := p.Try(t.Context(), head, taken.Tree)
				check.OK(t, err)
				at := repo{t, s.Top()}
				check.Equal(t, "files", want, at.working())
				wantClean(t, at, at.git("rev-parse", "HEAD"))
				at.write("sub/a.txt", "by a gate", "left.txt", "by a gate")
			}
			check.Equal(t, "the project", before, r.all())
		})
	}
}
