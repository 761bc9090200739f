package permission

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"ralph/internal/atomicfile"
)

// link makes the link in the project, if nothing stands there.
func (b *Book) link() error {
	if b.Link == "" || b.Path == "" {
		return nil
	}
	if err := os.Symlink(b.Path, b.Link); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// Stray reports whether something else than the link to the rules stands in its place. It does not count, whoever put it there.
func (b *Book) Stray() bool {
	if b == nil || b.Link == "" || b.Path == "" {
		return false
	}
	if _, err := os.Lstat(b.Link); err != nil {
		return false
	}
	to, err := os.Readlink(b.Link)
	return err != nil || to != b.Path
}

// Watch begins a run in which agents can write the link. What stands in its place already is nobody's of them.
func (b *Book) Watch() { b.watched = !b.Stray() }

// Reject moves what an agent has put in the place of the link since Watch out of the way, and says so.
func (b *Book) Reject() (planted []string, err error) {
	if b == nil || !b.watched || !b.Stray() {
		return nil, nil
	}
	aside := b.Link + ".rejected"
	if err = errors.Join(os.RemoveAll(aside), os.Rename(b.Link, aside)); err == nil && exists(b.Path) {
		err = b.link()
	}
	return []string{fmt.Sprintf("%s: rules that no answer gave; they never counted, and are kept in %s", b.Link, aside)}, err
}

// Adopt makes what a person has put in the place of the link the rules of the project: a file, or the link of a project that has moved.
// It lists them, one in a line after where they come from: no diff shows what an agent may have put there.
func (b *Book) Adopt() (adopted []string, err error) {
	if !b.Stray() {
		return nil, nil
	}
	from := b.Link
	if to, err := os.Readlink(b.Link); err == nil {
		if filepath.Base(to) != filepath.Base(b.Path) || filepath.Dir(filepath.Dir(to)) != filepath.Dir(filepath.Dir(b.Path)) {
			return nil, fmt.Errorf("%w: %s leads to %s, where no rules are", ErrFile, b.Link, to)
		}
		from = to
	}
	data, _, err := read(from)
	if err != nil {
		return nil, err
	}
	list, err := parse(data, b.Link)
	if err != nil {
		return nil, err
	}
	adopted = []string{fmt.Sprintf("rules from %s that count from now on: %d", from, len(list))}
	for _, e := range list {
		adopted = append(adopted, fmt.Sprintf("  %s %s", e.Answer, e.Rule))
	}
	if err := errors.Join(atomicfile.Write(b.Path, data), os.Remove(b.Link)); err != nil {
		return nil, err
	}
	return adopted, b.link()
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
