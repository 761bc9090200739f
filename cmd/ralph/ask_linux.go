package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// discardTyped makes the terminal forget what was typed before a question could be read, such as the rest of a paste.
func discardTyped(a *app) {
	if a.keys != nil {
		_, _ = a.keys.Discard(a.keys.Buffered()) // as many as there are
	}
	if f, ok := a.stdin.(*os.File); ok {
		_ = unix.IoctlSetInt(int(f.Fd()), unix.TCFLSH, unix.TCIFLUSH) // on what is no terminal, nothing is typed
	}
}
