//go:build !linux

package proc

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// Process is a started process and its group. What leaves the group is not
// reached on this system; see Gaps.
type Process struct {
	id           Identity
	marker       string
	cmd          *exec.Cmd
	linger       bool
	exited, done chan struct{}
	exit         Exit
	err          error
	cpu          time.Duration
}

// Start starts a process in a group of its own.
func Start(spec Spec) (*Process, error) {
	if len(spec.Argv) == 0 {
		return nil, errors.New("start process: no command")
	}
	if len(spec.Confine) > 0 {
		return nil, errors.New("start process: this system cannot confine processes")
	}
	path, err := Lookup(spec.Argv[0], spec.Dir, spec.Env)
	if err != nil {
		return nil, fmt.Errorf("start process: %w", err)
	}
	p := &Process{marker: newMarker(spec.Owner), linger: spec.Linger, exited: make(chan struct{}), done: make(chan struct{})}
	p.cmd = &exec.Cmd{Path: path, Args: spec.Argv, Dir: spec.Dir, Env: withMarker(spec.Env, p.marker), SysProcAttr: ownSession()}
	if spec.Stdin != nil {
		p.cmd.Stdin = spec.Stdin
	}
	if spec.Stdout != nil {
		p.cmd.Stdout = spec.Stdout
	}
	if spec.Stderr != nil {
		p.cmd.Stderr = spec.Stderr
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start process %s: %w", spec.Argv[0], err)
	}
	p.id, _ = Of(p.cmd.Process.Pid)
	go p.watch()
	return p, nil
}

func (p *Process) watch() {
	p.cmd.Wait()
	p.exit, p.cpu = exitOf(p.cmd), cpuOf(p.cmd.ProcessState)
	close(p.exited)
	if !p.linger {
		killGroup(p.cmd.Process)
	}
	close(p.done)
}

func exitOf(cmd *exec.Cmd) Exit {
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return Exit{Code: -1, Signal: ws.Signal().String()}
	}
	return Exit{Code: cmd.ProcessState.ExitCode()}
}

func (p *Process) interrupt() { terminateGroup(p.cmd.Process) }

// Freeze stops the group until it is thawed, where the system can do that.
func (p *Process) Freeze() (thaw func()) {
	stopGroup(p.cmd.Process)
	return func() { continueGroup(p.cmd.Process) }
}

// Kill kills the group at once and returns when the process is gone.
func (p *Process) Kill() error {
	killGroup(p.cmd.Process)
	<-p.done
	return p.err
}

// RunHelper does nothing on this system: there is no helper.
func RunHelper(Confiner) {}

// Self is the identity of this process.
func Self() (Identity, error) { return Identity{Pid: os.Getpid()}, nil }

// Of is the identity of a running process.
func Of(pid int) (Identity, error) { return Identity{Pid: pid}, nil }

// Liveness is always Unknown here: start times are not read on this system, and
// a pid alone may belong to somebody else by now.
func Liveness(Identity) State { return Unknown }

// Sweep finds nothing here: the environments of other processes are not read
// on this system.
func Sweep(string, ...Record) (killed int, err error) { return 0, nil }

// Marked finds nothing here, as Sweep.
func Marked(string, ...Record) (int, error) { return 0, nil }

// Take records nothing here, as nothing is swept.
func Take(owner string) (Record, error) { return Record{Owner: owner}, nil }

// Measures says that Measure works here.
const Measures = false

// Measure is not possible here: nothing says which processes belong together.
func Measure(string, int64) (Usage, error) { return Usage{}, errors.ErrUnsupported }

// Foreign is never certain here: nothing says who started a process.
func Foreign(string, int) bool { return false }

// OpenForWriting finds nothing here, as Sweep.
func OpenForWriting() []string { return nil }

// Gaps says, in sentences for a person, which processes may outlive us on this system.
func Gaps() []string {
	return append(groupGaps(),
		"if ralph itself is killed, its agents survive until they notice that their input closed",
		"leftovers of a dead run are not found by their environment on this system")
}
