package proc

import (
	"fmt"
	"os"
	"os/exec"
)

// Detach starts a program that outlives us, with its output in a file. Signals of our terminal do not reach it. While we live,
// ended tells how it ended.
func Detach(path string, args []string, dir string, env []string, output *os.File) (id Identity, ended <-chan error, err error) {
	cmd := exec.Command(path, args...) //nolint:noctx // it outlives every context
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, env, output, output
	Apart(cmd)
	if err := cmd.Start(); err != nil {
		return Identity{}, nil, fmt.Errorf("start %s: %w", path, err)
	}
	if id, err = Of(cmd.Process.Pid); err != nil {
		id = Identity{Pid: cmd.Process.Pid} // it has ended already
	}
	waited := make(chan error, 1)
	go func() { waited <- cmd.Wait() }() // who does not wait keeps a zombie
	return id, waited, nil
}

// Apart lets a command outlive the terminal and the signals of this process.
func Apart(cmd *exec.Cmd) { cmd.SysProcAttr = ownSession() }
