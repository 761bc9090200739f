//go:build linux

package resource

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ralph/internal/proc"
	"ralph/internal/testing/check"
)

func TestMain(m *testing.M) {
	proc.RunHelper(nil)
	os.Exit(m.Run())
}

func TestWhereOurCgroupIs(t *testing.T) {
	t.Parallel()
	const v1 = "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
	const v2 = "41 31 0:38 / /sys/fs/cgroup rw,relatime shared:4 - cgroup2 cgroup2 rw\n"
	const user = "/user.slice/user@1000.service/app.slice/x.scope"
	for name, tc := range map[string]struct{ mounts, own, dir string }{
		"a session":             {v1 + v2, "1:name=systemd:/\n0::" + user + "\n", "/sys/fs/cgroup" + user},
		"the root":              {v2, "0::/\n", "/sys/fs/cgroup"},
		"a part is mounted":     {strings.Replace(v2, " / ", " /user.slice ", 1), "0::" + user + "\n", "/sys/fs/cgroup" + strings.TrimPrefix(user, "/user.slice")},
		"another part":          {strings.Replace(v2, " / ", " /system.slice ", 1), "0::" + user + "\n", ""},
		"outside of what it is": {v2, "0::/../../x\n", ""},
		"only version 1":        {v1, "4:memory:/x\n", ""},
		"nothing":               {"", "", ""},
	} {
		dir, _ := locate(tc.mounts, tc.own)
		check.Equal(t, name, tc.dir, dir)
	}
}

func TestControllersThatLimitsNeed(t *testing.T) {
	t.Parallel()
	both := Limits{Memory: 1, Processes: 1}
	check.That(t, both.needs([]string{"cpu", "memory", "pids"}), "there are both")
	check.That(t, !both.needs([]string{"memory"}) && !both.needs([]string{"pids"}), "one is missing")
	check.That(t, Limits{Memory: 1}.needs([]string{"memory"}) && Limits{Processes: 1}.needs([]string{"pids"}), "the other is not needed")
}

// TestWhatTheSystemCounted, in an ordinary folder: the controllers are not on every machine.
func TestWhatTheSystemCounted(t *testing.T) {
	t.Parallel()
	l := &Limiter{limits: Limits{Memory: 128 << 20, Processes: 60}, every: 1 << 60, cgroups: cgroup(t.TempDir())}
	for events, want := range map[string]string{
		"memory.events low 0\nhigh 0\nmax 9\noom 1\noom_kill 0\n":                   "",
		"memory.events low 0\nhigh 0\nmax 9\noom 1\noom_kill 2\noom_group_kill 1\n": "resource: memory: more was used together, and [sandbox] memory is 128.0 MiB",
		"pids.events max 0\n": "",
		"pids.events max 3\n": "resource: processes: more with their threads were to run at once, and [sandbox] processes is 60",
	} {
		_, g := l.Begin(t.Context(), "w-1/a-1")
		check.Equal(t, "where", filepath.Join(string(l.cgroups), fmt.Sprintf("ralph-%d-w-1-a-1", os.Getpid())), string(g.cgroup))
		for file, value := range map[string]string{"memory.max": "134217728", "memory.oom.group": "1", "pids.max": "60"} {
			got, err := os.ReadFile(filepath.Join(string(g.cgroup), file))
			check.That(t, err == nil && string(got) == value, "%s: got %q, %v", file, got, err)
		}
		file, text, _ := strings.Cut(events, " ")
		check.OK(t, os.WriteFile(filepath.Join(string(g.cgroup), file), []byte(text), 0o600))
		check.Equal(t, events, want, g.Reason())
		g.End()
		check.OK(t, os.RemoveAll(string(g.cgroup))) // a real one has no files to be removed
	}
	check.Equal(t, "how", "128.0 MiB of memory, 60 processes for each attempt, enforced by cgroup", l.String())
}

// TestProcessesBeginInTheirCgroup, and leave nothing behind. The controllers are not needed for that.
func TestProcessesBeginInTheirCgroup(t *testing.T) {
	t.Parallel()
	c := real(t)
	l := &Limiter{every: 1 << 60, cgroups: c}
	owner := t.Name() + "/a-1"
	_, g := l.Begin(t.Context(), owner)
	cgroupOf := func(owner string) string {
		ran, err := proc.Run(t.Context(), proc.Spec{Argv: []string{"sh", "-c", "grep ^0:: /proc/self/cgroup"}, Env: os.Environ(), Owner: owner}, nil, 1000)
		check.OK(t, err)
		return strings.TrimSpace(string(ran.Stdout))
	}
	name := filepath.Base(string(g.cgroup))
	check.That(t, strings.HasSuffix(cgroupOf(owner), "/"+name), "it began in %s", cgroupOf(owner))
	check.That(t, !strings.Contains(cgroupOf(owner+"2"), name), "another's began there")
	g.End()
	_, err := os.Stat(string(g.cgroup))
	check.That(t, os.IsNotExist(err), "it is left: %v", err)
	check.That(t, !strings.Contains(cgroupOf(owner), name), "it began in what is gone")

	// One that cannot be entered keeps nothing from starting.
	proc.Into(owner, t.TempDir())
	check.That(t, cgroupOf(owner) != "", "nothing ran")
	proc.Into(owner, "")
}

// TestWhatKilledRunsLeaveIsRemoved, unless it is somebody's who lives, or has processes.
func TestWhatKilledRunsLeaveIsRemoved(t *testing.T) {
	t.Parallel()
	c := real(t)
	dead := exec.Command("true")
	check.OK(t, dead.Run())
	names := map[string]bool{ // whether it stays
		fmt.Sprintf("ralph-%d-a", dead.Process.Pid): false, fmt.Sprintf("ralph-%d-a", os.Getppid()): true, "other-1-a": true, "ralph-x-a": true,
	}
	for name := range names {
		dir := filepath.Join(string(c), name)
		check.OK(t, os.Mkdir(dir, 0o700))
		defer os.Remove(dir)
	}
	c.sweep()
	for name, stays := range names {
		_, err := os.Stat(filepath.Join(string(c), name))
		check.Equal(t, name+" stays", stays, err == nil)
	}
}

// real is a cgroup of the test's own.
func real(t *testing.T) cgroup {
	t.Helper()
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	own, _ := os.ReadFile("/proc/self/cgroup")
	dir, _ := locate(string(mounts), string(own))
	if dir == "" {
		t.Skip("there is no cgroup v2 here")
	}
	dir, err := os.MkdirTemp(dir, "test") //nolint:usetesting // not an ordinary folder
	if err != nil {
		t.Skip("no cgroup can be made here: ", err)
	}
	t.Cleanup(func() { check.OK(t, os.Remove(dir)) })
	return cgroup(dir)
}
