package proc

import (
	"os"
	"syscall"
)

func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// terminateGroup does nothing: there is no polite signal to a foreign group.
func terminateGroup(*os.Process) {}

func killGroup(p *os.Process) { p.Kill() }

func gaps() []string {
	return []string{
		"only the agent's own process is ended on Windows: what it started survives",
		"if ralph itself is killed, its agents survive until they notice that their input closed",
		"leftovers of a dead run are not found by their environment on this system",
	}
}
