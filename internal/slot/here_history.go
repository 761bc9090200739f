package slot

import (
	"context"
	"fmt"
	"strings"

	"ralph/internal/git"
	"ralph/internal/human"
)

// head is what git has checked out in the folder.
type head struct {
	Branch string // a full name; "" if HEAD is detached
	Commit string // "" if there is none yet, or none any more
}

// checkedOut asks git what is checked out, once while the slot is held.
func (s *Slot) checkedOut(ctx context.Context) (h head, err error) {
	if s.still != nil && s.still.head != nil {
		return *s.still.head, nil
	}
	if h, err = s.askHead(ctx); err == nil && s.still != nil {
		s.still.head = &h
	}
	return h, err
}

func (s *Slot) askHead(ctx context.Context) (h head, err error) {
	repo := s.p.o.Repo
	own := git.Call{Own: repo.Own()}
	if out, err := repo.Git(ctx, own, "rev-parse", "HEAD^{commit}", "--symbolic-full-name", "HEAD"); err == nil { // most often there is a commit
		id, branch, _ := strings.Cut(strings.TrimSpace(out), "\n")
		if branch == "HEAD" {
			branch = ""
		}
		return head{branch, id}, nil
	}
	branch, err := repo.Git(ctx, own, "symbolic-ref", "--quiet", "HEAD")
	if err != nil && git.Status(err) != 1 {
		return h, err
	}
	id, err := repo.Git(ctx, own, "rev-parse", "--quiet", "--verify", "HEAD^{commit}")
	if git.Status(err) == 1 {
		err = nil
	}
	return head{strings.TrimSpace(branch), strings.TrimSpace(id)}, err
}

// String is what is checked out in words.
func (h head) String() string {
	at := "no commit"
	if h.Commit != "" {
		at = h.Commit[:min(len(h.Commit), 10)]
	}
	if h.Branch == "" {
		return "a detached HEAD at " + at
	}
	return human.Branch(h.Branch) + " at " + at
}

// checkOut has git have something else checked out. No file changes.
func (s *Slot) checkOut(ctx context.Context, from, to head) error {
	repo := s.p.o.Repo
	own := git.Call{Own: repo.Own()}
	if to.Branch == "" {
		_, err := repo.Git(ctx, own, "update-ref", "--no-deref", "-m", "ralph: put work aside", "HEAD", to.Commit)
		return err
	}
	if to.Branch != from.Branch {
		if _, err := repo.Git(ctx, own, "symbolic-ref", "-m", "ralph: put work aside", "HEAD", to.Branch); err != nil {
			return err
		}
		at, err := repo.Commit(ctx, to.Branch)
		if err != nil {
			return err
		}
		from.Commit = at
	}
	was := from.Commit
	if was == to.Commit {
		return nil
	}
	if was == "" {
		was = strings.Repeat("0", len(to.Commit))
	}
	args := []string{"update-ref", "-m", "ralph: put work aside", to.Branch, to.Commit, was}
	if to.Commit == "" {
		args = []string{"update-ref", "-d", to.Branch, was}
	}
	_, err := repo.Git(ctx, own, args...)
	return err
}

// DamagedError says that the repository of the folder lacks what it had.
type DamagedError struct{ Err error }

func (e *DamagedError) Error() string {
	return "the repository of this folder has lost history or objects (" + e.Err.Error() + "); see what is missing: git fsck; bring it back from a backup or another clone, or move .git away"
}

func (e *DamagedError) Unwrap() error { return e.Err }

// Astray names what work has done to the history of the folder that no work may do, and what brings that back; "" if it has done nothing. The
// error is a *DamagedError if the repository lacks what it had.
func (s *Slot) Astray(ctx context.Context) (why string, err error) {
	u := s.made.Open
	if u == nil || s.finished != nil {
		return "", nil
	}
	if forged := s.p.noted.forged; len(forged) > 0 {
		return "what ralph knows of this folder was changed: " + human.List(forged, 5), nil
	}
	repo, began := s.p.o.Repo, u.Began
	history := []string{u.Base}
	if began.Commit != "" {
		history = append(history, began.Commit)
	}
	_, err = repo.Git(ctx, git.Call{}, append([]string{"rev-list", "--quiet"}, history...)...)
	if err == nil {
		_, err = repo.Git(ctx, git.Call{}, "rev-list", "--quiet", "--objects", "--no-walk", "--missing=allow-promisor", u.Base)
	}
	if err != nil {
		if ctx.Err() == nil {
			err = &DamagedError{err}
		}
		return "", err
	}
	now, err := s.checkedOut(ctx)
	if err != nil {
		return "", &DamagedError{err}
	}
	name := human.Branch(began.Branch)
	switch {
	case began.Branch != now.Branch && began.Branch == "":
		return fmt.Sprintf("HEAD was detached when the work began, and now it is %s; git checkout --detach brings that back", now), nil
	case began.Branch != now.Branch:
		return fmt.Sprintf("%s was checked out when the work began, and now it is %s; to bring that back: git symbolic-ref HEAD %s", name, now, began.Branch), nil
	case began.Commit == now.Commit, began.Commit == "":
		return "", nil
	case now.Commit == "":
		return fmt.Sprintf("the branch %s is gone; to bring it back: git update-ref %s %s", name, began.Branch, began.Commit), nil
	}
	below, err := repo.IsAncestor(ctx, began.Commit, now.Commit)
	if err != nil || below {
		return "", err
	}
	what, ref := "the branch "+name+" was rewritten", began.Branch
	if ref == "" {
		what, ref = "HEAD was moved", "HEAD"
	}
	return fmt.Sprintf("%s: %.10s is not in its history any more; to bring it back: git update-ref %s %s", what, began.Commit, ref, began.Commit), nil
}
