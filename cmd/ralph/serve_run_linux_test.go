package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ralph/dag"
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
	a := newApp(system{now: func() time.Time { return b.now }, environ: os.Environ, getenv: os.Getenv})
	p := project.Project{Root: b.dir}
	run, err := startProgram(a, p, program, []string{"run", "--in-place", "--no-verify"})
	check.OK(t, err)
	eventually(t, "its task is at work", func() bool {
		check.That(t, len(run.ended) == 0, "it has ended: %s", run.said())
		_, err := os.Stat(begun)
		return err == nil
	})
	check.Equal(t, "life", dag.Alive, life(run.process))
	session, err := unix.Getsid(int(run.process.PID))
	check.OK(t, err)
	check.Equal(t, "session", int(run.process.PID), session)
	_, err = gate.WriteString("\n")
	check.OK(t, err)
	eventually(t, "it ends", func() bool { return len(run.ended) == 1 })
	check.OK(t, <-run.ended)
	check.Equal(t, "life when it has ended", dag.Dead, life(run.process))
	check.Contains(t, "its status", "done", b.run(0, "task", "list", "--all"))
	logs, err := filepath.Glob(filepath.Join(b.dir, ".ralph", "serve", "run-20260102-030405-01.log"))
	check.OK(t, err)
	check.Equal(t, "logs", 1, len(logs))
	text, err := os.ReadFile(logs[0])
	check.OK(t, err)
	check.Contains(t, "the log", "complete: 1 done", string(text))
}

// TestOldLogsOfRunsAreRemoved, so that a schedule for every minute does not fill the disk.
func TestOldLogsOfRunsAreRemoved(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	a := newApp(system{now: func() time.Time { b.now = b.now.Add(500 * time.Millisecond); return b.now }})
	p := project.Project{Root: b.dir}
	for range 30 {
		f, err := serveLog(a, p)
		check.OK(t, err)
		check.OK(t, f.Close())
	}
	logs, err := filepath.Glob(filepath.Join(b.dir, ".ralph", "serve", "*"))
	check.OK(t, err)
	check.Equal(t, "logs", maxServeLogs, len(logs))
	check.Equal(t, "the oldest and the newest", []string{"run-20260102-030410-02.log", "run-20260102-030420-01.log"}, []string{filepath.Base(logs[0]), filepath.Base(logs[19])})
}

// TestWhatAServerStartsHasNoneOfItsSecrets: gates run code that agents wrote, and a variable that does not look like a secret reaches them.
func TestWhatAServerStartsHasNoneOfItsSecrets(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	check.OK(t, os.WriteFile(filepath.Join(b.dir, ".ralph.toml"), []byte(`
[serve]
token_env = "MY_DOOR"
[[chat]]
kind = "slack"
token_env = "MY_BOT"
app_token_env = "MY_APP"
chats = ["C1"]
[[inbound]]
name = "bugs"
secret_env = "MY_HOOK"
run = ""
`), 0o600))
	environ := func() []string {
		return []string{"PATH=/bin", "MY_DOOR=1", "MY_BOT=2", "MY_APP=3", "MY_HOOK=4", "RALPH_SERVER=5", "RALPH_SERVER_TOKEN=6", "MY_DOORS=7", "ANTHROPIC_API_KEY=8"}
	}
	a := newApp(system{environ: environ, getenv: func(string) string { return "" }})
	_, err := a.loadConfig(filepath.Join(b.dir, ".ralph.toml"))
	check.OK(t, err)
	check.Equal(t, "the environment", []string{"PATH=/bin", "MY_DOORS=7", "ANTHROPIC_API_KEY=8", "RALPH_SERVED=1"}, startedEnviron(a, project.Project{Root: b.dir}))
}
