//go:build unix

package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// foreground says that the terminal sends its signals to us, and to what we started.
func foreground() bool {
	tty, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer tty.Close()
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}
