//go:build unix

package git

import "syscall"

// inherits says that a process can be given more open files than the usual three.
const inherits = true

func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
