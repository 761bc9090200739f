package acp

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ralph/internal/atomicfile"
)

const maxLinks = 40

// write replaces or creates a file, with the folders above it, and returns its
// real path below the root. Readers see the old text or the new, never a part.
func (f *files) write(path, text string) (string, error) {
	rel, ok := f.relative(path)
	if !ok || rel == "." {
		return "", fmt.Errorf("write %s: %w", path, errOutside)
	}
	if len(text) > maxWrite {
		return "", fmt.Errorf("write %s: %d bytes: %w", rel, len(text), errTooLarge)
	}
	p := &place{folders: []*os.Root{f.root}}
	defer p.close()
	err := f.walk(p, strings.Split(rel, string(filepath.Separator)))
	if err == nil {
		err = p.replace(text)
	}
	if err != nil {
		return "", fmt.Errorf("write %s: %w", rel, pathCause(err))
	}
	return filepath.Join(append(p.names, p.name)...), nil
}

// place is a name in a folder that is held open: what happens to the path that
// led there cannot move it any more.
type place struct {
	folders []*os.Root // from the root to the parent
	names   []string   // of the folders below the root
	name    string
}

func (p *place) parent() *os.Root { return p.folders[len(p.folders)-1] }

func (p *place) close() {
	for _, folder := range p.folders[1:] {
		folder.Close()
	}
}

// walk goes to the parent of a path one name at a time. Links are followed by
// hand, so that every real folder on the way is seen and compared with the
// protected ones; a name that changes into a link between look and step is an
// error. Absolute links are refused, as the root does when reading.
func (f *files) walk(p *place, todo []string) error {
	for links := 0; len(todo) > 0; {
		name := todo[0]
		todo = todo[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			if err := p.leave(); err != nil {
				return err
			}
			continue
		}
		seen, err := p.parent().Lstat(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err == nil && seen.Mode()&fs.ModeSymlink != 0 {
			target, err := p.parent().Readlink(name)
			if links++; err != nil || links > maxLinks || filepath.IsAbs(target) {
				return errOutside
			}
			todo = append(strings.Split(filepath.ToSlash(target), "/"), todo...)
			continue
		}
		if err := f.allowed(p, name, seen); err != nil {
			return err
		}
		if len(todo) == 0 {
			p.name = name
			return nil
		}
		if err := p.enter(name, seen); err != nil {
			return err
		}
	}
	return errNotRegular // it ends in a folder
}

func (p *place) leave() error {
	last := len(p.names) - 1
	if last < 0 {
		return errOutside
	}
	p.parent().Close()
	p.folders, p.names = p.folders[:last+1], p.names[:last]
	return nil
}

// enter steps into a folder, making it if there was none. seen is what Lstat
// said of it.
func (p *place) enter(name string, seen fs.FileInfo) error {
	if seen == nil {
		if err := p.parent().Mkdir(name, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		var err error
		if seen, err = p.parent().Lstat(name); err != nil {
			return err
		}
	}
	if !seen.IsDir() {
		return errNotRegular
	}
	folder, err := p.parent().OpenRoot(name)
	if err != nil {
		return err
	}
	if now, err := folder.Stat("."); err != nil || !os.SameFile(seen, now) {
		folder.Close()
		return errOutside
	}
	p.folders = append(p.folders, folder)
	p.names = append(p.names, name)
	return nil
}

// allowed refuses a name that is protected, and one that is above something
// protected unless it is a folder to step into. seen is what Lstat said of it,
// nil if there is nothing. Files are compared as the files they are, so neither
// a link nor a second name gets around it; names are compared without case, as
// some file systems do.
func (f *files) allowed(p *place, name string, seen fs.FileInfo) error {
	if f.protectedName(name) || seen != nil && slices.ContainsFunc(f.known, func(info fs.FileInfo) bool { return os.SameFile(info, seen) }) {
		return errProtected
	}
	here, err := p.parent().Stat(".")
	if err != nil {
		return err
	}
	for _, path := range f.protected {
		for at := path; at != "."; at = filepath.Dir(at) {
			if at != path && seen != nil && seen.IsDir() {
				continue
			}
			if info, err := f.root.Lstat(at); err == nil && seen != nil && os.SameFile(info, seen) {
				return errProtected
			}
			above, err := f.root.Stat(filepath.Dir(at))
			if err == nil && os.SameFile(above, here) && strings.EqualFold(filepath.Base(at), name) {
				return errProtected
			}
		}
	}
	return nil
}

func (p *place) replace(text string) error {
	if info, err := p.parent().Lstat(p.name); err == nil && !info.Mode().IsRegular() {
		return errNotRegular
	}
	return atomicfile.In(p.parent(), p.name, []byte(text))
}
