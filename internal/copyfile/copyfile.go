// Package copyfile copies files into a folder that somebody else writes, and opens those that are there. It never follows
// a link out of it.
package copyfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"ralph/internal/bounded"
)

// Into copies a file or a link, with its time, by which it is known to be the same. Links and files where name needs
// folders are removed, and so is whatever has its place.
func Into(root *os.Root, name, from string) error {
	info, err := os.Lstat(from)
	if err != nil {
		return err
	}
	link := info.Mode().Type() == fs.ModeSymlink
	if was, err := root.Lstat(name); !link && !info.Mode().IsRegular() ||
		!link && err == nil && was.Mode() == info.Mode() && was.Size() == info.Size() && was.ModTime().Equal(info.ModTime()) {
		return nil
	}
	if err := Clear(root, name); err != nil {
		return err
	}
	if link {
		target, err := os.Readlink(from)
		return errors.Join(err, root.Symlink(target, name))
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close(), root.Chtimes(name, info.ModTime(), info.ModTime()))
}

// Clear makes place for a file or folder: the folders around it are there, and nothing has its name.
func Clear(root *os.Root, name string) error {
	for dir := filepath.Dir(name); dir != "."; dir = filepath.Dir(dir) {
		if at, err := root.Lstat(dir); err == nil && !at.IsDir() {
			if err := root.Remove(dir); err != nil {
				return err
			}
		}
	}
	return errors.Join(root.MkdirAll(filepath.Dir(name), 0o700), root.RemoveAll(name))
}

// Open opens a file that somebody else may have written, to be read: no link, and nothing that would hold us up, as a
// pipe does.
func Open(root *os.Root, name string) (f *os.File, info fs.FileInfo, err error) {
	if info, err = root.Lstat(name); err == nil {
		err = regular(info)
	}
	if err != nil {
		return nil, nil, err
	}
	if f, err = root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0); err != nil {
		return nil, nil, err
	}
	if info, err = f.Stat(); err == nil { // another one may stand there by now
		err = regular(info)
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}

// OpenPath opens a file that somebody else may have replaced, to be read. A link is followed, but nothing is opened that would hold
// us up, as a pipe does, or that never ends, as a device.
func OpenPath(path string) (f *os.File, info fs.FileInfo, err error) {
	if f, err = os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0); err != nil {
		return nil, nil, err
	}
	if info, err = f.Stat(); err == nil {
		err = regular(info)
	}
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
	}
	return f, info, nil
}

// Read reads a file that OpenPath opens, unless it has more than limit bytes.
func Read(path string, limit int64) ([]byte, error) {
	f, _, err := OpenPath(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := bounded.Read(f, limit)
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return data, err
}

// ErrSpecial is what is not a file of bytes.
var ErrSpecial = errors.New("not a regular file")

func regular(info fs.FileInfo) error {
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return nil
	case mode&fs.ModeSymlink != 0:
		return fmt.Errorf("%w: a symbolic link, which is not followed", ErrSpecial)
	case mode.IsDir():
		return fmt.Errorf("%w: a folder", ErrSpecial)
	}
	return ErrSpecial
}
