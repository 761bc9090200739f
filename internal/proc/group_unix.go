//go:build unix && !linux

package proc

import (
	"os"
	"syscall"
)

func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func terminateGroup(p *os.Process) { syscall.Kill(-p.Pid, syscall.SIGTERM) }

func killGroup(p *os.Process) { syscall.Kill(-p.Pid, syscall.SIGKILL) }

func gaps() []string {
	return []string{
		"only the process group of an agent is ended on this system: daemons it starts in another session survive",
		"if ralph itself is killed, its agents survive until they notice that their input closed",
		"leftovers of a dead run are not found by their environment on this system",
	}
}
