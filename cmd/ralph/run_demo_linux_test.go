package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ralph/internal/testing/check"
)

// TestTheDemoNeedsNothing runs it in an empty environment, in a network namespace
// without a network, with nothing on PATH but the tools that its scripts call:
// no home, no git, no agent.
func TestTheDemoNeedsNothing(t *testing.T) {
	t.Parallel()
	bin, tmp := t.TempDir(), t.TempDir()
	for _, tool := range []string{"ralph", "sh", "mkdir", "cat", "chmod", "ls", "touch", "tar"} {
		path, err := exec.LookPath(tool)
		if err == nil {
			err = os.Symlink(path, filepath.Join(bin, tool))
		}
		check.OK(t, err)
	}
	var stdout, stderr bytes.Buffer
	demo := func(isolate *syscall.SysProcAttr) error {
		stdout.Reset()
		stderr.Reset()
		cmd := exec.Command(filepath.Join(bin, "ralph"), "demo")
		cmd.Env, cmd.Dir = []string{"PATH=" + bin, "TMPDIR=" + tmp, "GORACE=atexit_sleep_ms=0"}, t.TempDir()
		cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = &stdout, &stderr, isolate
		return cmd.Run()
	}
	err := demo(&syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	})
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Logf("with the network, because there are no namespaces here: %v", err)
		err = demo(nil)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	if got := strings.Count(stdout.String(), "  done  "); got != 9 {
		t.Errorf("got %d tasks done, want 9:\n%s", got, stdout.String())
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
