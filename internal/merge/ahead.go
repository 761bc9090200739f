package merge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"ralph/internal/git"
	"ralph/internal/testing/failpoint"
)

// While something of a person's keeps a branch where it is, work lands beyond it, at LandedRef. Only tested commits get there, each
// on top of the one before, and the ref stays until the branch has them.

// LandedRef names what has landed on a branch that could not follow yet.
func LandedRef(target string) string {
	return Refs + "landed/" + strings.TrimPrefix(target, "refs/heads/")
}

// stoodRef names where the branch stood when work landed beyond it: a branch without that commit has another history.
func stoodRef(target string) string {
	return Refs + "landed-on/" + strings.TrimPrefix(target, "refs/heads/")
}

// ErrDiverged keeps a branch from what has landed beyond it until both are united.
var ErrDiverged = errors.New("it has commits of its own since")

// ConflictError says that commits of a branch and what has landed beyond it do not go together.
type ConflictError struct {
	Files []string // that both changed
	Why   string   // if it is not because of files
}

func (e *ConflictError) Error() string {
	if e.Why != "" {
		return "with its own commits and what landed together, " + e.Why
	}
	return "its own commits conflict with what landed in " + strings.Join(e.Files, ", ")
}

// Place is where a target is.
type Place struct {
	Branch string // "" if there is no such branch; Root if it is to get its first commit
	Landed string // what has landed beyond it; "" if the branch has everything

	stood string // where the branch was then
	stale bool   // refs are left of what the branch has by now
}

// Tip is what later work starts from, and lands on.
func (p Place) Tip() string { return cmp.Or(p.Landed, p.Branch) }

// has reports whether a commit has landed.
func (p Place) has(ctx context.Context, r *git.Repo, commit string) (bool, error) {
	for _, tip := range []string{p.Branch, p.Landed} {
		if tip == "" {
			continue
		}
		if there, err := under(ctx, r, commit, tip); there || err != nil {
			return there, err
		}
	}
	return false, nil
}

// At finds a target.
func At(ctx context.Context, r *git.Repo, target string) (p Place, err error) {
	at, err := r.Resolve(ctx, target, LandedRef(target), stoodRef(target))
	if err != nil {
		return p, err
	}
	p.Branch, p.Landed, p.stood = at[0], at[1], at[2]
	if p.Branch == "" {
		unborn, err := Unborn(ctx, r)
		if err == nil && unborn {
			p.Branch, err = Root(ctx, r)
		} else if err == nil {
			p.Branch, err = r.Commit(ctx, target) // it may have got its first commit since
		}
		if err != nil || p.Branch == "" {
			return p, err
		}
	}
	if p.stale = p.Landed == "" && p.stood != ""; p.Landed != "" && p.Branch != "" {
		if p.stale, err = under(ctx, r, p.Landed, p.Branch); p.stale {
			p.Landed = ""
		}
	}
	return p, err
}

// Has reports whether a candidate has landed on a target.
func Has(ctx context.Context, r *git.Repo, target, candidate string) (bool, error) {
	p, err := At(ctx, r, target)
	if err != nil {
		return false, err
	}
	return p.has(ctx, r, candidate)
}

// Advance moves a branch to what has landed beyond it, and returns where the target was. Waits is what keeps it from there; nil means that
// it has everything.
func Advance(ctx context.Context, r *git.Repo, target string) (was Place, waits, err error) {
	if was, err = At(ctx, r, target); err != nil || was.Landed == "" && !was.stale {
		return was, nil, err
	}
	l := &landing{repo: r, target: target}
	err = l.alone(ctx, func(p Place) error {
		if was = p; p.Landed != "" {
			waits, err = l.advance(ctx, p)
		}
		return err
	})
	return was, waits, err
}

// Waits is what keeps a branch from what has landed beyond it, as far as can be seen without touching anything.
func Waits(ctx context.Context, r *git.Repo, target string) (p Place, waits, err error) {
	if p, err = At(ctx, r, target); err != nil || p.Landed == "" {
		return p, nil, err
	}
	l := &landing{repo: r, target: target, onto: p.Branch, candidate: p.Landed}
	if waits, err = p.apart(ctx, l.repo); waits != nil || err != nil {
		return p, waits, err
	}
	if l.record, err = os.CreateTemp("", "ralph-look-"); err != nil { // the copy of the index is beside it
		return p, nil, err
	}
	defer func() {
		l.removeCopy()
		l.record.Close()
		_ = os.Remove(l.record.Name())
	}()
	if err = l.checkout(ctx); err == nil && l.tree.Dir != "" {
		_, err = l.clear(ctx)
	}
	if errors.As(err, new(*BlockedError)) {
		return p, err, nil
	}
	return p, nil, err
}

// Beyond lists the targets that do not have all that has landed, as far as refs show.
func Beyond(ctx context.Context, r *git.Repo) (targets []string, err error) {
	refs, err := ListRefs(ctx, r)
	for _, ref := range refs {
		if ref.Kind() == "landed" {
			name := strings.TrimPrefix(ref.Name, Refs+"landed/")
			if other, _ := path.Match("worktrees/*/HEAD", name); !other && name != "HEAD" {
				name = "refs/heads/" + name
			}
			targets = append(targets, name)
		}
	}
	return targets, err
}

// apart says why a branch cannot be fast-forwarded. One that was set back is not moved forward again.
func (p Place) apart(ctx context.Context, r *git.Repo) (waits, err error) {
	if p.Branch == "" {
		return ErrDeleted, nil
	}
	if whole, err := p.whole(ctx, r); err != nil || !whole {
		return ErrUnder, err
	}
	if below, err := under(ctx, r, p.Branch, p.Landed); err != nil || !below {
		return ErrDiverged, err
	}
	return nil, nil
}

// whole says that the branch has the commit at which work landed beyond it.
func (p Place) whole(ctx context.Context, r *git.Repo) (bool, error) {
	if p.stood == "" || p.stood == p.Branch { // without the ref that is unknown
		return p.stood != "", nil
	}
	return under(ctx, r, p.stood, p.Branch)
}

// landBeyond lands the candidate where the branch cannot follow, and returns where the target is then.
func (l *landing) landBeyond(ctx context.Context, p Place) (Place, error) {
	refs := []Ref{{LandedRef(l.target), l.candidate}}
	if p.Landed == "" {
		failpoint.Hit("before-land-beyond")
		refs = append(refs, Ref{stoodRef(l.target), l.onto})
	} else if there, err := p.has(ctx, l.repo, l.candidate); there || err != nil {
		return p, err
	} else if l.onto != p.Landed {
		return p, fmt.Errorf("%w: to %.10q", ErrMoved, p.Landed)
	}
	p.Landed = l.candidate
	return p, SetRefs(ctx, l.repo, refs...)
}

// advance moves the branch to what has landed beyond it. Whatever may be over in a moment is something to wait for, too.
func (l *landing) advance(ctx context.Context, p Place) (waits, err error) {
	if waits, err = p.apart(ctx, l.repo); waits != nil || err != nil {
		return waits, err
	}
	whole := &landing{repo: l.repo, target: l.target, onto: p.Branch, candidate: p.Landed, record: l.record}
	err = whole.move(ctx, p.Branch)
	switch {
	case err == nil:
		failpoint.Hit("after-branch-move")
		return nil, l.forgetLanded(ctx)
	case errors.As(err, new(*BlockedError)), errors.Is(err, ErrMoved), errors.Is(err, ErrLocked), errors.Is(err, fs.ErrPermission):
		return err, nil
	}
	return nil, err
}

// forgetLanded removes the refs of what the branch has.
func (l *landing) forgetLanded(ctx context.Context) error {
	return SetRefs(ctx, l.repo, Ref{Name: LandedRef(l.target)}, Ref{Name: stoodRef(l.target)})
}

// Unite brings a branch with commits of its own together with what has landed beyond it, in one merge. Test looks at that commit
// before anything moves. Waits is what keeps the branch from it, such as a *ConflictError.
func Unite(ctx context.Context, r *git.Repo, target string, test func(Union) error) (waits, err error) {
	p, err := At(ctx, r, target)
	if err != nil || p.Landed == "" {
		return nil, err
	}
	if waits, err := p.apart(ctx, r); !errors.Is(waits, ErrDiverged) || err != nil {
		return waits, err
	}
	m, err := r.Merge(ctx, p.stood, p.Branch, p.Landed)
	if err != nil || len(m.Files) > 0 {
		return &ConflictError{Files: m.Files}, err
	}
	u := Union{Branch: p.Branch, Stood: p.stood, Landed: p.Landed}
	name := strings.TrimPrefix(target, "refs/heads/")
	if u.Commit, err = r.CommitTree(ctx, m.Tree, "Merge what landed on "+name+"\n", p.Branch+" "+p.Landed); err != nil {
		return nil, err
	}
	if err := test(u); err != nil {
		return nil, err
	}
	l := &landing{repo: r, target: target}
	err = l.alone(ctx, func(now Place) error {
		if now.Branch != p.Branch || now.Landed != p.Landed {
			waits = ErrMoved
			return nil
		}
		now.Landed = u.Commit
		if err := SetRefs(ctx, r, Ref{LandedRef(target), u.Commit}, Ref{stoodRef(target), p.Branch}); err != nil {
			return err
		}
		failpoint.Hit("before-branch-move")
		waits, err = l.advance(ctx, now)
		return err
	})
	return waits, err
}

// Union is a merge of a branch and of what has landed beyond it since it stood somewhere.
type Union struct{ Branch, Stood, Landed, Commit string }
