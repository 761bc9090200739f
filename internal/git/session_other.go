//go:build !unix

package git

import "syscall"

// inherits says that a process can be given more open files than the usual three.
const inherits = false

func ownSession() *syscall.SysProcAttr { return nil }
