//go:build linux

package proc

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ralph/internal/testing/check"
)

// roleEnv makes the test binary be one of the processes the tests start.
const roleEnv = "PROC_TEST_ROLE"

func TestMain(m *testing.M) {
	RunHelper(testConfiner)
	if role := os.Getenv(roleEnv); role != "" {
		play(role, os.Args[1:])
		os.Exit(0)
	}
	// The race detector holds every exiting process for a second otherwise.
	os.Setenv("GORACE", "atexit_sleep_ms=0")
	os.Exit(m.Run())
}

func testConfiner(data []byte, cmd *Command) error {
	if string(data) == "die" {
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	if string(data) == "refuse" {
		return fmt.Errorf("no confinement today")
	}
	cmd.Env = append(cmd.Env, "CONFINED="+string(data))
	return nil
}

// busy is the processor time that a busy process takes.
const busy = 50 * time.Millisecond

// shared is how much memory processes share.
const shared = 64 << 20

func useShared(fd int) {
	held, err := unix.Mmap(fd, 0, shared, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	must(err)
	for i := 0; i < len(held); i += os.Getpagesize() {
		held[i] = 1
	}
	report("sharing")
	hang()
}

// play is the test binary being an agent, something an agent left behind, or a
// ralph. Every process reports its pid on stdout and then holds stdout open, so a
// reader sees the end of the stream only when all of them are gone.
func play(role string, args []string) {
	switch role {
	case "tree": // an agent with a child, a child in another session, a daemon
		again("sleep", nil, "child")
		again("sleep", &syscall.SysProcAttr{Setsid: true}, "session")
		again("daemon", &syscall.SysProcAttr{Setsid: true}, "daemon")
		report("agent")
		hang()
	case "daemon": // the middle of a double fork
		again("sleep", &syscall.SysProcAttr{Setsid: true}, args[0])
	case "sleep":
		report(args[0])
		hang()
	case "heavy": // takes its time to end, without its environment by then
		held := bytes.Repeat([]byte{1}, 256<<20)
		report(args[0])
		hang()
		runtime.KeepAlive(held)
	case "sharing": // has memory that four others use, too
		fd, err := unix.MemfdCreate("shared", 0)
		must(err)
		must(unix.Ftruncate(fd, shared))
		for range 4 {
			cmd := exec.Command("/proc/self/exe", strconv.Itoa(fd))
			cmd.Env, cmd.Stdout = append(os.Environ(), roleEnv+"=shares"), os.Stdout
			must(cmd.Start())
		}
		useShared(fd)
	case "shares":
		fd, err := strconv.Atoi(args[0])
		must(err)
		useShared(fd)
	case "clean": // leaves its session, its parent and its environment
		cmd := exec.Command("/proc/self/exe", "clean")
		cmd.Env = []string{roleEnv + "=sleep"}
		cmd.Stdout = os.Stdout
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		must(cmd.Start())
		report("agent")
		hang()
	case "bomb":
		for range 140 {
			again("sleep", &syscall.SysProcAttr{Setsid: true}, "bomb")
		}
		report("agent")
		hang()
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
		report("agent")
		hang()
	case "kill-helper":
		again("heavy", &syscall.SysProcAttr{Setsid: true}, "session")
		report("agent")
		io.Copy(io.Discard, os.Stdin) // until the test has seen both
		syscall.Kill(os.Getppid(), syscall.SIGKILL)
		hang()
	case "stop-helper":
		report("agent")
		syscall.Kill(os.Getppid(), syscall.SIGSTOP)
		report("stopped")
		hang()
	case "leave": // exits when reported to, leaving a daemon
		again("sleep", &syscall.SysProcAttr{Setsid: true}, "left")
		io.Copy(io.Discard, os.Stdin)
		os.Exit(7)
	case "busy": // lets an orphan take processor time
		again("daemon-busy", &syscall.SysProcAttr{Setsid: true})
		io.Copy(io.Discard, os.Stdin)
	case "daemon-busy":
		var used syscall.Rusage
		for used.Utime.Nano()+used.Stime.Nano() < int64(busy) {
			must(syscall.Getrusage(syscall.RUSAGE_SELF, &used))
		}
		report("busy")
	case "ralph-sweeps": // carries the marker that it sweeps
		_, err := Sweep("sweeper")
		must(err)
	case "ralph": // starts the role named in its argument and waits to be killed
		p, err := Start(Spec{Argv: []string{"/proc/self/exe"}, Env: roleEnvironment(args[0]), Stdout: os.Stdout, Stdin: os.Stdin, Owner: "test"})
		must(err)
		report("ralph")
		p.Wait()
	}
}

func again(role string, attr *syscall.SysProcAttr, args ...string) {
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Env = append(os.Environ(), roleEnv+"="+role)
	cmd.Stdout = os.Stdout
	cmd.SysProcAttr = attr
	must(cmd.Start())
}

func report(name string) { fmt.Printf("%s %d\n", name, os.Getpid()) }

// hang waits for ever without the runtime calling it a deadlock.
func hang() {
	r, _, err := os.Pipe()
	must(err)
	io.Copy(io.Discard, r)
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func roleEnvironment(role string) []string {
	return append(os.Environ(), roleEnv+"="+role)
}

// started is a role that runs, with the pids it and its children reported.
type started struct {
	*Process
	out      *bufio.Reader
	in       *os.File // closing it lets the role continue
	reported map[string]Identity
}

// start runs a role and waits until n processes have reported their pid.
func start(t *testing.T, role string, n int, change func(*Spec)) *started {
	t.Helper()
	r, w, err := os.Pipe()
	check.OK(t, err)
	inRead, inWrite, err := os.Pipe()
	check.OK(t, err)
	spec := Spec{Argv: []string{"/proc/self/exe"}, Env: roleEnvironment(role), Stdin: inRead, Stdout: w, Stderr: os.Stderr, Owner: t.Name()}
	if change != nil {
		change(&spec)
	}
	p, err := Start(spec)
	w.Close()
	inRead.Close()
	check.OK(t, err)
	t.Cleanup(func() { p.Kill(); r.Close(); inWrite.Close() })
	s := &started{Process: p, out: bufio.NewReader(r), in: inWrite}
	s.reported = readReported(t, s.out, n)
	return s
}

func readReported(t *testing.T, out *bufio.Reader, n int) map[string]Identity {
	t.Helper()
	reported := make(map[string]Identity)
	for i := range n {
		line, err := out.ReadString('\n')
		if err != nil {
			t.Fatalf("after %d of %d pids: %v", i, n, err)
		}
		name, pid, _ := strings.Cut(strings.TrimSpace(line), " ")
		number, err := strconv.Atoi(pid)
		if err != nil {
			t.Fatalf("unexpected output %q", line)
		}
		if _, ok := reported[name]; ok {
			name += strconv.Itoa(i)
		}
		id, err := Of(number)
		check.OK(t, err)
		reported[name] = id
	}
	return reported
}

// waitGone waits for the processes to be gone, without looking again and again.
func (s *started) waitGone(t *testing.T) {
	t.Helper()
	for _, id := range s.reported {
		fd, err := unix.PidfdOpen(id.Pid, 0)
		if err != nil {
			continue
		}
		for {
			if _, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1); err != unix.EINTR {
				break
			}
		}
		unix.Close(fd)
	}
}

// wantGone fails for every process that is still there.
func (s *started) wantGone(t *testing.T) {
	t.Helper()
	for name, id := range s.reported {
		check.Equal(t, name, Dead, Liveness(id))
	}
}
