package merge

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ralph/internal/git"
)

// Left is what was found of a landing that was interrupted.
type Left struct {
	Landed   bool     // the candidate is in the target
	Restored []string // files that were put back as in onto
	Kept     []string // files that differ from onto and from the candidate: a person's
	Unlocked []string // lock files of git that nobody holds any more
}

// Unfinish cleans up after a landing whose ralph died, and after a power cut. It waits for
// one that is still in progress. A candidate that is not in the target is taken out of the
// working tree that was to follow; a person's changes stay. Doing it again changes nothing.
// The error is ErrLocked while a git process may hold a lock.
func Unfinish(ctx context.Context, r *git.Repo, target, onto, candidate string) (Left, error) {
	l := &landing{repo: r, target: target, onto: onto, candidate: candidate}
	var left Left
	err := l.begin(ctx)
	if err == nil {
		var began bool
		left, began, err = l.unfinish(ctx)
		l.torn = err != nil || !began
		l.end()
	}
	if err != nil {
		return left, fmt.Errorf("clean up the landing on %s: %w", target, err)
	}
	return left, nil
}

func (l *landing) unfinish(ctx context.Context) (left Left, began bool, err error) {
	last, dir, err := l.noted()
	if err != nil {
		return left, false, err
	}
	began = last.candidate == l.candidate
	var w git.Worktree
	if began && dir != "" {
		list, err := l.repo.Worktrees(ctx)
		if err != nil {
			return left, began, err
		}
		if i := slices.IndexFunc(list, func(w git.Worktree) bool { return w.Dir == dir }); i >= 0 {
			w = list[i]
		}
	}
	if left.Unlocked, err = l.unlock(w, began); err != nil {
		return left, began, err
	}
	tip, err := l.repo.Commit(ctx, l.target)
	if err == nil && tip != "" {
		left.Landed, err = l.repo.IsAncestor(ctx, l.candidate, tip)
	}
	if err == nil && !left.Landed && w.Dir != "" {
		left.Restored, left.Kept, err = l.restore(ctx, w)
	}
	return left, began, err
}

// unlock removes the lock files of git that the landing can have left.
func (l *landing) unlock(w git.Worktree, began bool) (removed []string, err error) {
	common, files := l.repo.Common(), refLocks(l.repo)
	if began {
		// Others lock the target with another commit in it, and HEAD with a branch in it.
		own, branch := common, filepath.Join(common, filepath.FromSlash(l.target)+".lock")
		if w.GitDir != "" {
			own = w.GitDir
			files = append(files, filepath.Join(own, "index.lock"))
		}
		if text, err := os.ReadFile(branch); err == nil && (len(text) == 0 || strings.TrimSpace(string(text)) == l.candidate) {
			files = append(files, branch)
		}
		if info, err := os.Stat(filepath.Join(own, "HEAD.lock")); err == nil && info.Size() == 0 {
			files = append(files, filepath.Join(own, "HEAD.lock"))
		}
	}
	return removeLocks(l.repo, w, files)
}

// removeLocks removes lock files of git that nobody holds. The error is ErrLocked if somebody may.
func removeLocks(r *git.Repo, w git.Worktree, files []string) (removed []string, err error) {
	found := map[string]fs.FileInfo{}
	for _, path := range files {
		if info, err := os.Lstat(path); err == nil {
			found[path] = info
		}
	}
	if len(found) == 0 {
		return nil, nil
	}
	files = slices.Sorted(maps.Keys(found))
	dirs := []string{r.Common(), r.Dir()}
	if w.Dir != "" {
		dirs = append(dirs, w.Dir)
	}
	if holder := holder(files, dirs); holder != "" {
		return nil, fmt.Errorf("%w: %s (%s)", ErrLocked, strings.Join(files, ", "), holder)
	}
	for _, path := range files {
		now, err := os.Lstat(path)
		if err != nil || !os.SameFile(now, found[path]) || !now.ModTime().Equal(found[path].ModTime()) {
			continue // whoever had it let go of it meanwhile, and another git may have come
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return removed, err
		}
		removed = append(removed, path)
	}
	return removed, nil
}
