// Package copyfile copies files into a folder that somebody else writes. It never follows a link out of it.
package copyfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
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
	for dir := filepath.Dir(name); dir != "."; dir = filepath.Dir(dir) {
		if at, err := root.Lstat(dir); err == nil && !at.IsDir() {
			if err := root.Remove(dir); err != nil {
				return err
			}
		}
	}
	if err := errors.Join(root.MkdirAll(filepath.Dir(name), 0o700), root.RemoveAll(name)); err != nil {
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
