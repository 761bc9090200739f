package proc

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"
)

// ErrNotFound says that the command to start does not exist.
var ErrNotFound = errors.New("executable not found")

// ErrHelperEnded is a helper that broke or was killed. While developing it is most
// likely a main that does not call RunHelper.
var ErrHelperEnded = errors.New("ralph's helper process ended before the program started; the machine may be out of processes (ulimit -u) or memory")

// Spec says what to start and how.
type Spec struct {
	Argv []string // the command and its arguments; no shell looks at them
	Dir  string   // the working directory; empty means ours
	Env  []string // the complete environment; the marker is added to it

	// Stdin, Stdout and Stderr are handed to the process as they are; nil is the
	// null device. The caller keeps, and closes, its own copies.
	Stdin, Stdout, Stderr *os.File

	Owner string // who starts it, for Sweep; empty means "-"

	// Linger lets what the process forked live on after the process itself
	// ended, until Terminate or Kill. Without it the tree ends with its root.
	Linger bool

	// Confine is handed to the Confiner of RunHelper, which runs in the helper
	// just before the fork. Starting fails if there is none to take it.
	Confine []byte
}

// Exit is how a process ended.
type Exit struct {
	Code   int    // the exit status, -1 after a signal
	Signal string // the signal's name, empty after an ordinary exit
}

// Ok reports an exit with status 0.
func (e Exit) Ok() bool { return e.Code == 0 && e.Signal == "" }

func (e Exit) String() string {
	if e.Signal != "" {
		return "signal " + e.Signal
	}
	return "exit status " + strconv.Itoa(e.Code)
}

// SurvivorsError says that processes of a tree could not be killed.
type SurvivorsError struct {
	Argv0 string
	Pids  []int
}

func (e *SurvivorsError) Error() string {
	return fmt.Sprintf("%d processes of %s could not be killed: pids %v", len(e.Pids), e.Argv0, e.Pids)
}

// Identity names the process beyond the reuse of its pid.
func (p *Process) Identity() Identity { return p.id }

// Exited is closed when the process itself has ended; Exit then says how.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Done is closed when the whole tree is gone.
func (p *Process) Done() <-chan struct{} { return p.done }

// Exit says how the process ended. It is valid once Exited is closed.
func (p *Process) Exit() Exit {
	<-p.exited
	return p.exit
}

// Wait waits until the whole tree is gone. The error is a *SurvivorsError when
// some of it could not be killed.
func (p *Process) Wait() (Exit, error) {
	<-p.done
	return p.exit, p.err
}

// CPU is the processor time that the tree took, with that of its helper, or 0 where the system
// does not say. It is valid once Done is closed.
func (p *Process) CPU() time.Duration {
	<-p.done
	return p.cpu
}

// cpuOf is the processor time of a process and of all that it has waited for.
func cpuOf(state *os.ProcessState) time.Duration {
	if state == nil || runtime.GOOS == "windows" { // there it is of one process
		return 0
	}
	return state.UserTime() + state.SystemTime()
}

// Terminate asks the process and its group to end, waits for the grace, and
// then kills the tree. It returns when nothing is left.
func (p *Process) Terminate(grace time.Duration) error {
	p.interrupt()
	select {
	case <-p.exited:
	case <-time.After(grace):
	}
	return p.Kill()
}

// Usage is what processes use at one moment.
type Usage struct {
	Memory  int64 // bytes
	Threads int   // of all of them, which is what limits of a system count
}

// places are the cgroups of owners.
var places sync.Map

// Into has what is started for an owner from now on begin in a cgroup, a folder of cgroup v2, if the system lets it; its
// helpers do not. An empty one ends that.
func Into(owner, cgroup string) {
	if places.Delete(owner); cgroup != "" {
		places.Store(owner, cgroup)
	}
}

// MarkerEnv is the variable every started process carries; its value is
// Spec.Owner, a slash and a token of that one process. Sweep looks for it.
const MarkerEnv = "RALPH_PROC"

func newMarker(owner string) string { return ownerName(owner) + "/" + rand.Text() }

func ownerName(owner string) string { return cmp.Or(owner, "-") }

// withMarker is env with the marker in it, and no marker of an outer ralph. Of
// a variable given twice the last counts; other programs would take the first.
func withMarker(env []string, marker string) []string {
	return (&exec.Cmd{Env: slices.Concat(env, []string{MarkerEnv + "=" + marker})}).Environ()
}
