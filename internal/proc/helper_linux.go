package proc

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	ossignal "os/signal"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// RunHelper takes the process over, and never returns, if it was started to be
// a helper; otherwise it does nothing. main, and TestMain of every package that
// starts processes, call it before anything else. confine may be nil; then no
// Spec with Confine can be started.
func RunHelper(confine Confiner) {
	if len(os.Args) != 2 || os.Args[0] != helperName || os.Args[1] != helperWaits {
		return
	}
	// The thread that confines itself must be the one that forks.
	runtime.LockOSThread()
	h := &helper{status: os.NewFile(statusFd, "status"), control: bufio.NewReader(os.NewFile(controlFd, "control"))}
	// Not os.Exit: under the race detector it would wait for a second.
	syscall.Exit(h.run(confine))
}

// helper is the process between ralph and one tree. One goroutine does all
// signalling and all reaping, so no pid is signalled after it was given back.
type helper struct {
	status  *os.File
	control *bufio.Reader
	pid     int
	exited  bool
}

func (h *helper) run(confine Confiner) int {
	// Handlers, unlike ignored signals, are reset in what we start. An agent
	// that signals its parent must not get rid of us this way.
	events := make(chan os.Signal, 1)
	ossignal.Notify(events, unix.SIGCHLD)
	ossignal.Notify(make(chan os.Signal, 1)) // all of them
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return h.refuse(err, fmt.Errorf("become a subreaper: %w", err))
	}
	unix.CloseOnExec(controlFd)
	unix.CloseOnExec(statusFd)

	o, stdio, err := h.receive()
	if err != nil {
		return 0 // never needed
	}
	cmd := &Command{
		Path: string(o.Path), Argv: convert[string](o.Argv), Env: convert[string](o.Env), Dir: string(o.Dir),
		Sys: &syscall.SysProcAttr{Setpgid: true},
	}
	if len(o.Cgroup) > 0 {
		if fd, err := unix.Open(string(o.Cgroup), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err == nil {
			cmd.Sys.UseCgroupFD, cmd.Sys.CgroupFD = true, fd
		}
	}
	if len(o.Confine) > 0 {
		if confine == nil {
			return h.refuse(syscall.ENOTSUP, errors.New("this program cannot confine processes"))
		}
		if err := confine(o.Confine, cmd); err != nil {
			return h.refuse(syscall.EPERM, fmt.Errorf("confine: %w", err))
		}
	}
	attr := &syscall.ProcAttr{Dir: cmd.Dir, Env: cmd.Env, Files: stdio, Sys: cmd.Sys}
	pid, err := syscall.ForkExec(cmd.Path, cmd.Argv, attr)
	if err != nil && attr.Sys.UseCgroupFD { // the cgroup may be why
		attr.Sys.UseCgroupFD = false
		pid, err = syscall.ForkExec(cmd.Path, cmd.Argv, attr)
	}
	if err != nil {
		return h.refuse(err, err)
	}
	h.pid = pid
	fmt.Fprintln(h.status, sayStarted, pid)
	// Our copies of its stdio go, so that its readers see the end when the tree
	// ends.
	for _, fd := range stdio {
		unix.Close(int(fd))
	}

	h.serve(o.Linger, events)
	if left := killAll(h.reap); len(left) > 0 {
		fmt.Fprintln(h.status, sayLeft, left)
	}
	fmt.Fprintln(h.status, sayGone)
	return 0
}

func (h *helper) receive() (o order, stdio []uintptr, err error) {
	first, oob := make([]byte, 1), make([]byte, unix.CmsgSpace(3*4))
	var n, oobn int
	for {
		n, oobn, _, _, err = unix.Recvmsg(controlFd, first, oob, unix.MSG_CMSG_CLOEXEC)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil || n != 1 || first[0] != askStart {
		return o, nil, errors.New("no order")
	}
	var fds []int
	if messages, err := unix.ParseSocketControlMessage(oob[:oobn]); err == nil && len(messages) == 1 {
		fds, _ = unix.ParseUnixRights(&messages[0])
	}
	if len(fds) != 3 {
		return o, nil, errors.New("no files")
	}
	for _, fd := range fds {
		stdio = append(stdio, uintptr(fd))
	}
	line, err := h.control.ReadBytes('\n')
	if err != nil {
		return o, nil, err
	}
	return o, stdio, json.Unmarshal(line, &o)
}

func (h *helper) refuse(errno, err error) int {
	var number syscall.Errno
	errors.As(errno, &number)
	fmt.Fprintln(h.status, sayRefused, int(number), err.Error())
	return 1
}

// serve returns when the tree has to end, or has.
func (h *helper) serve(linger bool, events <-chan os.Signal) {
	asks := make(chan byte)
	go func() {
		defer close(asks)
		for {
			ask, err := h.control.ReadByte()
			if err != nil {
				return
			}
			asks <- ask
		}
	}()
	for {
		if none := h.reap(); none || h.exited && !linger {
			return
		}
		select {
		case <-events:
		case ask, open := <-asks:
			if !open {
				return
			}
			if ask == askTerminate && !h.exited {
				unix.Kill(-h.pid, unix.SIGTERM)
			}
		}
	}
}

// reap collects what has ended and reports that there is no child left. Orphans
// come to us, so no child means no descendant.
func (h *helper) reap() (none bool) {
	for {
		var ws unix.WaitStatus
		pid, err := unix.Wait4(-1, &ws, unix.WNOHANG, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return true
		case pid == 0:
			return false
		case pid == h.pid && !h.exited:
			h.exited = true
			if ws.Signaled() {
				fmt.Fprintln(h.status, sayExited, -1, unix.SignalName(ws.Signal()))
			} else {
				fmt.Fprintln(h.status, sayExited, ws.ExitStatus())
			}
		}
	}
}
