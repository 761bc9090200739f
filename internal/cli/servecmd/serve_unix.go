//go:build unix

package servecmd

import (
	"os/signal"
	"syscall"
)

// readInBackground lets a read of the terminal fail, instead of stopping the process, while another one has the terminal.
func readInBackground() { signal.Ignore(syscall.SIGTTIN) }
