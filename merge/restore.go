package merge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ralph/internal/git"
)

// restore makes w as it was before the landing: all paths that the candidate changes were as in
// onto. One that now has the content of the candidate, or the beginning of it, was written by the
// landing; anything else is a person's. What is committed there since, or on a branch that was
// checked out since, is left alone.
func (l *landing) restore(ctx context.Context, w git.Worktree) (restored, kept []string, err error) {
	changes, err := l.repo.DiffTrees(ctx, l.onto, l.candidate)
	if err != nil {
		return restored, kept, err
	}
	out, err := l.repo.Git(ctx, w.Call(), "diff-tree", "-r", "-z", "--name-only", "--no-renames", l.onto, "HEAD", "--")
	if err != nil {
		return restored, kept, err
	}
	committed := git.Split(out)
	changes = slices.DeleteFunc(changes, func(c git.Diff) bool { return slices.Contains(committed, c.Path) })
	index, sparse, err := l.index(ctx, w)
	if err != nil {
		return restored, kept, err
	}
	changes = slices.DeleteFunc(changes, func(c git.Diff) bool {
		return sparse[c.Path] || c.Was.Mode == git.Gitlink || c.Now.Mode == git.Gitlink
	})
	asWas, err := l.same(ctx, w, changes, func(c git.Diff) git.Entry { return c.Was })
	if err != nil {
		return restored, kept, err
	}
	asNow, err := l.same(ctx, w, changes, func(c git.Diff) git.Entry { return c.Now })
	if err != nil {
		return restored, kept, err
	}
	var reset, again strings.Builder
	// What was added goes first: it may stand where a file or a folder was.
	slices.SortStableFunc(changes, func(a, b git.Diff) int { return cmp.Compare(min(a.Was.Mode, "1"), min(b.Was.Mode, "1")) })
	for _, c := range changes {
		staged, found := index[c.Path]
		isNew := c.Was.Mode == git.Nothing
		if !found {
			staged = git.Entry{Mode: git.Nothing, ID: strings.Repeat("0", len(c.Was.ID))}
		}
		theirs := staged != c.Was && staged != c.Now
		if !theirs && staged != c.Was {
			reset.WriteString(c.Was.Line(c.Path) + "\x00")
		}
		at := filepath.Join(w.Dir, filepath.FromSlash(c.Path))
		if !isNew {
			removeFolders(at)
		}
		info, missing := os.Lstat(at)
		elsewhere := replaced(w.Dir, c.Path)
		switch {
		case theirs:
			kept = append(kept, c.Path)
		case asWas[c.Path] || isNew && (missing != nil || info.IsDir() || elsewhere):
		case elsewhere:
			kept = append(kept, c.Path)
		case asNow[c.Path] || missing != nil || l.begun(ctx, w, c): // a file is removed before it is written
			restored = append(restored, c.Path)
			if !isNew {
				again.WriteString(c.Path + "\x00")
			} else if err := remove(w.Dir, c.Path); err != nil {
				return restored, kept, err
			}
		default:
			kept = append(kept, c.Path)
		}
	}
	if reset.Len() > 0 {
		err = inWorktree(ctx, l.repo, w, reset.String(), "update-index", "-z", "--index-info")
	}
	if err == nil && again.Len() > 0 {
		err = inWorktree(ctx, l.repo, w, again.String(), "checkout-index", "-f", "-u", "-q", "-z", "--stdin")
	}
	return restored, kept, err
}

const symlink = "120000"

// index is what is staged in w, and which paths of it are not checked out.
func (l *landing) index(ctx context.Context, w git.Worktree) (staged map[string]git.Entry, sparse map[string]bool, err error) {
	out, err := l.repo.Git(ctx, w.Call(), "ls-files", "-s", "-t", "-z")
	if err != nil {
		return nil, nil, err
	}
	staged, sparse = map[string]git.Entry{}, map[string]bool{}
	for _, line := range git.Split(out) {
		meta, path, _ := strings.Cut(line, "\t") // tag, mode, ID, stage
		part := strings.Fields(meta)
		if len(part) != 4 {
			return nil, nil, fmt.Errorf("git ls-files says %q", line)
		}
		staged[path], sparse[path] = git.Entry{Mode: part[1], ID: part[2]}, part[0] == "S"
		if part[3] != "0" {
			staged[path] = git.Entry{Mode: "unmerged"}
		}
	}
	return staged, sparse, nil
}

// same tells which paths of w are as the commit has them that a change is from, or to. Git
// compares, as links, modes and filters make it difficult.
func (l *landing) same(ctx context.Context, w git.Worktree, changes []git.Diff, side func(git.Diff) git.Entry) (map[string]bool, error) {
	same := map[string]bool{}
	var in strings.Builder
	for _, c := range changes {
		if e := side(c); e.Mode != git.Nothing {
			same[c.Path] = true
			in.WriteString(e.Line(c.Path) + "\x00")
		}
	}
	dir, err := os.MkdirTemp("", "ralph-index-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	call := w.Call()
	call.Index, call.In = filepath.Join(dir, "index"), strings.NewReader(in.String())
	if _, err := l.repo.Git(ctx, call, "update-index", "-z", "--index-info"); err != nil {
		return nil, err
	}
	_, _ = l.repo.Git(ctx, call, "update-index", "-q", "--refresh") // which says that some differ
	out, err := l.repo.Git(ctx, call, "diff-files", "--name-only", "-z")
	for _, path := range git.Split(out) {
		delete(same, path)
	}
	return same, err
}

// begun says that a file has the beginning of what the candidate has there.
func (l *landing) begun(ctx context.Context, w git.Worktree, c git.Diff) bool {
	at := filepath.Join(w.Dir, filepath.FromSlash(c.Path))
	info, err := os.Lstat(at)
	if err != nil || !info.Mode().IsRegular() || c.Now.Mode == git.Nothing || c.Now.Mode == symlink {
		return false
	}
	text, err := os.ReadFile(at)
	now, gerr := l.repo.Git(ctx, w.Call(), "cat-file", "--filters", "--path="+c.Path, c.Now.ID)
	return err == nil && gerr == nil && strings.HasPrefix(now, string(text))
}

// replaced says that there is something else where a folder above a path should be: git would
// follow it, or remove it.
func replaced(top, path string) bool {
	for up := filepath.Dir(filepath.FromSlash(path)); up != "."; up = filepath.Dir(up) {
		if info, err := os.Lstat(filepath.Join(top, up)); err == nil && !info.IsDir() {
			return true
		}
	}
	return false
}

// removeFolders removes a folder if there is no file in it.
func removeFolders(at string) {
	var folders []string
	_ = filepath.WalkDir(at, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			folders = nil
			return fs.SkipAll
		}
		folders = append(folders, path)
		return err
	})
	for _, path := range slices.Backward(folders) {
		_ = os.Remove(path) // which leaves one alone that has a file by now
	}
}

// remove removes a file, and the folders above it that are empty then.
func remove(top, path string) error {
	path = filepath.FromSlash(path)
	if err := os.Remove(filepath.Join(top, path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for up := filepath.Dir(path); up != "." && os.Remove(filepath.Join(top, up)) == nil; {
		up = filepath.Dir(up)
	}
	return nil
}
