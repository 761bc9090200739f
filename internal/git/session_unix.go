//go:build unix

package git

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// inherits says that a process can be given more open files than the usual three.
const inherits = true

// killSession ends a process that has a session of its own, with all that it started there.
func killSession(p *os.Process) error { return syscall.Kill(-p.Pid, syscall.SIGKILL) }

func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// writable returns why no file can be made in a folder, or nil.
func writable(dir string) error { return unix.Access(dir, unix.W_OK|unix.X_OK) }
