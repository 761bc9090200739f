package provenance

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"ralph/internal/atomicfile"
)

// Linked is a file in the folder that people find by a link in the project, where some agents can write. What they put there does not count.
type Linked struct {
	Path string // of the file; empty means that there is none
	Link string // that leads to it; empty means none

	watched bool // agents can write the link, and had not when the run began
}

// MakeLink makes the link in the project, if nothing stands there.
func (l *Linked) MakeLink() error {
	if l.Link == "" || l.Path == "" {
		return nil
	}
	if err := os.Symlink(l.Path, l.Link); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// Stray reports whether something else than the link stands in its place. It does not count.
func (l *Linked) Stray() bool {
	if l.Link == "" || l.Path == "" || !exists(l.Link) {
		return false
	}
	to, err := os.Readlink(l.Link)
	return err != nil || to != l.Path
}

// Watch begins a run in which agents can write the link. What stands in its place already is not theirs.
func (l *Linked) Watch() { l.watched = !l.Stray() }

// Reject moves what an agent has put in the place of the link since Watch out of the way, and names where it is kept.
func (l *Linked) Reject() (aside string, err error) {
	if !l.watched || !l.Stray() {
		return "", nil
	}
	aside = l.Link + ".rejected"
	if err = errors.Join(os.RemoveAll(aside), os.Rename(l.Link, aside)); err == nil && exists(l.Path) {
		err = l.MakeLink()
	}
	return aside, err
}

// Source is what a person means who put something in the place of the link: a file, or the link of a project that has moved. It reports
// whether it is one of these.
func (l *Linked) Source() (path string, ok bool) {
	to, err := os.Readlink(l.Link)
	if err != nil {
		return l.Link, true
	}
	return to, filepath.Base(to) == filepath.Base(l.Path) && filepath.Dir(filepath.Dir(to)) == filepath.Dir(filepath.Dir(l.Path))
}

// Adopt puts that in the place of the file, and makes the link.
func (l *Linked) Adopt(data []byte) error {
	if err := errors.Join(atomicfile.Write(l.Path, data), os.Remove(l.Link)); err != nil {
		return err
	}
	return l.MakeLink()
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
