package sandbox

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"
)

// Snap is a folder as it was: contents, modes, owners, times, links, what git
// ignores and git's own folder included.
//
// The contents are copied into one unnamed file, which costs no file creation
// and leaves nothing behind; where the file system can share blocks, the system
// call that is used does. Hard links would be cheaper still and wrong: writing
// into a file writes into its links.
type Snap struct {
	root    *os.Root
	skip    []string
	entries map[string]entry
	pack    *os.File
}

// entry is one file, folder or link.
type entry struct {
	mode   fs.FileMode
	size   int64
	mtime  time.Time
	stamp  stamp  // says that a file is untouched without reading it
	target string // of a link
	at     int64  // of the content in the pack, or unread
}

// unread marks a file that we may not read, such as one of a database that runs
// in a container. It is watched but cannot be brought back.
const unread = -1

// Snapshot copies what is in dir, except for skip, to an unnamed file in temp,
// a folder outside dir. Close lets go of it.
func Snapshot(dir, temp string, skip ...string) (*Snap, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	s := &Snap{root: root, skip: skip}
	if s.pack, err = os.CreateTemp(temp, "snapshot"); err != nil {
		root.Close()
		return nil, fmt.Errorf("snapshot %s: %w", dir, err)
	}
	_ = os.Remove(s.pack.Name()) // where an open file cannot be removed, Close does
	if s.entries, err = s.list(); err == nil {
		err = s.copyIn()
	}
	if err == nil {
		err = s.distrust()
	}
	if err != nil {
		_ = s.Close()
		return nil, fmt.Errorf("snapshot %s: %w", dir, err)
	}
	return s, nil
}

// Close gives the copies up.
func (s *Snap) Close() error {
	err := errors.Join(s.pack.Close(), s.root.Close())
	_ = os.Remove(s.pack.Name())
	return err
}

// Changed lists what is different now, sorted by path. A file whose change time
// is the same was not touched, and is not read.
func (s *Snap) Changed() ([]Change, error) {
	now, err := s.list()
	if err != nil {
		return nil, fmt.Errorf("compare with snapshot: %w", err)
	}
	var out []Change
	for name, then := range s.entries {
		e, ok := now[name]
		if !ok {
			out = append(out, Change{name, Removed})
			continue
		}
		kind, err := s.compare(name, then, e)
		if err != nil {
			return nil, fmt.Errorf("compare with snapshot: %w", err)
		}
		if kind != "" {
			out = append(out, Change{name, kind})
		}
	}
	for name := range now {
		if _, ok := s.entries[name]; !ok {
			out = append(out, Change{name, Added})
		}
	}
	slices.SortFunc(out, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	return out, nil
}

func (s *Snap) compare(name string, then, now entry) (Kind, error) {
	switch {
	case then.mode.Type() != now.mode.Type() || then.target != now.target:
		return Replaced, nil
	case then.mode.IsRegular() && !then.stamp.untouched(now.stamp):
		same, err := s.sameContent(name, then, now)
		if err != nil || !same {
			return Content, err
		}
	}
	switch {
	case then.mode != now.mode:
		return Perm, nil
	case !then.stamp.sameOwner(now.stamp):
		return Owner, nil
	// Nothing sets the times of a link by accident, and not every system can.
	case then.mode&fs.ModeSymlink == 0 && !then.mtime.Equal(now.mtime):
		return Times, nil
	}
	return "", nil
}

func (s *Snap) sameContent(name string, then, now entry) (bool, error) {
	if then.size != now.size || then.at == unread {
		return false, nil
	}
	f, err := s.root.Open(name)
	if errors.Is(err, fs.ErrPermission) {
		return false, nil // it cannot be told; restoring makes it so
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	return sameBytes(f, io.NewSectionReader(s.pack, then.at, then.size))
}

// list looks at everything without following links.
func (s *Snap) list() (map[string]entry, error) {
	out := make(map[string]entry)
	err := fs.WalkDir(s.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			if d != nil && d.IsDir() && errors.Is(err, fs.ErrPermission) {
				return nil
			}
			return err
		}
		if skipped(name, s.skip) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		info, err := s.root.Lstat(name)
		if err != nil {
			return err
		}
		e := entry{mode: info.Mode(), size: info.Size(), mtime: info.ModTime(), stamp: stampOf(info)}
		if e.mode&fs.ModeSymlink != 0 {
			e.target, err = s.root.Readlink(name)
		}
		out[name] = e
		return err
	})
	return out, err
}

// copyIn fills the pack, folder by folder, which is how the disk has it.
func (s *Snap) copyIn() error {
	var at int64
	for _, name := range s.sorted() {
		e := s.entries[name]
		if !e.mode.IsRegular() {
			continue
		}
		f, err := s.root.Open(name)
		if errors.Is(err, fs.ErrPermission) {
			e.at = unread
			s.entries[name] = e
			continue
		}
		if err != nil {
			return err
		}
		n, err := io.Copy(s.pack, f)
		f.Close()
		if err != nil {
			return fmt.Errorf("copy %s: %w", name, err)
		}
		e.at, e.size = at, n
		s.entries[name] = e
		at += n
	}
	return nil
}

// distrust forgets the stamps of files that changed so shortly before that
// another change may get the same time: the clock of files ticks slowly.
func (s *Snap) distrust() error {
	info, err := s.pack.Stat()
	if err != nil {
		return err
	}
	for name, e := range s.entries {
		if e.stamp.recent(stampOf(info)) {
			e.stamp = e.stamp.forgotten()
			s.entries[name] = e
		}
	}
	return nil
}

// sorted is every path, folders before what is in them.
func (s *Snap) sorted() []string {
	names := make([]string, 0, len(s.entries))
	for name := range s.entries {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return strings.Compare(path.Clean(a), path.Clean(b)) })
	return names
}
