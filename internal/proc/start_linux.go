package proc

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Process is a started process and everything below it. Its methods may be
// called from several goroutines.
type Process struct {
	id     Identity
	argv0  string
	marker string
	helper *exec.Cmd

	mu      sync.Mutex
	control *os.File // held open for as long as the tree may live

	exited, done chan struct{}
	exit         Exit          // valid after exited
	err          error         // valid after done
	cpu          time.Duration // valid after done
}

// Start starts a process below a helper of its own. It returns when the process
// runs, or with what the system said when it could not be executed; ErrNotFound
// when there is no such command.
func Start(spec Spec) (*Process, error) {
	if len(spec.Argv) == 0 {
		return nil, errors.New("start process: no command")
	}
	path, err := Lookup(spec.Argv[0], spec.Dir, spec.Env)
	if err != nil {
		return nil, fmt.Errorf("start process: %w", err)
	}
	// Orphans of a helper that was killed come to us. It holds for the whole
	// process and is idempotent.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("start process: become a subreaper: %w", err)
	}
	p := &Process{argv0: spec.Argv[0], marker: newMarker(spec.Owner), exited: make(chan struct{}), done: make(chan struct{})}
	o := order{
		Path: []byte(path), Argv: convert[[]byte](spec.Argv), Env: convert[[]byte](withMarker(spec.Env, p.marker)), Dir: []byte(spec.Dir),
		Linger: spec.Linger, Confine: spec.Confine,
	}
	if cgroup, ok := places.Load(spec.Owner); ok {
		o.Cgroup = []byte(cgroup.(string))
	}
	stdio := [3]*os.File{spec.Stdin, spec.Stdout, spec.Stderr}
	ns := namespacesOf(spec.Confine)
	h, err := startIdle(ns, ownerName(spec.Owner))
	if err != nil {
		return nil, fmt.Errorf("start process %s: %w", spec.Argv[0], err)
	}
	if err := h.give(o, stdio); err != nil {
		h.dismiss()
		return nil, fmt.Errorf("start process %s: %w", spec.Argv[0], err)
	}
	lines := bufio.NewReader(h.status)
	pid, err := readStarted(lines)
	if err != nil {
		if end := h.dismiss(); errors.Is(err, ErrHelperEnded) {
			err = fmt.Errorf("%w (%s)", err, end)
		}
		return nil, fmt.Errorf("start process %s: %w", spec.Argv[0], err)
	}
	p.helper, p.control = h.cmd, h.control
	helpers.Store(h.cmd.Process.Pid, p.marker)
	if ns != nil {
		pid = h.cmd.Process.Pid
	}
	if p.id, err = Of(pid); err != nil {
		p.id = Identity{Pid: pid} // it ended already; nobody can be mistaken for it
	}
	go p.watch(h.status, lines)
	return p, nil
}

func readStarted(lines *bufio.Reader) (pid int, err error) {
	line, err := lines.ReadString('\n')
	if err != nil {
		return 0, ErrHelperEnded
	}
	word, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
	switch word {
	case sayStarted:
		return strconv.Atoi(rest)
	case sayRefused:
	default:
		return 0, fmt.Errorf("%w: %s", ErrHelperEnded, strings.TrimSpace(line))
	}
	number, text, _ := strings.Cut(rest, " ")
	errno, _ := strconv.Atoi(number)
	if err := syscall.Errno(errno); errors.Is(err, fs.ErrNotExist) {
		// The file was there a moment ago, so its interpreter is not.
		return 0, fmt.Errorf("%w: or the interpreter it names", ErrNotFound)
	} else if errno != 0 && err.Error() == text {
		return 0, err
	}
	return 0, errors.New(text)
}

// watch follows the helper to its end, and does its work if it was killed.
func (p *Process) watch(status *os.File, lines *bufio.Reader) {
	defer close(p.done)
	clean := false
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			break
		}
		word, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch word {
		case sayExited:
			code, signal, _ := strings.Cut(rest, " ")
			number, _ := strconv.Atoi(code)
			p.setExit(Exit{Code: number, Signal: signal})
		case sayLeft:
			left := &SurvivorsError{Argv0: p.argv0}
			_ = json.Unmarshal([]byte(strings.ReplaceAll(rest, " ", ",")), &left.Pids) // as Go prints a list
			p.err = left
		case sayGone:
			clean = true
		}
	}
	status.Close()
	helpers.Delete(p.helper.Process.Pid) // while nobody else can have its pid
	_ = p.helper.Wait()
	p.cpu = cpuOf(p.helper.ProcessState)
	p.release()
	if !clean {
		if left := killOrphans(p.helper.Process.Pid, p.marker); len(left) > 0 {
			p.err = &SurvivorsError{Argv0: p.argv0, Pids: left}
		}
	}
	p.setExit(Exit{Code: -1, Signal: "SIGKILL"})
}

func (p *Process) setExit(e Exit) {
	select {
	case <-p.exited:
	default:
		p.exit = e
		close(p.exited)
	}
}

// interrupt asks the helper to send SIGTERM to the process's group.
func (p *Process) interrupt() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.control != nil {
		_, _ = p.control.Write([]byte{askTerminate})
	}
}

// release closes the control pipe, which makes the helper end.
func (p *Process) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.control != nil {
		p.control.Close()
		p.control = nil
	}
}

// Kill kills the whole tree at once and returns when nothing of it is left.
func (p *Process) Kill() error {
	p.release()
	// The agent may have stopped its helper. It is our child and not yet waited
	// for while done is open, so the signal cannot reach anybody else.
	_ = p.helper.Process.Signal(unix.SIGCONT)
	select {
	case <-p.done:
	case <-time.After(2 * killPatience):
		_ = p.helper.Process.Kill()
		<-p.done
	}
	return p.err
}
