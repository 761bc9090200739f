package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ralph/internal/lazyregexp"
)

// Edit makes one file of a tree what another has, or something else.
type Edit struct {
	Path    string // with slashes
	From    string // the file that the other tree has here is put there, with its mode
	Content []byte // else this, if it is not nil; else nothing is there
	Mode    string // of Content; empty means that which the file has, or that of an ordinary one
}

const symlink, executable = "120000", "100755" // modes

// Plumbing runs git, with an index of its own.
type Plumbing func(in io.Reader, args ...string) (string, error)

// EditTree makes a tree, or a commit, named by its ID, into another tree. What edits put there is what base has. Where one is
// about nothing, nothing is there.
func EditTree(git Plumbing, base, tree string, edits []Edit) (string, error) {
	was, err := entries(git, base)
	if err != nil {
		return "", err
	}
	is := was
	if slices.ContainsFunc(edits, func(e Edit) bool { return e.Content != nil }) {
		if is, err = entries(git, tree); err != nil {
			return "", err
		}
	}
	var gone, there []string
	for _, e := range edits {
		entry := was[e.From]
		if e.From == "" && e.Content != nil {
			if entry.Mode = cmp.Or(e.Mode, "100644"); e.Mode == "" && is[e.Path].Mode == executable {
				entry.Mode = executable
			}
			if entry.ID, err = git(strings.NewReader(string(e.Content)), "hash-object", "-w", "--stdin"); err != nil {
				return "", err
			}
			entry.ID = strings.TrimSpace(entry.ID)
		}
		if entry.Mode == "" {
			gone = append(gone, Entry{Mode: "0", ID: strings.Repeat("0", len(tree))}.Line(e.Path))
		} else {
			there = append(there, entry.Line(e.Path))
		}
	}
	if _, err = git(nil, "read-tree", tree); err == nil { // what is gone first: a folder may become a file
		_, err = git(Lines(append(gone, there...)), "update-index", "--replace", "-z", "--index-info")
	}
	if err != nil {
		return "", err
	}
	id, err := git(nil, "write-tree") // which refuses what has no object
	return strings.TrimSpace(id), err
}

// entries are what a tree has, by path.
func entries(git Plumbing, tree string) (map[string]Entry, error) {
	out, err := git(nil, "ls-tree", "-r", "-z", "--full-tree", tree)
	at := map[string]Entry{}
	for _, entry := range Split(out) {
		words, name, _ := strings.Cut(entry, "\t")
		if part := strings.Fields(words); len(part) == 3 { // mode, type, ID
			at[name] = Entry{part[0], part[2]}
		}
	}
	return at, err
}

// Modes are those of the files of a tree that Take returned, by path.
func Modes(ctx context.Context, dir, objects, tree string) (map[string]string, error) {
	s, err := openStore(ctx, dir, objects, tree)
	if err != nil {
		return nil, err
	}
	at, err := entries(func(in io.Reader, args ...string) (string, error) { return s.git(ctx, nil, in, args...) }, tree)
	modes := make(map[string]string, len(at))
	for path, entry := range at {
		modes[path] = entry.Mode
	}
	return modes, err
}

// Edited is EditTree for trees that Take returned for the same dir and objects.
func Edited(ctx context.Context, dir, objects, base, tree string, edits []Edit) (id string, err error) {
	s, err := openStore(ctx, dir, objects, base, tree)
	if err != nil {
		return "", err
	}
	temp, err := os.MkdirTemp(s.path, "tree-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(temp) }() // it is in a folder of ours
	env := []string{"GIT_INDEX_FILE=" + filepath.Join(temp, "index")}
	id, err = EditTree(func(in io.Reader, args ...string) (string, error) { return s.git(ctx, env, in, args...) }, base, tree, edits)
	if err != nil {
		return "", fmt.Errorf("put back files of %s: %w", dir, err)
	}
	return id, nil
}

// description is what Take puts in the place of a large file.
var description = lazyregexp.New(`^\d+ bytes, modified at \d+\n$`)

// Described is an error: files of which a tree has no content, but only the size or the commit.
type Described []string

func (d Described) Error() string {
	return "only the size or the commit is known of " + strings.Join(d, ", ")
}

// Extract writes the files of a tree that differ from those of another into a folder, and lists those that it does
// not have. Both are trees that Take or Edited returned. What they only describe, a large file or a repository that
// counts by its commit, is Described.
func Extract(ctx context.Context, dir, objects, from, to, folder string) (gone []string, err error) {
	s, err := openStore(ctx, dir, objects, from, to)
	if err != nil {
		return nil, err
	}
	diffs, err := diffTrees(func(in io.Reader, args ...string) (string, error) { return s.git(ctx, nil, in, args...) }, from, to)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	b := &batch{}
	defer b.end()
	var described Described
	for _, d := range diffs {
		if d.Now.Mode == Nothing {
			gone = append(gone, d.Path)
			continue
		}
		if b.asked == nil {
			err = b.start(ctx, dir, objects, to)
		}
		if err == nil {
			err = b.extract(root, d)
		}
		if errors.Is(err, errDescribed) {
			described, err = append(described, d.Path), nil
		}
		if err != nil {
			return nil, fmt.Errorf("put back %s: %w", d.Path, err)
		}
	}
	if len(described) > 0 {
		return nil, described
	}
	return gone, nil
}

var errDescribed = errors.New("there is no content")

// extract writes one file.
func (b *batch) extract(root *os.Root, d Diff) error {
	if d.Now.Mode == Gitlink {
		return errDescribed
	}
	data, err := b.read(d.Now.ID, LargeFile)
	if err != nil {
		return err
	}
	if description.Get().Match(data) {
		return errDescribed
	}
	name := filepath.FromSlash(d.Path)
	if err := root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	switch d.Now.Mode {
	case symlink:
		return root.Symlink(string(data), name)
	case executable:
		return root.WriteFile(name, data, 0o755)
	}
	return root.WriteFile(name, data, 0o644)
}

// Later gives the files that edits have put into a folder a time that none of the others has. Some tools know a source by its
// size and the second at which it was written, as Python does, others by being newer than what was made of it.
func Later(folder string, edits []Edit) error {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, e := range edits {
		name := filepath.FromSlash(e.Path)
		if info, err := root.Lstat(name); err == nil && info.Mode().IsRegular() {
			later := info.ModTime().Add(time.Hour)
			if err := root.Chtimes(name, later, later); err != nil {
				return err
			}
		}
	}
	return nil
}
