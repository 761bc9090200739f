package sandbox

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

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
