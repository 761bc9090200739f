package proc

import (
	"fmt"
	"os"
	"os/exec"
)

// Detach starts a program that outlives us, with its output in a file. Signals of our terminal do not reach it.
func Detach(path string, args []string, dir string, env []string, output *os.File) (Identity, error) {
	cmd := exec.Command(path, args...) //nolint:noctx // it outlives every context
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, env, output, output
	Apart(cmd)
	if err := cmd.Start(); err != nil {
		return Identity{}, fmt.Errorf("start %s: %w", path, err)
	}
	id, err := Of(cmd.Process.Pid)
	if err != nil {
		id = Identity{Pid: cmd.Process.Pid} // it has ended already
	}
	go cmd.Wait() //nolint:errcheck // nobody asks how it ended; who does not wait keeps a zombie
	return id, nil
}

// Apart lets a command outlive the terminal and the signals of this process.
func Apart(cmd *exec.Cmd) { cmd.SysProcAttr = ownSession() }
