//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// group gives a program a process group of its own, which is ended as a whole.
func group(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
}
