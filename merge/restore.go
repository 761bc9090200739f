package merge

import (
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
	var reset, again strings.Builder
	// What was added goes first: it may stand where a file or a folder was.
	isNew := func(c change) bool { return c.was.mode == "" }
	for _, some := range [][]change{keep(changes, isNew), slices.DeleteFunc(changes, isNew)} {
		found, err := l.inspect(ctx, w, some)
		if err != nil {
			return restored, kept, err
		}
		for _, c := range some {
			staged := index[c.path]
			if staged != c.was && staged != c.now {
				kept = append(kept, c.path)
				continue
			}
			if staged != c.was && isNew(c) {
				fmt.Fprintf(&reset, "0 %s\t%s\x00", strings.Repeat("0", len(c.now.id)), c.path)
			} else if staged != c.was {
				fmt.Fprintf(&reset, "%s %s\t%s\x00", c.was.mode, c.was.id, c.path)
			}
			switch l.origin(ctx, w, c, found[c.path]) {
			case asBefore:
			case aPersons:
				kept = append(kept, c.path)
			case byUs:
				restored = append(restored, c.path)
				if !isNew(c) {
					again.WriteString(c.path + "\x00")
				} else if err := remove(w.Dir, c.path); err != nil {
					return restored, kept, err
				}
			}
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

// seen is what a working tree has at a path. A mode of "" means nothing, a folder is "040000".
type seen struct {
	entry
	text string // the target of a symbolic link
}

// inspect looks at all paths of the changes. Only of files it asks git, with all filters.
func (l *landing) inspect(ctx context.Context, w git.Worktree, changes []change) (map[string]seen, error) {
	out, err := l.repo.Git(ctx, w.Call(), "config", "--type=bool", "core.fileMode")
	modes := err != nil || strings.TrimSpace(out) != "false"
	found := map[string]seen{}
	var files []string
	var in strings.Builder
	for _, c := range changes {
		at := filepath.Join(w.Dir, filepath.FromSlash(c.path))
		info, err := os.Lstat(at)
		switch {
		case above(w.Dir, c.path):
			found[c.path] = seen{entry: entry{mode: "something else"}}
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, err
		case info.IsDir():
			found[c.path] = seen{entry: entry{mode: "040000"}}
		case info.Mode()&fs.ModeSymlink != 0:
			text, err := os.Readlink(at)
			if err != nil {
				return nil, err
			}
			found[c.path] = seen{entry: entry{mode: symlink}, text: text}
		case info.Mode().IsRegular():
			mode := "100644"
			if !modes {
				mode = c.was.mode
			} else if info.Mode()&0o100 != 0 {
				mode = "100755"
			}
			found[c.path] = seen{entry: entry{mode: mode}}
			files = append(files, c.path)
			in.WriteString(`"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(c.path) + "\"\n")
		default:
			found[c.path] = seen{entry: entry{mode: "something else"}}
		}
	}
	if len(files) == 0 {
		return found, nil
	}
	call := w.Call()
	call.In = strings.NewReader(in.String())
	if out, err = l.repo.Git(ctx, call, "hash-object", "--stdin-paths"); err != nil {
		return nil, err
	}
	for i, id := range strings.Fields(out) {
		found[files[i]] = seen{entry: entry{found[files[i]].mode, id}}
	}
	return found, nil
}

// above says that there is something else where a folder above a path should be: git would follow
// it, or remove it.
func above(top, path string) bool {
	for up := filepath.Dir(filepath.FromSlash(path)); up != "."; up = filepath.Dir(up) {
		if info, err := os.Lstat(filepath.Join(top, up)); err == nil && !info.IsDir() {
			return true
		}
	}
	return false
}

type origin int

const (
	asBefore origin = iota
	byUs
	aPersons
)

// origin says who wrote what is at a path of w.
func (l *landing) origin(ctx context.Context, w git.Worktree, c change, is seen) origin {
	content := func(e entry, how ...string) (string, error) {
		return l.repo.Git(ctx, w.Call(), append([]string{"cat-file"}, append(how, e.id)...)...)
	}
	switch {
	case is.mode == "" && c.was.mode == "", is.mode == "040000" && c.was.mode == "":
		return asBefore
	case is.mode == "": // a file is removed before it is written
		return byUs
	case is.mode == symlink:
		for e, who := range map[entry]origin{c.was: asBefore, c.now: byUs} {
			if text, err := content(e, "blob"); e.mode == symlink && err == nil && text == is.text {
				return who
			}
		}
		return aPersons
	case is.entry == c.was:
		return asBefore
	case is.id == "" || c.now.mode == "" || c.now.mode == symlink:
		return aPersons
	case is.id == c.now.id:
		return byUs
	}
	text, err := os.ReadFile(filepath.Join(w.Dir, filepath.FromSlash(c.path)))
	now, gerr := content(c.now, "--filters", "--path="+c.path)
	if err == nil && gerr == nil && strings.HasPrefix(now, string(text)) {
		return byUs
	}
	return aPersons
}

func keep(changes []change, that func(change) bool) []change {
	return slices.DeleteFunc(slices.Clone(changes), func(c change) bool { return !that(c) })
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
