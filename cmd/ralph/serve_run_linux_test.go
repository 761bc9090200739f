package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ralph/dag"
	"ralph/internal/cli"
	"ralph/internal/cli/servecmd"
	"ralph/internal/project"
	"ralph/internal/testing/check"
)

// TestARunThatWasStartedStandsAlone: it is in a session of its own, its process is known, and what it prints is in a file.
func TestARunThatWasStartedStandsAlone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	begun, release := filepath.Join(b.dir, "begun"), filepath.Join(b.dir, "go")
	check.OK(t, unix.Mkfifo(release, 0o600))
	gate, err := os.OpenFile(release, os.O_RDWR, 0) // which waits for nobody
	check.OK(t, err)
	defer gate.Close()
	check.OK(t, os.WriteFile(filepath.Join(b.dir, ".ralph.toml"), []byte("[agent]\nuse = \"shell\"\n[sandbox]\nmode = \"off\"\n[verify]\nenabled = false\n"), 0o600))
	b.add("wait", "-d", "```sh\necho > begun; read x < go\n```")
	program, err := exec.LookPath("ralph")
	check.OK(t, err)
	a := newApp(cli.System{Now: func() time.Time { return b.now }, Environ: os.Environ, Getenv: os.Getenv})
	p := project.Project{Root: b.dir}
	run, err := servecmd.StartProgram(a, p, program, []string{"run", "--in-place", "--no-verify"})
	check.OK(t, err)
	eventually(t, "its task is at work", func() bool {
		check.That(t, len(run.Ended) == 0, "it has ended: %s", run.Said())
		_, err := os.Stat(begun)
		return err == nil
	})
	check.Equal(t, "life", dag.Alive, cli.Life(run.Process))
	session, err := unix.Getsid(int(run.Process.PID))
	check.OK(t, err)
	check.Equal(t, "session", int(run.Process.PID), session)
	_, err = gate.WriteString("\n")
	check.OK(t, err)
	eventually(t, "it ends", func() bool { return len(run.Ended) == 1 })
	check.OK(t, <-run.Ended)
	check.Equal(t, "life when it has ended", dag.Dead, cli.Life(run.Process))
	check.Contains(t, "its status", "done", b.run(0, "task", "list", "--all"))
	logs, err := filepath.Glob(filepath.Join(b.dir, ".ralph", "serve", "run-20260102-030405-01.log"))
	check.OK(t, err)
	check.Equal(t, "logs", 1, len(logs))
	text, err := os.ReadFile(logs[0])
	check.OK(t, err)
	check.Contains(t, "the log", "complete: 1 done", string(text))
}
