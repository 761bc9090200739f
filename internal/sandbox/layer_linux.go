package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

type layer struct {
	path string
	rank rank
	fd   int
	dir  bool
}

// Attributes of mounts.
const (
	plain    = unix.MOUNT_ATTR_NODEV | unix.MOUNT_ATTR_NOSUID
	readOnly = plain | unix.MOUNT_ATTR_RDONLY
)

// rank orders layers of one path.
type rank int

const (
	rankOverlay rank = iota
	rankRead
	rankWrite
	rankReadOnly
	rankHide
)

// cloneLayer copies what is at path, with the mounts below it.
func cloneLayer(path string, r rank, attrs uint64) (layer, error) {
	info, err := os.Stat(path)
	if err != nil {
		return layer{}, err
	}
	fd, err := unix.OpenTree(unix.AT_FDCWD, path, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	if err != nil {
		return layer{}, fmt.Errorf("copy mount of %s: %w", path, err)
	}
	if err := setMount(fd, "", attrs); err != nil {
		return layer{}, fmt.Errorf("restrict mount of %s: %w", path, err)
	}
	return layer{path: path, rank: r, fd: fd, dir: info.IsDir()}, nil
}

// layers collects layers, and what went wrong. What was removed meanwhile has none.
type layers struct {
	list []layer
	err  error
}

func (ls *layers) add(l layer, err error) {
	switch {
	case err == nil:
		ls.list = append(ls.list, l)
	case !errors.Is(err, fs.ErrNotExist):
		ls.err = errors.Join(ls.err, err)
	}
}

// attach covers the path. What does not exist there, because a layer above it
// hides it, is made in that layer.
func (l layer) attach() error {
	defer unix.Close(l.fd)
	_, missing := os.Lstat(l.path)
	if missing != nil {
		if err := makePoint(l.path, l.dir); err != nil {
			return fmt.Errorf("make mount point: %w", err)
		}
	}
	err := unix.MoveMount(l.fd, "", unix.AT_FDCWD, l.path, unix.MOVE_MOUNT_F_EMPTY_PATH)
	switch {
	case errors.Is(err, unix.ENOENT) && l.rank == rankReadOnly:
		return l.again()
	case errors.Is(err, unix.ENOENT): // what was copied was removed meanwhile
		if missing != nil {
			_ = os.Remove(l.path)
		}
		return nil
	case err != nil:
		return fmt.Errorf("mount %s: %w", l.path, err)
	}
	return nil
}

// again protects what took the place of a file that was replaced after it was
// copied, as git does with its configuration. If nothing did, there is nothing
// to protect.
func (l layer) again() error {
	now, err := cloneLayer(l.path, l.rank, readOnly)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return now.attach()
}

func makePoint(path string, dir bool) error {
	if dir {
		return os.MkdirAll(path, 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, nil, 0o644)
}

func setMount(fd int, path string, attrs uint64) error {
	flags := uint(unix.AT_RECURSIVE)
	if path == "" {
		flags |= unix.AT_EMPTY_PATH
	}
	return unix.MountSetattr(fd, path, flags, &unix.MountAttr{Attr_set: attrs})
}

// detach takes a mount from the stage, to be attached elsewhere.
func detach(at, path string, r rank, attrs uint64) (layer, error) {
	l, err := cloneLayer(at, r, attrs)
	l.path = path
	return l, err
}

// hidingLayer covers a folder by an empty one and anything else by an empty file.
func hidingLayer(path string) (layer, error) {
	info, err := os.Stat(path)
	if err != nil {
		return layer{}, err
	}
	empty := stage + "/hidden.file"
	if info.IsDir() {
		empty = stage + "/hidden.folder"
	}
	if err := makePoint(empty, info.IsDir()); err != nil {
		return layer{}, err
	}
	return detach(empty, path, rankHide, readOnly)
}
