package merge

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"ralph/internal/git"
)

// Left is what was found of a landing that was interrupted.
type Left struct {
	Landed bool     // the candidate is in the target, or has landed beyond it
	Kept   []string // files that differ from onto and from the candidate: a person's
}

// Unfinish cleans up after a landing whose ralph died, and after a power cut. It waits for
// one that is still in progress. A candidate that is not in the target is taken out of the
// working tree that was to follow; a person's changes stay. Doing it again changes nothing.
// While somebody else holds a lock of git it tries again for some seconds; the error is ErrLocked then.
func Unfinish(ctx context.Context, r *git.Repo, target, onto, candidate string) (left Left, err error) {
	for range 100 {
		if left, err = unfinish(ctx, r, target, onto, candidate); !errors.Is(err, ErrLocked) {
			break
		}
		select {
		case <-ctx.Done():
			return left, err
		case <-time.After(100 * time.Millisecond):
		}
	}
	return left, err
}

func unfinish(ctx context.Context, r *git.Repo, target, onto, candidate string) (left Left, err error) {
	l := &landing{repo: r, target: target, onto: onto, candidate: candidate}
	last, err := l.begin(ctx)
	if err == nil {
		defer l.end()
		if last.candidate == candidate {
			left, err = last.takeBack(ctx)
		} else {
			left.Landed, err = Has(ctx, l.repo, l.target, l.candidate)
		}
	}
	if err != nil {
		return left, fmt.Errorf("clean up the landing on %s: %w", target, err)
	}
	return left, nil
}

// takeBack makes the working tree as it was, unless the branch has the candidate.
func (l *landing) takeBack(ctx context.Context) (left Left, err error) {
	if err := l.unlock(); err != nil {
		return left, err
	}
	p, err := At(ctx, l.repo, l.target)
	if err != nil {
		return left, err
	}
	moved, err := Place{Branch: p.Branch}.has(ctx, l.repo, l.candidate)
	if err == nil && !moved && l.tree.Dir != "" {
		left.Kept, err = l.restore(ctx)
	}
	if err == nil {
		l.forget()
		left.Landed, err = p.has(ctx, l.repo, l.candidate)
	}
	return left, err
}

// unlock removes the lock files of git that the landing can have left. A git that commits to
// the target locks it with another commit in it, and then HEAD with nothing in it.
func (l *landing) unlock() error {
	l.unlockIndex()
	branch := filepath.Join(l.repo.Common(), filepath.FromSlash(l.target)+".lock")
	switch contents(branch) {
	case "-":
	case "", l.candidate:
		_ = os.Remove(branch)
	default:
		return fmt.Errorf("%w: %s", ErrLocked, branch)
	}
	if head := filepath.Join(l.tree.GitDir, "HEAD.lock"); l.tree.Dir != "" && contents(head) == "" {
		_ = os.Remove(head)
	}
	return nil
}
