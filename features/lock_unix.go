//go:build unix

package features

import (
	"os"
	"syscall"
)

// takeLock holds until the file is closed, or the process is gone.
func takeLock(f *os.File) bool {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}
