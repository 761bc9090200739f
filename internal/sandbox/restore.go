package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
)

// Restore makes the folder what it was: contents, modes, owners where the
// system lets us, times; what was removed comes back, what was added goes. It
// never follows a link out of the folder, whatever was put there. Nothing else
// may write meanwhile.
func (s *Snap) Restore() error {
	if err := s.restore(); err != nil {
		return fmt.Errorf("restore from snapshot: %w", err)
	}
	return nil
}

func (s *Snap) restore() error {
	if err := s.openFolders(); err != nil {
		return err
	}
	changes, err := s.Changed()
	if err != nil {
		return err
	}
	for _, c := range slices.Backward(changes) {
		if c.Kind == Added || c.Kind == Replaced {
			if err := s.remove(c.Path); err != nil {
				return err
			}
		}
	}
	for _, c := range changes {
		if c.Kind == Added {
			continue
		}
		if err := s.bringBack(c); err != nil {
			return fmt.Errorf("%s: %w", c.Path, err)
		}
	}
	return s.settleFolders()
}

// openFolders lets us into folders that were there and are closed now.
func (s *Snap) openFolders() error {
	for _, name := range s.sorted() {
		if then := s.entries[name]; then.mode.IsDir() {
			info, err := s.root.Lstat(name)
			if err == nil && info.IsDir() && info.Mode() != then.mode {
				err = s.root.Chmod(name, then.mode|0o700)
			}
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

// remove removes what was added, folders without permissions included.
func (s *Snap) remove(name string) error {
	if s.root.RemoveAll(name) == nil {
		return nil
	}
	_ = fs.WalkDir(s.root.FS(), name, func(at string, d fs.DirEntry, _ error) error {
		if d != nil && d.IsDir() {
			_ = s.root.Chmod(at, 0o700)
		}
		return nil
	})
	return s.root.RemoveAll(name)
}

// bringBack makes one path what it was, except for a folder's times.
func (s *Snap) bringBack(c Change) error {
	then := s.entries[c.Path]
	gone := c.Kind == Removed || c.Kind == Replaced
	switch {
	case then.mode.IsDir():
		if gone {
			return s.root.Mkdir(c.Path, 0o700)
		}
		return nil
	case then.mode&fs.ModeSymlink != 0:
		if gone {
			return s.root.Symlink(then.target, c.Path)
		}
		return nil
	case !then.mode.IsRegular():
		return nil // a socket or a pipe means nothing without who made it
	}
	if gone || c.Kind == Content {
		if err := s.rewrite(c.Path, then); err != nil {
			return err
		}
	}
	return s.settle(c.Path, then)
}

// rewrite writes into the very file that was there, so that its hard links stay
// together, and makes a new one if there is another: that one may be a link to
// something outside.
func (s *Snap) rewrite(name string, then entry) error {
	if then.at == unread {
		return errors.New("it could not be read when the snapshot was taken")
	}
	info, err := s.root.Lstat(name)
	if err == nil && then.stamp.sameFile(stampOf(info)) {
		if err := s.root.Chmod(name, 0o600); err != nil {
			return err
		}
	} else if err == nil {
		if err := s.root.Remove(name); err != nil {
			return err
		}
	}
	f, err := s.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, io.NewSectionReader(s.pack, then.at, then.size))
	return errors.Join(err, f.Close())
}

// settle gives a file or folder its owner, mode and times back, in the order in
// which one does not undo the other.
func (s *Snap) settle(name string, then entry) error {
	info, err := s.root.Lstat(name)
	if err != nil {
		return err
	}
	if now := stampOf(info); !then.stamp.sameOwner(now) {
		// An ordinary user cannot, and could not have changed it either.
		if err := s.root.Lchown(name, then.stamp.uid, then.stamp.gid); err != nil && !errors.Is(err, fs.ErrPermission) {
			return err
		}
	}
	if err := s.root.Chmod(name, then.mode); err != nil {
		return err
	}
	return s.root.Chtimes(name, then.mtime, then.mtime)
}

// settleFolders comes last and from the inside out: all that was done in a
// folder changed its times.
func (s *Snap) settleFolders() error {
	for _, name := range slices.Backward(s.sorted()) {
		then := s.entries[name]
		if !then.mode.IsDir() {
			continue
		}
		info, err := s.root.Lstat(name)
		if err != nil {
			return err
		}
		if info.Mode() == then.mode && info.ModTime().Equal(then.mtime) && then.stamp.sameOwner(stampOf(info)) {
			continue
		}
		if err := s.settle(name, then); err != nil {
			return err
		}
	}
	return nil
}

// sameBytes compares two streams of the same length.
func sameBytes(a, b io.Reader) (bool, error) {
	left, right := make([]byte, 64<<10), make([]byte, 64<<10)
	for {
		n, errA := io.ReadFull(a, left)
		m, errB := io.ReadFull(b, right)
		if !bytes.Equal(left[:n], right[:m]) {
			return false, nil
		}
		end := func(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }
		switch {
		case end(errA) && end(errB):
			return true, nil
		case errA != nil && !end(errA):
			return false, errA
		case errB != nil && !end(errB):
			return false, errB
		}
	}
}
