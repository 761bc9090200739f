//go:build unix

package proc

import "syscall"

// ownSession keeps a process apart from our terminal.
func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
