package sandbox

import (
	"cmp"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// stage is where mounts are prepared before they are put in their places. It
// is covered by a file system of our own meanwhile, and by the process's /dev
// in the end.
const stage = "/dev"

// enterNamespaces arranges the mounts of the namespace that the helper was born
// in: take copies of all that is to differ, make everything read-only, and lay
// the copies over it.
func (o order) enterNamespaces() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	layers, err := o.prepare()
	if err != nil {
		return err
	}
	if err := setMount(unix.AT_FDCWD, "/", readOnly); err != nil {
		return fmt.Errorf("make everything read-only: %w", err)
	}
	// A folder sorts before what is in it; of the same, the stricter is on top.
	slices.SortStableFunc(layers, func(a, b layer) int {
		return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(a.rank, b.rank))
	})
	for _, l := range layers {
		if err := l.attach(); err != nil {
			return err
		}
	}
	// The processes of our own PID namespace only.
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	if os.Geteuid() == 0 {
		// Root in a namespace of its own would have root's power over the
		// kernel's own file systems back.
		if err := os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0); err != nil {
			return fmt.Errorf("forbid more user namespaces: %w", err)
		}
	}
	if err := coverProc(); err != nil {
		return err
	}
	_, _ = unix.KeyctlJoinSessionKeyring("") // not ours; kernels without keys have none to lose
	return scope()
}

// prepare makes all layers, detached, while the file system is still as it was.
func (o order) prepare() ([]layer, error) {
	var ls layers
	ls.cloneDevices()
	for _, path := range o.Write {
		ls.add(cloneLayer(path, rankWrite, unix.MOUNT_ATTR_NOSUID|nodevUnlessDevice(path)))
	}
	for _, path := range o.ReadOnly {
		ls.add(cloneLayer(path, rankReadOnly, readOnly))
	}
	if ls.err != nil {
		return nil, ls.err
	}
	if err := unix.Mount("tmpfs", stage, "tmpfs", unix.MS_NOSUID, "mode=0755"); err != nil {
		return nil, fmt.Errorf("mount temporary file system: %w", err)
	}
	if o.prepareStaged(&ls); ls.err != nil {
		return nil, ls.err
	}
	if err := unix.Unmount(stage, unix.MNT_DETACH); err != nil {
		return nil, fmt.Errorf("leave the stage: %w", err)
	}
	return ls.list, nil
}

// prepareStaged makes the layers that need a place of our own: overlays, the
// empty folder and file that hide things, and /dev.
func (o order) prepareStaged(ls *layers) {
	for _, path := range o.Overlay {
		ls.add(overlayLayer(path, o.Scratch))
	}
	for _, path := range o.Read {
		ls.add(readLayer(path))
	}
	for _, path := range []string{"/run", "/tmp", "/var/tmp"} {
		if info, err := os.Lstat(path); err == nil && info.IsDir() {
			ls.private(path, slices.Contains(o.Empty, path))
		}
	}
	for _, path := range o.Hide {
		ls.add(hidingLayer(path))
	}
	ls.add(devLayer())
}
