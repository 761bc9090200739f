package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// private adds a copy of a folder of the system that the process may use as it likes.
// Sockets and pipes are seen in it but lead nowhere: an overlay has its own.
func (ls *layers) private(path string, empty bool) {
	if empty {
		l, _, err := emptyLayer(path)
		ls.add(l, err)
		return
	}
	l, err := overlay(path, stage)
	if errors.Is(err, unix.EINVAL) {
		// Something is mounted in it, and what lies below a mount must not come to light.
		ls.pieces(path)
		return
	}
	ls.add(l, err)
}

// pieces put a folder together from what can be had of it: an overlay for each
// folder in it, files as they are. Mounts, sockets and pipes are missing.
func (ls *layers) pieces(path string) {
	info, err := os.Stat(path)
	whole, at, err2 := emptyLayer(path)
	entries, err3 := os.ReadDir(path)
	if err := errors.Join(err, err2, err3); err != nil {
		ls.err = errors.Join(ls.err, err)
		return
	}
	for _, entry := range entries {
		name := filepath.Join(path, entry.Name())
		switch {
		case entry.Type()&os.ModeSymlink != 0:
			if target, err := os.Readlink(name); err == nil {
				_ = os.Symlink(target, filepath.Join(at, entry.Name()))
			}
		case entry.IsDir():
			if l, err := overlay(name, stage); err == nil && !isMount(name, info) {
				ls.add(l, nil)
			}
		case entry.Type().IsRegular():
			if l, err := cloneLayer(name, rankOverlay, readOnly); err == nil {
				ls.add(l, nil)
			}
		}
	}
	ls.add(whole, nil)
}

// readLayer shows what is at path in an empty folder: as it is anywhere in a private
// folder, what is written is thrown away, or refused where there is no overlay.
func readLayer(path string) (layer, error) {
	if isDir(path) {
		if l, err := overlay(path, stage); err == nil {
			l.rank = rankRead
			return l, nil
		}
	}
	return cloneLayer(path, rankRead, readOnly)
}

// emptyLayer covers a folder by an empty one, which is at on the stage.
func emptyLayer(path string) (l layer, at string, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return layer{}, "", err
	}
	if at, err = os.MkdirTemp(stage, "private"); err != nil {
		return layer{}, "", err
	}
	if err := copyAttributes(at, info); err != nil {
		return layer{}, "", err
	}
	l, err = detach(at, path, rankOverlay, plain)
	return l, at, err
}

func isMount(path string, parent os.FileInfo) bool {
	info, err := os.Stat(path)
	return err != nil || info.Sys().(*syscall.Stat_t).Dev != parent.Sys().(*syscall.Stat_t).Dev
}
