// Package atomicfile replaces files whole. It never leaves half of one behind.
package atomicfile

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Write puts a file in place whole or not at all, even if the machine stops. It makes
// the folder if that is missing.
func Write(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return swap(path, ".tmp-*", data, (*os.File).Sync)
}

// In puts a file in place below a root, with the mode of the one that it replaces. It does not wait for the disk, and does
// not replace what is no file.
func In(root *os.Root, name string, data []byte) error {
	const usual = fs.FileMode(0o644)
	mode := usual
	if info, err := root.Lstat(name); err == nil {
		if !info.Mode().IsRegular() {
			return &fs.PathError{Op: "replace", Path: name, Err: errors.New("not a regular file")}
		}
		mode = info.Mode().Perm()
	}
	temp := filepath.Join(filepath.Dir(name), ".ralph-"+rand.Text()+".tmp")
	f, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil && mode != usual {
		err = f.Chmod(mode)
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = root.Rename(temp, name)
	}
	if err != nil {
		_ = root.Remove(temp)
	}
	return err
}

// WriteJSON writes a value so that people can read it, too.
func WriteJSON(path string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return Write(path, append(data, '\n'))
}

// swap writes a new file and puts it in the place of the old one. Last is what happens
// to the new one before.
func swap(path, pattern string, data []byte, last func(*os.File) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), pattern)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, last(f), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// Settle is a path whose folder is taken as it is now: a link may be put in its place
// later.
func Settle(path string) string {
	folder, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return path
	}
	return filepath.Join(folder, filepath.Base(path))
}

// CheckSettled refuses a settled path whose folder is no longer where it was.
func CheckSettled(path string) error {
	if now := Settle(path); now != path {
		return fmt.Errorf("%s leads to %s now: a link was put in the way", filepath.Dir(path), filepath.Dir(now))
	}
	return nil
}

// Prepare makes sure that a file can be written later, and removes an older one: nobody
// must take that for the new one, should it never be written.
func Prepare(path string) error {
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return fmt.Errorf("%s is a folder", path)
	case err == nil && !info.Mode().IsRegular():
		return nil // a pipe, a device
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".ralph-report-*")
	if err != nil {
		return about(path, err)
	}
	if err := errors.Join(f.Close(), os.Remove(f.Name())); err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// Replace writes a file that everybody may read, so that nobody ever sees half of it.
// Unlike Write it makes no folder, and does not wait for the disk.
func Replace(path string, data []byte) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return os.WriteFile(path, data, 0o600) // a pipe, a device: there is nothing to replace
	}
	return about(path, swap(path, ".ralph-report-*", data, func(f *os.File) error { return f.Chmod(0o644) }))
}

// about says of the file that a person named what went wrong with the one that was
// to take its place.
func about(path string, err error) error {
	var one *os.PathError
	var two *os.LinkError
	switch {
	case errors.As(err, &one):
		return fmt.Errorf("%s: %w", path, one.Err)
	case errors.As(err, &two):
		return fmt.Errorf("%s: %w", path, two.Err)
	}
	return err
}
