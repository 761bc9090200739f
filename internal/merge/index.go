package merge

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"ralph/internal/copyfile"
	"ralph/internal/git"
)

// The index of a person's working tree is changed in a copy that takes its place, with git's
// lock of it in our hands. What is in that lock tells it from the lock of a person's git, so that
// one that was left can be removed, and only that.

func (l *landing) index() string { return filepath.Join(l.tree.GitDir, "index") }

func (l *landing) copied() string { return l.record.Name() + ".index" }

// call is git in the working tree, with the copy.
func (l *landing) call() git.Call {
	call := l.tree.Call()
	call.Index = l.copied()
	return call
}

// makeIndex has git write an index that does not exist yet, because nothing was ever added: what is not there cannot be watched. Git writes
// the copy: it would lock the index itself with an empty file, and one that was left by a git that was killed looks like a person's.
func (l *landing) makeIndex(ctx context.Context) error {
	if _, err := os.Lstat(l.index()); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	l.removeCopy()
	if _, err := l.repo.Git(ctx, l.call(), "update-index", "--force-write-index"); err != nil {
		return err
	}
	err := os.Link(l.copied(), l.index()) // at once, and never over one that git has made meanwhile
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrPermission) {
		err = os.Rename(l.copied(), l.index()) // a file system without links
	}
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// copyIndex copies the index, with its time, by which git knows what may have changed since.
func (l *landing) copyIndex() (os.FileInfo, error) {
	l.removeCopy()
	info, err := os.Stat(l.index())
	if err == nil {
		err = git.CopyIndex(l.copied(), l.index())
	}
	return info, err
}

// unmerged lists the files in conflict, by the copy.
func (l *landing) unmerged(ctx context.Context) (files []string, err error) {
	data, err := os.ReadFile(l.copied())
	if err != nil {
		return nil, err
	}
	list, err := git.ParseIndex(data, l.candidate)
	for _, f := range list {
		if f.Staged {
			files = append(files, f.Name)
		}
	}
	if err == nil {
		return files, nil
	}
	out, err := l.repo.Git(ctx, l.call(), "ls-files", "-z", "--unmerged")
	for _, entry := range git.Split(out) {
		_, name, _ := strings.Cut(entry, "\t")
		files = append(files, name)
	}
	return files, err
}

// removeCopy removes also the lock of a git that was killed.
func (l *landing) removeCopy() {
	_ = os.Remove(l.copied())
	_ = os.Remove(l.copied() + ".lock")
}

// lockIndex locks the index, if it is still the same as before.
func (l *landing) lockIndex(before os.FileInfo) error {
	at := l.index() + ".lock"
	err := os.Symlink(l.candidate, at) // it has its content at once
	if err != nil && !errors.Is(err, fs.ErrExist) {
		var f *os.File // a file system without links
		if f, err = os.OpenFile(at, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600); err == nil {
			_, err = f.WriteString(l.candidate)
			err = errors.Join(err, f.Close())
		}
	}
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w: %s", ErrLocked, at)
	}
	if now, serr := os.Stat(l.index()); err == nil && before != nil && (serr != nil || !os.SameFile(before, now) || !now.ModTime().Equal(before.ModTime())) {
		l.unlockIndex()
		return fmt.Errorf("%w: %s", ErrLocked, l.index())
	}
	return err
}

func (l *landing) unlockIndex() {
	if l.tree.Dir != "" && contents(l.index()+".lock") == l.candidate {
		_ = os.Remove(l.index() + ".lock")
	}
}

// contents is what a lock says, "-" if there is none.
func contents(path string) string {
	if text, err := os.Readlink(path); err == nil {
		return text
	}
	text, err := copyfile.Read(path, 1<<10)
	if err != nil {
		return "-"
	}
	return strings.TrimSpace(string(text))
}

// withIndex changes the index, and perhaps files.
func (l *landing) withIndex(do func(git.Call) error) error {
	if err := l.lockIndex(nil); err != nil {
		return err
	}
	defer l.unlockIndex()
	_, err := l.copyIndex()
	if err == nil {
		err = do(l.call())
	}
	if err == nil {
		err = os.Rename(l.copied(), l.index())
	}
	return err
}
