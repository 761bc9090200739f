package proc

import (
	"os"
	"syscall"
)

// ownSession keeps a process apart from the signals of our console.
func ownSession() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// terminateGroup does nothing: there is no polite signal to a foreign group.
func terminateGroup(*os.Process) {}

func killGroup(p *os.Process) { p.Kill() }

func stopGroup(*os.Process) {}

func continueGroup(*os.Process) {}

func groupGaps() []string {
	return []string{
		"only the agent's own process is killed on Windows: what it started survives",
		"two processes of ralph that land work or plan the same feature at once are not kept apart on Windows: files are not locked",
	}
}
