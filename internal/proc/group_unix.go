//go:build unix && !linux

package proc

import (
	"os"
	"syscall"
)

func terminateGroup(p *os.Process) { syscall.Kill(-p.Pid, syscall.SIGTERM) }

func killGroup(p *os.Process) { syscall.Kill(-p.Pid, syscall.SIGKILL) }

func stopGroup(p *os.Process) { syscall.Kill(-p.Pid, syscall.SIGSTOP) }

func continueGroup(p *os.Process) { syscall.Kill(-p.Pid, syscall.SIGCONT) }

func groupGaps() []string {
	return []string{"only the process group of an agent is killed on this system: daemons it starts in another session survive"}
}
