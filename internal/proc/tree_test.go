//go:build linux

package proc

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"ralph/internal/testing/check"
)

func TestKillLeavesNothing(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		role string
		n    int
	}{
		"agent, child, other session, daemon":   {"tree", 4},
		"a daemon that cleared its environment": {"clean", 2},
		"a fork bomb":                           {"bomb", 141},
		"an agent that stopped its helper":      {"stop-helper", 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, tc.role, tc.n, nil)
			check.OK(t, s.Kill())
			s.wantGone(t)
			check.Equal(t, "exit", Exit{Code: -1, Signal: "SIGKILL"}, s.Exit())
			if _, err := s.out.ReadByte(); err != io.EOF {
				t.Errorf("output after the end: %v, want EOF", err)
			}
		})
	}
}

func TestTreeEndsWithItsRoot(t *testing.T) {
	t.Parallel()
	s := start(t, "leave", 1, nil)
	s.in.Close()
	exit, err := s.Wait()
	check.OK(t, err)
	check.Equal(t, "exit", Exit{Code: 7}, exit)
	s.wantGone(t)
}

func TestCPUIsThatOfTheWholeTree(t *testing.T) {
	t.Parallel()
	s := start(t, "busy", 0, nil)
	_, err := s.out.ReadString('\n')
	check.OK(t, err)
	s.in.Close()
	check.That(t, s.CPU() >= busy, "got %s, want %s at least", s.CPU(), busy)
}

func TestLingeringTreeEndsWhenKilled(t *testing.T) {
	t.Parallel()
	s := start(t, "leave", 1, func(spec *Spec) { spec.Linger = true })
	s.in.Close()
	<-s.Exited()
	check.Equal(t, "lingering child", Alive, Liveness(s.reported["left"]))
	check.OK(t, s.Kill())
	s.wantGone(t)
	check.Equal(t, "exit", Exit{Code: 7}, s.Exit())
}

func TestTerminateIsPoliteFirstAndKillsTheStubborn(t *testing.T) {
	t.Parallel()
	polite, stubborn := start(t, "tree", 4, nil), start(t, "stubborn", 1, nil)
	check.OK(t, polite.Terminate(time.Hour))
	check.OK(t, stubborn.Terminate(time.Millisecond))
	polite.wantGone(t)
	stubborn.wantGone(t)
	check.Equal(t, "polite", Exit{Code: -1, Signal: "SIGTERM"}, polite.Exit())
	check.Equal(t, "stubborn", Exit{Code: -1, Signal: "SIGKILL"}, stubborn.Exit())
}

// The agent kills its helper: the orphans come to us and are killed.
func TestHelperKilledByAgent(t *testing.T) {
	t.Parallel()
	s := start(t, "kill-helper", 2, nil)
	s.in.Close()
	_, err := s.Wait()
	check.OK(t, err)
	s.wantGone(t)
}

// A helper is the init of a pid namespace, where this is all that an agent can do to it.
func TestHelperWithstandsEverySignalThatCanBeCaught(t *testing.T) {
	t.Parallel()
	const signals = `for n in $(seq 1 31); do [ $n = 9 ] || [ $n = 19 ] || kill -$n $PPID; done; kill -0 $PPID && exit 3`
	p, err := Start(Spec{Argv: []string{"sh", "-c", signals}, Dir: "/", Env: os.Environ()})
	check.OK(t, err)
	exit, err := p.Wait()
	check.OK(t, err)
	check.Equal(t, "exit", Exit{Code: 3}, exit)
}

// Ralph is killed with SIGKILL: the helper notices and ends everything.
func TestKilledRalphTakesAllAlong(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		role string
		n    int
	}{
		"agent, child, other session, daemon":   {"tree", 4},
		"a daemon that cleared its environment": {"clean", 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, w, err := os.Pipe()
			check.OK(t, err)
			defer r.Close()
			ralph := exec.Command("/proc/self/exe", tc.role)
			ralph.Env = roleEnvironment("ralph")
			ralph.Stdout = w
			check.OK(t, ralph.Start())
			w.Close()
			out := bufio.NewReader(r)
			s := started{reported: readReported(t, out, tc.n+1)}
			ralph.Process.Signal(syscall.SIGKILL)
			ralph.Wait()
			if _, err := out.ReadByte(); err != io.EOF {
				t.Fatalf("output after the end: %v, want EOF", err)
			}
			s.waitGone(t)
			s.wantGone(t)
		})
	}
}

func TestStdioReachesTheProcessAsItIs(t *testing.T) {
	t.Parallel()
	inRead, inWrite, _ := os.Pipe()
	outRead, outWrite, _ := os.Pipe()
	p, err := Start(Spec{Argv: []string{"sh", "-c", "cat; pwd; exit 3"}, Dir: "/", Env: os.Environ(), Stdin: inRead, Stdout: outWrite})
	inRead.Close()
	outWrite.Close()
	check.OK(t, err)
	io.WriteString(inWrite, "hello\n")
	inWrite.Close()
	got, err := io.ReadAll(outRead)
	check.OK(t, err)
	check.Equal(t, "result", "hello\n/\n", string(got))
	if exit, err := p.Wait(); err != nil || exit.Code != 3 {
		t.Errorf("got %v, %v, want exit status 3", exit, err)
	}
}

// Arguments and variables arrive as the bytes they are.
func TestBytesReachTheProcessAsTheyAre(t *testing.T) {
	t.Parallel()
	got := output(t, Spec{Argv: []string{"sh", "-c", `printf '%s|%s' "$1" "$X"`, "sh", "a\xff\n\x01"}, Env: append(os.Environ(), "X=b\xfe")})
	check.Equal(t, "output", "a\xff\n\x01|b\xfe", got)
}

// output is what a process prints.
func output(t *testing.T, spec Spec) string {
	t.Helper()
	r, w, err := os.Pipe()
	check.OK(t, err)
	defer r.Close()
	spec.Stdout = w
	_, err = Start(spec)
	w.Close()
	check.OK(t, err)
	out, err := io.ReadAll(r)
	check.OK(t, err)
	return string(out)
}

func TestStartSaysWhy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := dir + "/" + name
		check.OK(t, os.WriteFile(path, []byte(text), mode))
		return path
	}
	for name, tc := range map[string]struct {
		spec Spec
		want error
	}{
		"no such command":          {Spec{Argv: []string{"no-such-command-here"}, Env: os.Environ()}, ErrNotFound},
		"a path is not in PATH":    {Spec{Argv: []string{"./sh"}, Env: os.Environ()}, ErrNotFound},
		"no such file":             {Spec{Argv: []string{dir + "/nothing"}}, ErrNotFound},
		"not executable":           {Spec{Argv: []string{write("plain", "x", 0o644)}}, ErrNotFound},
		"no such interpreter":      {Spec{Argv: []string{write("script", "#!/no/such/interpreter\n", 0o755)}}, ErrNotFound},
		"not a program":            {Spec{Argv: []string{write("binary", "\x7fELFnonsense", 0o755)}}, syscall.ENOEXEC},
		"relative entries of PATH": {Spec{Argv: []string{"plain"}, Dir: dir, Env: []string{"PATH=.:"}}, ErrNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := Start(tc.spec); !errors.Is(err, tc.want) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
		})
	}
}

func TestConfinerRunsBeforeTheProcess(t *testing.T) {
	t.Parallel()
	confined := output(t, Spec{Argv: []string{"sh", "-c", `echo "$CONFINED"`}, Env: os.Environ(), Confine: []byte("tightly")})
	check.Equal(t, "confined", "tightly\n", confined)
	_, err := Start(Spec{Argv: []string{"true"}, Env: os.Environ(), Confine: []byte("refuse")})
	check.That(t, err != nil, "started although it could not be confined")
}

// TestAHelperThatEndsIsReported: what broke is the machine, not the program that
// calls us.
func TestAHelperThatEndsIsReported(t *testing.T) {
	t.Parallel()
	_, err := Start(Spec{Argv: []string{"/proc/self/exe"}, Env: roleEnvironment("sleep"), Owner: t.Name(), Confine: []byte("die")})
	const want = "start process /proc/self/exe: ralph's helper process ended before the program started; " +
		"the machine may be out of processes (ulimit -u) or memory (signal: killed)"
	check.Equal(t, "error", want, fmt.Sprint(err))
	check.That(t, errors.Is(err, ErrHelperEnded), "nobody can tell it from a program that cannot be run")
}

func TestAHelperThatStaysIsReported(t *testing.T) {
	t.Parallel()
	none := func(table, time.Duration) []stat { return nil }
	_, _, ended := killFound(none, func() bool { return true }, 3*killPause)
	check.That(t, !ended, "what is still pending counts as gone")
	_, _, ended = killFound(none, func() bool { return false }, time.Minute)
	check.That(t, ended, "nothing to kill takes for ever")
}
