package git

import (
	"cmp"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Edit makes one file of a tree what another has, or something else.
type Edit struct {
	Path    string // with slashes
	From    string // the file that the other tree has here is put there, with its mode
	Content []byte // else this, if it is not nil; else nothing is there
	Mode    string // of Content; empty means that which the file has, or that of an ordinary one
}

const executable = "100755" // a mode

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

// Written are the seconds in which the files that edits are about were written into a folder.
func Written(folder string, edits []Edit) (map[string]time.Time, error) {
	at := map[string]time.Time{}
	return at, eachFile(folder, edits, func(_ *os.Root, name string, written time.Time) error {
		at[name] = written
		return nil
	})
}

// Later makes sure that files which edits have put into a folder were not written in the same second as what was there before. They have
// just been written, so they are newer than what was compiled, which is what most tools go by; but Python knows a source by its size and the
// second. At most, a time is one second ahead of the clock.
func Later(folder string, edits []Edit, before map[string]time.Time) error {
	return eachFile(folder, edits, func(root *os.Root, name string, written time.Time) error {
		was := before[name]
		if was.IsZero() || written.Unix() > was.Unix() {
			return nil
		}
		later := time.Unix(was.Unix()+1, 0)
		return root.Chtimes(name, later, later)
	})
}

// eachFile visits the ordinary files that edits are about and a folder has. Links lead nowhere else.
func eachFile(folder string, edits []Edit, visit func(root *os.Root, name string, written time.Time) error) error {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, e := range edits {
		name := filepath.FromSlash(e.Path)
		if info, err := root.Lstat(name); err == nil && info.Mode().IsRegular() {
			if err := visit(root, name, info.ModTime()); err != nil {
				return err
			}
		}
	}
	return nil
}
