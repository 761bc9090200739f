package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// DiscardTyped makes the terminal forget what was typed before a question could be read, such as the rest of a paste.
func DiscardTyped(a *App) {
	if a.keys != nil {
		_, _ = a.keys.Discard(a.keys.Buffered()) // as many as there are
	}
	if f, ok := a.Stdin.(*os.File); ok {
		_ = unix.IoctlSetInt(int(f.Fd()), unix.TCFLSH, unix.TCIFLUSH) // on what is no terminal, nothing is typed
	}
}
