package servecmd

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"ralph/internal/cli"
	"ralph/internal/project"
	"ralph/internal/testing/check"
)

// TestOldLogsOfRunsAreRemoved, so that a schedule for every minute does not fill the disk.
func TestOldLogsOfRunsAreRemoved(t *testing.T) {
	t.Parallel()
	dir, now := t.TempDir(), time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	a := cli.New(cli.System{Now: func() time.Time { now = now.Add(500 * time.Millisecond); return now }}, cli.Command{})
	p := project.Project{Root: dir}
	for range 30 {
		f, err := serveLog(a, p)
		check.OK(t, err)
		check.OK(t, f.Close())
	}
	logs, err := filepath.Glob(filepath.Join(dir, ".ralph", "serve", "*"))
	check.OK(t, err)
	check.Equal(t, "logs", maxServeLogs, len(logs))
	check.Equal(t, "the oldest and the newest", []string{"run-20260102-030410-02.log", "run-20260102-030420-01.log"}, []string{filepath.Base(logs[0]), filepath.Base(logs[19])})
}

// TestWhatAServerStartsHasNoneOfItsSecrets: gates run code that agents wrote, and a variable that does not look like a secret reaches them.
func TestWhatAServerStartsHasNoneOfItsSecrets(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	check.OK(t, os.WriteFile(filepath.Join(dir, ".ralph.toml"), []byte(`
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
	a := cli.New(cli.System{Environ: environ, Getenv: func(string) string { return "" }}, cli.Command{})
	_, err := a.LoadConfig(filepath.Join(dir, ".ralph.toml"))
	check.OK(t, err)
	check.Equal(t, "the environment", []string{"PATH=/bin", "MY_DOORS=7", "ANTHROPIC_API_KEY=8", "RALPH_SERVED=1"}, startedEnviron(a, project.Project{Root: dir}))
}
