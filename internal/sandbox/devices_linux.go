package sandbox

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

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
