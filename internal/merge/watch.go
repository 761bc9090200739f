package merge

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"ralph/internal/copyfile"
	"ralph/internal/git"
)

// What can have happened to a target besides commits on top of it.
var (
	ErrDeleted   = errors.New("the branch is gone")
	ErrRewritten = errors.New("the last tip is not in the history of the branch any more")
	ErrUnder     = errors.New("the branch was rewritten below what has landed beyond it")
	ErrSwitched  = errors.New("HEAD is not detached any more")
)

// HeadRef is the target of work that lands on a detached HEAD, that of the project's working tree. Git knows it by this name in all
// working trees of the repository.
func HeadRef(r *git.Repo) (string, error) {
	name, err := filepath.Rel(r.Common(), filepath.Join(r.Own(), "HEAD"))
	return filepath.ToSlash(name), err
}

// FolderRef is the target of work in the project's own folder: what has landed there, whatever the person has checked out. Nobody
// has that ref checked out.
func FolderRef(r *git.Repo) (string, error) {
	name, err := HeadRef(r)
	return folderRefs + name, err
}

const folderRefs = Refs + "folder/"

// Detached reports whether a target is a HEAD and no branch.
func Detached(target string) bool { return !strings.HasPrefix(target, "refs/") }

// Watch is a target that is looked at again and again.
type Watch struct {
	Tip string // as it was last seen; "" before the first look

	seen stamp
}

// stamp is what the files of refs say. A branch without a file of its own has none: it is git's to find.
type stamp struct {
	branch, landed string
	packed         time.Time
}

func stampOf(r *git.Repo, target string) stamp {
	read := func(name string) string {
		text, err := copyfile.Read(filepath.Join(r.Common(), filepath.FromSlash(name)), 1<<10)
		if err != nil {
			return ""
		}
		return strings.TrimSpace(string(text))
	}
	s := stamp{branch: read(target), landed: read(LandedRef(target))}
	if info, err := os.Stat(filepath.Join(r.Common(), "packed-refs")); err == nil {
		s.packed = info.ModTime()
	}
	return s
}

// Look compares the target with the last tip seen. While the files of its refs say the same as before, no git is started.
func (w *Watch) Look(ctx context.Context, r *git.Repo, target string) (tip string, err error) {
	now := stampOf(r, target)
	if now.branch != "" && now == w.seen && w.Tip != "" {
		return w.Tip, nil
	}
	if Detached(target) {
		if _, err := r.Line(ctx, "symbolic-ref", "--quiet", target); err == nil {
			return "", ErrSwitched
		}
	}
	p, err := At(ctx, r, target)
	switch {
	case err != nil:
		return "", err
	case p.Branch == "", isRoot(p.Branch) && w.Tip != "" && !isRoot(w.Tip) && p.Landed == "":
		return "", ErrDeleted
	}
	if p.Landed != "" {
		if whole, err := p.whole(ctx, r); err != nil || !whole {
			return p.Branch, cmp.Or(err, ErrUnder)
		}
	}
	if tip = p.Tip(); w.Tip != "" && tip != w.Tip {
		known, err := r.Commit(ctx, w.Tip)
		below := false
		if known != "" { // what does not even exist is not in a history
			below, err = under(ctx, r, w.Tip, tip)
		}
		if err != nil || !below {
			return tip, cmp.Or(err, ErrRewritten)
		}
	}
	w.Tip, w.seen = tip, now
	return tip, nil
}

// Moved says where we moved the target, or what has landed beyond it: what a person takes back before the next look is noticed.
func (w *Watch) Moved(to string, beyond bool) {
	if w.Tip = to; beyond {
		w.seen = stamp{}
	} else {
		w.seen.branch = to
	}
}
