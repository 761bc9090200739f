package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// privateLayers make a copy of a folder of the system that the process may use
// as it likes. Sockets and pipes are seen in it but lead nowhere: an overlay
// has its own.
func privateLayers(path string, empty bool) ([]layer, error) {
	if empty {
		l, _, err := emptyLayer(path)
		return []layer{l}, err
	}
	l, err := overlay(path, stage)
	if err == nil {
		return []layer{l}, nil
	}
	// Something is mounted in it, and what lies below a mount must not come to
	// light.
	if errors.Is(err, unix.EINVAL) {
		return pieces(path)
	}
	return nil, err
}

// pieces put a folder together from what can be had of it: an overlay for each
// folder in it, files as they are. Mounts, sockets and pipes are missing.
func pieces(path string) ([]layer, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	whole, at, err := emptyLayer(path)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var layers []layer
	for _, entry := range entries {
		name := filepath.Join(path, entry.Name())
		switch {
		case entry.Type()&os.ModeSymlink != 0:
			if target, err := os.Readlink(name); err == nil {
				_ = os.Symlink(target, filepath.Join(at, entry.Name()))
			}
		case entry.IsDir():
			if l, err := overlay(name, stage); err == nil && !isMount(name, info) {
				layers = append(layers, l)
			}
		case entry.Type().IsRegular():
			if l, err := cloneLayer(name, rankOverlay, unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV); err == nil {
				layers = append(layers, l)
			}
		}
	}
	return append(layers, whole), nil
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
	return cloneLayer(path, rankRead, unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV)
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
	l, err = detach(at, path, rankOverlay, unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOSUID)
	return l, at, err
}

func isMount(path string, parent os.FileInfo) bool {
	info, err := os.Stat(path)
	return err != nil || device(info) != device(parent)
}

func device(info os.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Dev
	}
	return 0
}
