package launch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ralph/dag"
	"ralph/internal/cli"
	"ralph/internal/db"
	"ralph/internal/event"
	"ralph/internal/testing/check"
	"ralph/loop"
)

// TestARunWhoseDatabaseIsGoneIsReported by its outcome alone.
func TestARunWhoseDatabaseIsGoneIsReported(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d, err := db.Open(t.Context(), filepath.Join(dir, "progress.db"), db.Options{})
	check.OK(t, err)
	check.OK(t, d.Close())
	w := &reports{junit: filepath.Join(dir, "junit.xml"), summary: filepath.Join(dir, "summary.md")}
	out := event.Result{
		Outcome: event.OutcomeError, Reason: "disk failed", Run: "r-1",
		Tasks: []event.Resolved{{ID: "t-1", Title: "Build it", Status: "failed", Reason: "gate \"make\": exit status 2"}},
	}
	a := cli.New(cli.System{Now: time.Now}, cli.Command{})
	check.OK(t, w.ended(t.Context(), a, loop.Options{Graph: loop.Graph{Store: dag.New(d, dag.Options{})}, Place: loop.Place{Runs: dir, Dir: dir}}, out))
	for name, want := range map[string]string{w.junit: "disk failed", w.summary: "Build it"} {
		if data, err := os.ReadFile(name); err != nil || !strings.Contains(string(data), want) {
			t.Errorf("%s: got %s, %v", name, data, err)
		}
	}
}
