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
	changes, err := l.changes(ctx)
	if err != nil {
		return restored, kept, err
	}
	out, err := l.repo.Git(ctx, w.Call(), "diff-tree", "-r", "-z", "--name-only", "--no-renames", l.onto, "HEAD", "--")
	if err != nil {
		return restored, kept, err
	}
	committed := fields(out)
	changes = slices.DeleteFunc(changes, func(c change) bool { return slices.Contains(committed, c.path) })
	index, sparse, err := l.index(ctx, w)
	if err != nil {
		return restored, kept, err
	}
	changes = slices.DeleteFunc(changes, func(c change) bool {
		return sparse[c.path] || c.was.mode == gitlink || c.now.mode == gitlink
	})
	asWas, err := l.same(ctx, w, changes, func(c change) entry { return c.was })
	if err != nil {
		return restored, kept, err
	}
	asNow, err := l.same(ctx, w, changes, func(c change) entry { return c.now })
	if err != nil {
		return restored, kept, err
	}
	var reset, again strings.Builder
	// What was added goes first: it may stand where a file or a folder was.
	slices.SortStableFunc(changes, func(a, b change) int { return cmp.Compare(min(len(a.was.mode), 1), min(len(b.was.mode), 1)) })
	for _, c := range changes {
		staged, isNew := index[c.path], c.was.mode == ""
		theirs := staged != c.was && staged != c.now
		if !theirs && staged != c.was {
			reset.WriteString(cmp.Or(c.was, entry{"0", strings.Repeat("0", len(c.now.id))}).line(c.path))
		}
		at := filepath.Join(w.Dir, filepath.FromSlash(c.path))
		if !isNew {
			removeFolders(at)
		}
		info, missing := os.Lstat(at)
		elsewhere := replaced(w.Dir, c.path)
		switch {
		case theirs:
			kept = append(kept, c.path)
		case asWas[c.path] || isNew && (missing != nil || info.IsDir() || elsewhere):
		case elsewhere:
			kept = append(kept, c.path)
		case asNow[c.path] || missing != nil || l.begun(ctx, w, c): // a file is removed before it is written
			restored = append(restored, c.path)
			if !isNew {
				again.WriteString(c.path + "\x00")
			} else if err := remove(w.Dir, c.path); err != nil {
				return restored, kept, err
			}
		default:
			kept = append(kept, c.path)
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

const (
	gitlink = "160000"
	symlink = "120000"
)

// index is what is staged in w, and which paths of it are not checked out.
func (l *landing) index(ctx context.Context, w git.Worktree) (staged map[string]entry, sparse map[string]bool, err error) {
	out, err := l.repo.Git(ctx, w.Call(), "ls-files", "-s", "-t", "-z")
	if err != nil {
		return nil, nil, err
	}
	staged, sparse = map[string]entry{}, map[string]bool{}
	for _, line := range fields(out) {
		meta, path, _ := strings.Cut(line, "\t") // tag, mode, ID, stage
		part := strings.Fields(meta)
		if len(part) != 4 {
			return nil, nil, fmt.Errorf("git ls-files says %q", line)
		}
		staged[path], sparse[path] = entry{part[1], part[2]}, part[0] == "S"
		if part[3] != "0" {
			staged[path] = entry{mode: "unmerged"}
		}
	}
	return staged, sparse, nil
}

// same tells which paths of w are as the commit has them that a change is from, or to. Git
// compares, as links, modes and filters make it difficult.
func (l *landing) same(ctx context.Context, w git.Worktree, changes []change, side func(change) entry) (map[string]bool, error) {
	same := map[string]bool{}
	var in strings.Builder
	for _, c := range changes {
		if e := side(c); e.mode != "" {
			same[c.path] = true
			in.WriteString(e.line(c.path))
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
	for _, path := range fields(out) {
		delete(same, path)
	}
	return same, err
}

// line is an entry as git update-index reads it.
func (e entry) line(path string) string { return e.mode + " " + e.id + "\t" + path + "\x00" }

// begun says that a file has the beginning of what the candidate has there.
func (l *landing) begun(ctx context.Context, w git.Worktree, c change) bool {
	at := filepath.Join(w.Dir, filepath.FromSlash(c.path))
	info, err := os.Lstat(at)
	if err != nil || !info.Mode().IsRegular() || c.now.mode == "" || c.now.mode == symlink {
		return false
	}
	text, err := os.ReadFile(at)
	now, gerr := l.repo.Git(ctx, w.Call(), "cat-file", "--filters", "--path="+c.path, c.now.id)
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
