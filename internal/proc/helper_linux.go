package proc

import (
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
	if len(os.Args) < 3 || os.Args[0] != helperName {
		return
	}
	// The thread that confines itself must be the one that forks.
	runtime.LockOSThread()
	h := &helper{status: os.NewFile(statusFd, "status")}
	os.Exit(h.run(os.Args[1], os.Args[2:], confine))
}

// helper is the process between ralph and one tree. One goroutine does all
// signalling and all reaping, so no pid is signalled after it was given back.
type helper struct {
	status *os.File
	pid    int
	exited bool
}

func (h *helper) run(raw string, argv []string, confine Confiner) int {
	var o order
	if err := json.Unmarshal([]byte(raw), &o); err != nil {
		return h.refuse(syscall.EINVAL, err)
	}
	// Handlers, unlike ignored signals, are reset in what we start. An agent
	// that signals its parent must not get rid of us this way.
	events := make(chan os.Signal, 1)
	ossignal.Notify(events, unix.SIGCHLD)
	ossignal.Notify(make(chan os.Signal, 1), unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGQUIT,
		unix.SIGUSR1, unix.SIGUSR2, unix.SIGALRM, unix.SIGPIPE)
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return h.refuse(err, fmt.Errorf("become a subreaper: %w", err))
	}
	unix.CloseOnExec(controlFd)
	unix.CloseOnExec(statusFd)

	cmd := &Command{Path: o.Path, Argv: argv, Env: os.Environ(), Sys: &syscall.SysProcAttr{Setpgid: true}}
	if len(o.Confine) > 0 {
		if confine == nil {
			return h.refuse(syscall.ENOTSUP, errors.New("this program cannot confine processes"))
		}
		if err := confine(o.Confine, cmd); err != nil {
			return h.refuse(syscall.EPERM, fmt.Errorf("confine: %w", err))
		}
	}
	pid, err := syscall.ForkExec(cmd.Path, cmd.Argv, &syscall.ProcAttr{Env: cmd.Env, Files: []uintptr{0, 1, 2}, Sys: cmd.Sys})
	if err != nil {
		return h.refuse(err, err)
	}
	h.pid = pid
	fmt.Fprintln(h.status, sayStarted, pid)
	letGo()

	h.serve(o.Linger, events)
	if left := killAll(h.reap); len(left) > 0 {
		fmt.Fprintln(h.status, sayLeft, left)
	}
	fmt.Fprintln(h.status, sayGone)
	return 0
}

func (h *helper) refuse(errno, err error) int {
	var number syscall.Errno
	errors.As(errno, &number)
	fmt.Fprintln(h.status, sayRefused, int(number), err.Error())
	return 1
}

// letGo closes our copies of the process's stdio, so that its readers see the
// end when the tree ends, and leaves the working directory.
func letGo() {
	if null, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0); err == nil {
		for fd := range 3 {
			unix.Dup3(null, fd, 0)
		}
		unix.Close(null)
	}
	os.Chdir("/")
}

// serve returns when the tree has to end, or has.
func (h *helper) serve(linger bool, events <-chan os.Signal) {
	asks := make(chan byte)
	go readControl(asks)
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

func readControl(asks chan<- byte) {
	defer close(asks)
	control := os.NewFile(controlFd, "control")
	for buf := make([]byte, 1); ; {
		n, err := control.Read(buf)
		if n == 1 {
			asks <- buf[0]
		}
		if err != nil {
			return
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
