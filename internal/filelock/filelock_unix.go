//go:build unix

// Package filelock keeps processes apart that have the same file open. All processes that inherited an open file share
// its lock, which holds until it is given back or all of them have closed the file or are gone.
package filelock

import (
	"errors"
	"os"
	"syscall"
)

// Take waits for the lock.
func Take(f *os.File) error {
	for {
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// Try does not wait for it.
func Try(f *os.File) bool {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}

// Release gives it back.
func Release(f *os.File) { _ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }

// Close gives it back and closes the file. Closing alone gives it back only once no process has the file open, and one that is
// being started has it until it runs its own program.
func Close(f *os.File) error {
	Release(f)
	return f.Close()
}
