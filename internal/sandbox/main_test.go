//go:build linux

package sandbox

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"

	"ralph/internal/proc"
	"ralph/internal/testing/check"
	"ralph/internal/testing/raced"
)

// roleEnv makes the test binary be one of the processes the tests start.
const roleEnv = "SANDBOX_TEST_ROLE"

// nobody is the ordinary user that root plays.
const nobody = 65534

func TestMain(m *testing.M) {
	proc.RunHelper(Confine)
	switch role := os.Getenv(roleEnv); role {
	case "":
	case "escape":
		tryEscape(os.Args[1])
		os.Exit(0)
	default:
		play(role)
		os.Exit(0)
	}
	// The race detector holds every exiting process for a second otherwise.
	os.Setenv("GORACE", "atexit_sleep_ms=0")
	os.Exit(m.Run())
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// need skips a test that the machine has nothing for.
func need(t testing.TB, level Level) {
	t.Helper()
	if level == None {
		return
	}
	if err := (layout{Level: level}).try(); err != nil {
		t.Skipf("no %s on this machine: %v", level, err)
	}
}

// run runs a command confined, and returns what it printed.
func run(t testing.TB, p Profile, env []string, argv ...string) (string, proc.Exit) {
	t.Helper()
	data, err := p.Encode()
	check.OK(t, err)
	return output(t, proc.Spec{Argv: argv, Dir: p.Project, Env: append(os.Environ(), env...), Confine: data})
}

// output runs a process to its end, and returns what it printed.
func output(t testing.TB, spec proc.Spec) (string, proc.Exit) {
	t.Helper()
	r, w, err := os.Pipe()
	check.OK(t, err)
	defer r.Close()
	spec.Stdout, spec.Stderr = w, w
	started, err := proc.Start(spec)
	w.Close()
	check.OK(t, err)
	out, _ := io.ReadAll(r)
	exit, err := started.Wait()
	check.OK(t, err)
	return string(bytes.TrimSpace(out)), exit
}

// TestAsOrdinaryUser runs tests of this binary again as an ordinary user, with a base
// folder of that user.
func TestAsOrdinaryUser(t *testing.T) {
	raced.Skip(t, "what the system allows another user is tried here")
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root can become another user; the tests themselves ran as an ordinary one")
	}
	for _, test := range []string{
		"TestEscapes", "TestAttemptsAreReal", "TestNothingSurvivesTheStarter", "TestVerifyLeavesTheProjectAsItWas",
		"TestCachesAreWarmAndThrownAway", "TestFilesAreChangedInTheOverlayOnly", "TestDetectFindsALevelAndSaysWhyNotABetterOne", "TestWorkWorks",
		"TestConfinedProcessesAreMeasured", "TestCachesHaveLayers", "TestAProjectInThePlaceOfAnother",
	} {
		t.Run(test, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command("/proc/self/exe", "-test.run=^"+test+"$", "-test.v", "-test.short="+strconv.FormatBool(testing.Short()))
			cmd.Dir = "/"
			cmd.Env = append(os.Environ(), baseEnv+"="+newBase(t, nobody), "HOME=/nonexistent", "TMPDIR=/tmp")
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
			out, err := cmd.CombinedOutput()
			t.Logf("as uid %d: %s", nobody, out)
			check.That(t, err == nil, "as uid %d: %v", nobody, err)
		})
	}
}
