package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ralph/internal/testing/check"
)

// patience is how long a test waits for what must happen.
const patience = 2 * time.Minute

// eventually waits until a condition holds.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("it never happened: %s", what)
		}
	}
}

// printed is what a command wrote.
type printed struct {
	testing.TB
	stdout, stderr string
}

func (o printed) inStdout(parts ...string) { o.Helper(); wantParts(o, o.stdout, parts) }
func (o printed) inStderr(parts ...string) { o.Helper(); wantParts(o, o.stderr, parts) }

func wantParts(t testing.TB, text string, parts []string) {
	t.Helper()
	for _, part := range parts {
		check.That(t, strings.Contains(text, part), "got %s\nwant %q in it", text, part)
	}
}

// output is what a program writes, to be read meanwhile.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(data []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(data)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// running is a program that was started.
type running struct {
	testing.TB
	cmd            *exec.Cmd
	stdout, stderr output
	master         *os.File // of its terminal, which shows in stdout; nil if it has none
	ended          chan struct{}
	err            error
}

// command is the real program in this place.
func (p *place) command(args ...string) *exec.Cmd {
	cmd := exec.Command("ralph", args...)
	cmd.Dir, cmd.Env = p.dir, p.env
	return cmd
}

// want runs the program to its end and wants that exit status.
func (p *place) want(status int, args ...string) printed {
	p.Helper()
	out := p.start(args...).wait(status)
	check.That(p, !strings.Contains(out.stderr, "panic") && !strings.Contains(out.stderr, "goroutine "), "it panicked:\n%s", out.stderr)
	return out
}

func (p *place) start(args ...string) *running {
	p.Helper()
	return p.run(p.command(args...))
}

// atWork starts the program and waits until an agent of its has made a mark.
func (p *place) atWork(mark string, args ...string) *running {
	p.Helper()
	r := p.start(args...)
	p.awaitMark(mark)
	return r
}

// run starts a command. Its output is kept, unless it goes elsewhere.
func (p *place) run(cmd *exec.Cmd) *running {
	p.Helper()
	r := &running{TB: p.TB, cmd: cmd, ended: make(chan struct{})}
	if cmd.Stdout == nil {
		cmd.Stdout, cmd.Stderr = &r.stdout, &r.stderr
	}
	check.OK(p, cmd.Start())
	go func() {
		r.err = cmd.Wait()
		close(r.ended)
	}()
	p.Cleanup(func() {
		_ = cmd.Process.Kill() // unless it has ended
		<-r.ended
	})
	return r
}

// over says whether it has ended.
func (r *running) over() bool {
	select {
	case <-r.ended:
		return true
	default:
		return false
	}
}

func (r *running) wait(status int) printed {
	r.Helper()
	select {
	case <-r.ended:
	case <-time.After(patience):
		r.Fatalf("%v does not end:\n%s%s", r.cmd.Args, r.stdout.String(), r.stderr.String())
	}
	out := printed{r.TB, r.stdout.String(), r.stderr.String()}
	var exit *exec.ExitError
	if r.err != nil && !errors.As(r.err, &exit) {
		r.Fatal(r.err)
	}
	if got := r.cmd.ProcessState.ExitCode(); got != status {
		r.Fatalf("%v: exit status %d, want %d\n%s%s", r.cmd.Args, got, status, out.stdout, out.stderr)
	}
	return out
}

func (r *running) signal(s os.Signal) {
	r.Helper()
	check.OK(r, r.cmd.Process.Signal(s))
}

// kill ends the program without a warning.
func (r *running) kill() {
	r.Helper()
	r.signal(os.Kill)
	r.wait(-1)
}

// killWithHelpers kills the program and the processes between it and its agents, and says
// how many those were. It is stopped first: a run that sees a helper die ends its agent.
func (r *running) killWithHelpers() int {
	process := r.cmd.Process
	_ = process.Signal(syscall.SIGSTOP) // it may have ended
	helpers := childrenOf(process.Pid)
	for _, pid := range helpers {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	_ = process.Kill()
	<-r.ended
	return len(helpers)
}

// onTerminalOf runs the program on a terminal of that size and keeps what it shows.
func (p *place) onTerminalOf(size unix.Winsize, args ...string) *running {
	p.Helper()
	r := p.openTerminal(size, args...)
	go func() { _, _ = io.Copy(&r.stdout, r.master) }() // it ends when the terminal does
	return r
}

// openTerminal runs the program on a terminal of that size; the caller reads it.
func (p *place) openTerminal(size unix.Winsize, args ...string) *running {
	p.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		p.Skipf("no pseudo-terminal here: %v", err)
	}
	p.Cleanup(func() { master.Close() })
	check.OK(p, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	check.OK(p, err)
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		p.Skipf("no pseudo-terminal here: %v", err)
	}
	defer slave.Close()
	check.OK(p, unix.IoctlSetWinsize(int(slave.Fd()), unix.TIOCSWINSZ, &size))
	cmd := p.command(args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	r := p.run(cmd)
	r.master = master
	return r
}

// types types, without looking.
func (r *running) types(keys string) {
	r.Helper()
	_, err := r.master.WriteString(keys)
	check.OK(r, err)
}
