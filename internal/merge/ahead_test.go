package merge

import (
	"errors"
	"testing"

	"ralph/internal/testing/check"
)

// beyond is a repository in which work has landed beyond main, because of a person's file, and more is to land.
func beyond(t *testing.T) (r repo, base, landed, next string) {
	t.Helper()
	r = newRepo(t)
	r.write("below", "b")
	base = r.commit()
	landed = r.with(base, "new", "n")
	next = r.with(landed, "more", "m")
	r.write("new", "mine")
	err := r.land(base, landed)
	check.That(t, errors.As(err, new(*BlockedError)), "got %v, want a BlockedError", err)
	return r, base, landed, next
}

// TestWatchSeesWhatLandsBeyondABranch, also where git has packed its refs, and notices that a person gave it up.
func TestWatchSeesWhatLandsBeyondABranch(t *testing.T) {
	t.Parallel()
	r, base, landed, next := beyond(t)
	var w Watch
	look := func(want error, wantTip string) {
		t.Helper()
		tip, err := w.Look(t.Context(), r.Repo, main)
		check.That(t, errors.Is(err, want), "got %v, want %v", err, want)
		check.Equal(t, "tip", wantTip, tip)
	}
	look(nil, landed)
	r.git("pack-refs", "--all")
	look(nil, landed)
	err := r.land(landed, next)
	check.That(t, errors.As(err, new(*BlockedError)), "got %v, want a BlockedError", err)
	r.git("pack-refs", "--all")
	look(nil, next)
	r.git("commit", "-q", "--allow-empty", "-m", "mine")
	look(nil, next)
	r.git("commit", "-q", "--allow-empty", "--amend", "-m", "mine again") // it is above where the work landed
	look(nil, next)
	r.git("update-ref", "-d", LandedRef(main))
	look(ErrRewritten, r.head())
	r.git("update-ref", LandedRef(main), next)
	r.git("update-ref", main, base+"^")
	look(ErrUnder, r.git("rev-parse", base+"^"))
}

// TestABranchThatWasSetBackStays where a person set it, although it could be moved forward.
func TestABranchThatWasSetBackStays(t *testing.T) {
	t.Parallel()
	r, base, landed, _ := beyond(t)
	r.git("clean", "-qfd")
	back := r.git("rev-parse", base+"^")
	r.git("reset", "-q", "--hard", back)
	_, waits, err := Advance(t.Context(), r.Repo, main)
	check.OK(t, err)
	check.That(t, errors.Is(waits, ErrUnder), "got %v, want ErrUnder", waits)
	waits, err = Unite(t.Context(), r.Repo, main, func(Union) error { t.Error("it is not to be united"); return nil })
	check.OK(t, err)
	check.That(t, errors.Is(waits, ErrUnder), "got %v, want ErrUnder", waits)
	r.wantClean(back)
	r.git("merge", "-q", landed)
	_, waits, err = Advance(t.Context(), r.Repo, main)
	check.That(t, waits == nil && err == nil, "got %v, %v", waits, err)
	check.Equal(t, "refs", "", r.git("for-each-ref", Refs))
}

// TestNothingIsUnitedThatChangedMeanwhile: only what was tested counts.
func TestNothingIsUnitedThatChangedMeanwhile(t *testing.T) {
	t.Parallel()
	r, _, landed, _ := beyond(t)
	r.git("clean", "-qfd")
	r.write("other", "o")
	r.commit()
	var last string
	waits, err := Unite(t.Context(), r.Repo, main, func(u Union) error {
		r.write("other", "p")
		last = r.commit()
		return nil
	})
	check.That(t, errors.Is(waits, ErrMoved) && err == nil, "got %v, %v", waits, err)
	r.wantClean(last)
	check.Equal(t, "what landed", landed, r.git("rev-parse", LandedRef(main)))
	failed := errors.New("a gate")
	_, err = Unite(t.Context(), r.Repo, main, func(Union) error { return failed })
	check.That(t, errors.Is(err, failed), "got %v", err)
	r.wantClean(last)
	waits, err = Unite(t.Context(), r.Repo, main, func(Union) error { return nil })
	check.That(t, waits == nil && err == nil, "got %v, %v", waits, err)
	check.Equal(t, "parents", last+" "+landed, r.git("log", "-1", "--format=%P"))
	check.Equal(t, "files", "pn", r.read("other")+r.read("new"))
	check.Equal(t, "refs", "", r.git("for-each-ref", Refs))
}
