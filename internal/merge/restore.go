package merge

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"ralph/internal/git"
)

// restore makes the working tree as it was before the landing: all paths that the candidate changes
// were as in onto. One that now has the content of the candidate, or the beginning of it, was
// written by the landing; anything else is a person's. What is committed there since, or on a
// branch that was checked out since, is left alone.
func (l *landing) restore(ctx context.Context) (kept []string, err error) {
	changes, err := l.repo.DiffTrees(ctx, l.onto, l.candidate)
	if err != nil {
		return nil, err
	}
	committed, err := l.since(ctx, cmp.Or(l.tree.Head, l.onto))
	if err != nil {
		return nil, err
	}
	changes = slices.DeleteFunc(changes, func(c git.Diff) bool {
		return committed(c) != c.Was || c.Was.Mode == git.Gitlink || c.Now.Mode == git.Gitlink
	})
	// What was there before goes first: a new file may stand where its folder was.
	slices.SortStableFunc(changes, func(a, b git.Diff) int { return cmp.Compare(min(b.Was.Mode, "1"), min(a.Was.Mode, "1")) })
	files, err := l.files(ctx, changes)
	if err != nil {
		return nil, err
	}
	err = l.withIndex(func(call git.Call) error {
		tree, err := l.repo.Git(ctx, call, "write-tree")
		if err != nil {
			return err
		}
		index, err := l.since(ctx, strings.TrimSpace(tree))
		if err != nil {
			return err
		}
		var reset, again []string
		for _, c := range slices.Backward(changes) {
			is := files(c)
			if index(c) == c.Now {
				reset = append(reset, c.Was.Line(c.Path))
			}
			info, missing := os.Lstat(l.at(c.Path))
			ours := missing != nil || !info.IsDir() && is != c.Was && (is == c.Now || l.begun(ctx, c)) // git removes a file before it writes it
			isNew, replaced := c.Was.Mode == git.Nothing, l.replaced(c.Path)
			switch {
			case isNew && replaced, missing == nil && is == c.Was:
			case isNew && ours:
				err = l.remove(c.Path)
			case ours && !replaced:
				again = append(again, c.Path)
			default:
				kept = append(kept, c.Path)
			}
			if err != nil {
				return err
			}
		}
		if len(reset) > 0 {
			call.In = git.Lines(reset)
			_, err = l.repo.Git(ctx, call, "update-index", "-z", "--index-info")
		}
		if len(again) > 0 && err == nil {
			call.In = git.Lines(again)
			_, err = l.repo.Git(ctx, call, "checkout-index", "-f", "-u", "-q", "-z", "--stdin")
		}
		return err
	})
	slices.Sort(kept)
	return kept, err
}

// since says what a tree has at the paths of changes of onto.
func (l *landing) since(ctx context.Context, tree string) (func(git.Diff) git.Entry, error) {
	list, err := l.repo.DiffTrees(ctx, l.onto, tree)
	now := map[string]git.Entry{}
	for _, c := range list {
		now[c.Path] = c.Now
	}
	return func(c git.Diff) git.Entry {
		if e, changed := now[c.Path]; changed {
			return e
		}
		return c.Was
	}, err
}

// files says what the working tree has at these paths. Git reads them, as links,
// modes and filters make it difficult.
func (l *landing) files(ctx context.Context, changes []git.Diff) (func(git.Diff) git.Entry, error) {
	var list []string
	for _, c := range changes {
		info, err := os.Lstat(l.at(c.Path))
		if !l.replaced(c.Path) && (c.Was.Mode != git.Nothing || err == nil && !info.IsDir()) {
			list = append(list, c.Path)
		}
	}
	call := l.call()
	l.removeCopy()
	_, err := l.repo.Git(ctx, call, "read-tree", l.onto)
	if err == nil && len(list) > 0 {
		call.In = git.Lines(list)
		_, err = l.repo.Git(ctx, call, "update-index", "--add", "--remove", "--replace", "-z", "--stdin")
	}
	if err != nil {
		return nil, err
	}
	tree, err := l.repo.Git(ctx, call, "write-tree")
	if err != nil {
		return nil, err
	}
	return l.since(ctx, strings.TrimSpace(tree))
}

func (l *landing) at(name string) string {
	return filepath.Join(l.tree.Dir, filepath.FromSlash(name))
}

// begun says that a file has the beginning of what the candidate has there.
func (l *landing) begun(ctx context.Context, c git.Diff) bool {
	info, err := os.Lstat(l.at(c.Path))
	if err != nil || !info.Mode().IsRegular() || !strings.HasPrefix(c.Now.Mode, "100") {
		return false
	}
	text, err := os.ReadFile(l.at(c.Path))
	now, gerr := l.repo.Git(ctx, l.call(), "cat-file", "--filters", "--path="+c.Path, c.Now.ID)
	return err == nil && gerr == nil && strings.HasPrefix(now, string(text))
}

// replaced says that there is something else where a folder above a path should be: git would
// follow it, or remove it.
func (l *landing) replaced(name string) bool {
	for up := filepath.Dir(name); up != "."; up = filepath.Dir(up) {
		if info, err := os.Lstat(l.at(up)); err == nil && !info.IsDir() {
			return true
		}
	}
	return false
}

// remove removes a file, and the folders above it that are empty then.
func (l *landing) remove(name string) error {
	if err := os.Remove(l.at(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for up := filepath.Dir(name); up != "."; up = filepath.Dir(up) {
		_ = syscall.Rmdir(l.at(up))
	}
	return nil
}
