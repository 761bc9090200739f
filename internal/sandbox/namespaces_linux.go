package sandbox

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strconv"

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
	if o.Offline {
		if err := raiseLoopback(); err != nil {
			return fmt.Errorf("start the loopback interface: %w", err)
		}
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

// raiseLoopback lets the processes of a new network reach each other; nobody else is there.
func raiseLoopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo)
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
	o.cloneCovered(&ls)
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
	return o.placed(ls.list), nil
}

// prepareStaged makes the layers that need a place of our own: overlays, the
// empty folder and file that hide things, and /dev.
func (o order) prepareStaged(ls *layers) {
	for _, path := range o.Overlay {
		if path == o.Project && o.Upper != "" {
			ls.add(overlay(path, o.Upper, []string{path}))
			continue
		}
		ls.add(overlayLayer(path, o.Scratch))
	}
	if len(o.Layered) > 0 {
		ls.keep(o.Layered, o.Layers)
	}
	for _, b := range o.Layers.Brought {
		ls.bring(b, o.Scratch)
	}
	for _, path := range o.Fresh {
		ls.private(path, true)
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

// cloneDevices copies the device nodes that every program may use. All others
// are out of reach: as root, a disk could be written around the file system.
func (ls *layers) cloneDevices() {
	for _, name := range []string{"null", "zero", "full", "random", "urandom", "tty"} {
		ls.add(cloneLayer("/dev/"+name, rankWrite, unix.MOUNT_ATTR_NOSUID))
	}
}

// nodevUnlessDevice lets a device that was asked for by name work.
func nodevUnlessDevice(path string) uint64 {
	if info, err := os.Stat(path); err == nil && info.Mode()&os.ModeDevice != 0 {
		return 0
	}
	return unix.MOUNT_ATTR_NODEV
}

// devLayer is a /dev with nothing but the places for devices, shared memory
// and terminals of its own.
func devLayer() (layer, error) {
	dev := stage + "/dev"
	for _, dir := range []string{dev, dev + "/pts", dev + "/shm"} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return layer{}, err
		}
	}
	if err := os.Chmod(dev+"/shm", os.ModeSticky|0o777); err != nil {
		return layer{}, err
	}
	for name, target := range map[string]string{
		"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2", "ptmx": "pts/ptmx",
	} {
		if err := os.Symlink(target, dev+"/"+name); err != nil {
			return layer{}, err
		}
	}
	if err := unix.Mount("devpts", dev+"/pts", "devpts", unix.MS_NOSUID|unix.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620"); err != nil {
		return layer{}, fmt.Errorf("mount terminals: %w", err)
	}
	return detach(dev, "/dev", rankOverlay, unix.MOUNT_ATTR_NOSUID)
}

// coverProc makes the settings of the kernel read-only: they belong to root by
// its id alone, whatever its capabilities. Processes' own files stay writable.
func coverProc() error {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if _, err := strconv.Atoi(entry.Name()); err == nil {
			continue
		}
		info, err := entry.Info()
		if err != nil || info.Mode()&os.ModeSymlink != 0 || info.Mode().IsRegular() && info.Mode()&0o222 == 0 {
			continue
		}
		l, err := cloneLayer("/proc/"+entry.Name(), rankReadOnly, unix.MOUNT_ATTR_RDONLY)
		if err != nil {
			return err
		}
		if err := l.attach(); err != nil {
			return err
		}
	}
	return nil
}
