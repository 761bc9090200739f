package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// overlayLayer lays a folder under a throwaway one, on scratch, or in memory if scratch
// is an overlay itself, as in a container. A file is replaced by a copy.
func overlayLayer(path, scratch string) (layer, error) {
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		if err == nil {
			return copyLayer(path, cmp.Or(scratch, stage), info)
		}
		return layer{}, err
	}
	if scratch != "" {
		if l, err := thrownAway(path, scratch); err == nil {
			return l, nil
		}
	}
	l, err := thrownAway(path, stage)
	if err != nil {
		return layer{}, fmt.Errorf("lay %s under an overlay: %w", path, err)
	}
	return l, nil
}

// copyLayer covers a file by a copy that is thrown away. Sockets and the like
// have no copy and are read-only.
func copyLayer(path, scratch string, info os.FileInfo) (layer, error) {
	if !info.Mode().IsRegular() {
		return cloneLayer(path, rankOverlay, readOnly)
	}
	in, err := os.Open(path)
	if err != nil {
		return layer{}, err
	}
	defer in.Close()
	out, err := os.CreateTemp(scratch, "copy")
	if err != nil {
		return layer{}, err
	}
	_, err = io.Copy(out, in)
	if err = errors.Join(err, out.Close(), copyAttributes(out.Name(), info)); err != nil {
		return layer{}, fmt.Errorf("copy %s: %w", path, err)
	}
	return detach(out.Name(), path, rankOverlay, plain)
}

// thrownAway lays a folder under an overlay that goes with its process.
func thrownAway(path, scratch string) (layer, error) {
	base, err := os.MkdirTemp(scratch, "overlay")
	if err != nil {
		return layer{}, err
	}
	return overlay(path, base, []string{path})
}

// overlay shows folders, the first on top, at path, and keeps what is written there in base.
func overlay(path, base string, folders []string) (layer, error) {
	info, err := os.Stat(folders[len(folders)-1])
	if err != nil {
		return layer{}, err
	}
	// Descriptors instead of names: names may contain commas and colons.
	open := func(dir string) int {
		fd, e := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		err = errors.Join(err, e)
		return fd
	}
	for _, name := range []string{"/upper", "/work"} {
		if e := os.Mkdir(base+name, 0o700); !errors.Is(e, fs.ErrExist) {
			err = errors.Join(err, e)
		}
	}
	merged, e := os.MkdirTemp(stage, "merged") // in memory: on a disk, a folder costs more than its mount
	err = errors.Join(err, e)
	var lower []string
	for _, dir := range folders {
		fd := open(dir)
		defer unix.Close(fd)
		lower = append(lower, "/proc/self/fd/"+strconv.Itoa(fd))
	}
	upper, work := open(base+"/upper"), open(base+"/work")
	defer unix.Close(upper)
	defer unix.Close(work)
	// The merged folder shows the attributes of the upper one.
	err = errors.Join(err, copyAttributes(base+"/upper", info))
	if err != nil {
		return layer{}, err
	}
	options := fmt.Sprintf("lowerdir=%s,upperdir=/proc/self/fd/%d,workdir=/proc/self/fd/%d,userxattr", strings.Join(lower, ":"), upper, work)
	if err := unix.Mount("overlay", merged, "overlay", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		return layer{}, fmt.Errorf("mount an overlay: %w", err)
	}
	l, err := detach(merged, path, rankOverlay, plain)
	if err != nil {
		return layer{}, err
	}
	return l, unix.Unmount(merged, unix.MNT_DETACH)
}

func copyAttributes(path string, info os.FileInfo) error {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		// An owner unknown in here cannot be set. The process then owns the
		// throwaway folder itself, which harms nobody.
		_ = os.Lchown(path, int(st.Uid), int(st.Gid))
	}
	if err := os.Chmod(path, info.Mode()); err != nil {
		return err
	}
	return os.Chtimes(path, info.ModTime(), info.ModTime())
}

// private adds a copy of a folder of the system that the process may use as it likes.
// Sockets and pipes are seen in it but lead nowhere: an overlay has its own.
func (ls *layers) private(path string, empty bool) {
	if empty {
		l, _, err := emptyLayer(path)
		ls.add(l, err)
		return
	}
	l, err := thrownAway(path, stage)
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
			if l, err := thrownAway(name, stage); err == nil && !isMount(name, info) {
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
		if l, err := thrownAway(path, stage); err == nil {
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
