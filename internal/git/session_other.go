//go:build !unix

package git

import (
	"os"
	"syscall"
)

// inherits says that a process can be given more open files than the usual three.
const inherits = false

// killSession ends a process.
func killSession(p *os.Process) error { return p.Kill() }

func ownSession() *syscall.SysProcAttr { return nil }

// writable returns why no file can be made in a folder, as far as that is known without making one.
func writable(dir string) error {
	_, err := os.Stat(dir)
	return err
}
