package dag_test

import (
	"testing"
	"time"

	"zombiezen.com/go/sqlite"

	"ralph/dag"
	"ralph/internal/testing/check"
)

func TestTrapATaskThatHasRunCanBeDeleted(t *testing.T) {
	t.Parallel()
	tests := map[string]func(*world){
		"alone":            func(w *world) { w.person(remove, "a") },
		"with its tree":    func(w *world) { w.update(func(g *dag.Graph) error { return g.DeleteTree(w.id("group")) }) },
		"with its feature": func(w *world) { w.update(func(g *dag.Graph) error { return g.DeleteFeature("f") }) },
	}
	for name, do := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.plan("group feature f", "a in group", "b in group after a", "later after a")
			id := w.id("a")
			w.work("a")
			w.person(reset, "a")
			w.spoil("a")
			do(w)
			w.refused(dag.ErrNotFound, func(g *dag.Graph) error { return g.Finish(id) })
			w.view(func(g *dag.Graph) error {
				var kept []string
				err := g.Tx().Each("SELECT task_id, task IS NULL, outcome FROM attempts ORDER BY n;", func(stmt *sqlite.Stmt) error {
					kept = append(kept, stmt.ColumnText(0)+" "+stmt.ColumnText(1)+" "+stmt.ColumnText(2))
					return nil
				})
				check.Equal(t, "attempts", []string{id + " 1 done", id + " 1 failed"}, kept)
				return err
			})
			w.wantStatuses(map[string]dag.Status{"later": dag.Pending})
			if got := w.task("later"); got.OpenDeps != 0 {
				t.Errorf("open blockers of what waited: got %d, want 0", got.OpenDeps)
			}
			w.sound()
		})
	}
}

func TestTrapPerTaskRetriesOverrideTheDefault(t *testing.T) {
	t.Parallel()
	number := func(n int) *int { return &n }
	tests := map[string]struct {
		own     *int
		limit   int
		retries int // that are granted before the task fails
	}{
		"none of its own, the default holds":     {nil, 2, 2},
		"none of its own, a default of none":     {nil, 0, 0},
		"zero of its own, whatever the default":  {number(0), 3, 0},
		"fewer of its own":                       {number(1), 3, 1},
		"more of its own":                        {number(4), 2, 4},
		"more of its own than a default of none": {number(1), 0, 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.add(dag.NewTask{Title: "a", MaxRetries: test.own})
			for try := 0; ; try++ {
				c := w.claim("a")
				var got dag.Status
				w.update(func(g *dag.Graph) (err error) { got, err = g.Retry(c, "tests are red", test.limit); return err })
				task := w.task("a")
				if task.Status != got || task.Verification != "failed" || task.Attempts != try+1 {
					t.Errorf("try %d: got %s, %s, %d attempts", try, task.Status, task.Verification, task.Attempts)
				}
				if got == dag.Failed {
					if try != test.retries || task.Retries != test.retries {
						t.Errorf("got %d retries (counted %d), want %d", try, task.Retries, test.retries)
					}
					break
				}
				if task.Retries != try+1 {
					t.Errorf("got %d retries counted, want %d", task.Retries, try+1)
				}
			}
			w.person(reset, "a")
			if got := w.task("a"); got.Retries != 0 || got.Attempts != 0 || got.Verification != "" {
				t.Errorf("after a reset: got %d retries, %d attempts, %q", got.Retries, got.Attempts, got.Verification)
			}
		})
	}
}

func TestTheLogSaysWhyATaskFailedLast(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan("a")
	last := func() (text string) {
		task := w.task("a")
		w.view(func(g *dag.Graph) (err error) { text, err = g.LastFailure(task); return err })
		return text
	}
	if got := last(); got != "" {
		t.Errorf("got %q before anything happened", got)
	}
	c := w.claim("a")
	w.update(func(g *dag.Graph) error { _, err := g.Retry(c, "tests are red", 1); return err })
	w.update(func(g *dag.Graph) error { return g.Log(w.id("a"), dag.LogUser, "mind the gap") })
	if got := last(); got != "tests are red" {
		t.Errorf("got %q, want the verifier's words", got)
	}
	w.pass(time.Second)
	w.spoil("a")
	if got := last(); got != "it broke" {
		t.Errorf("got %q, want the worker's words", got)
	}
	w.person(reset, "a")
	w.update(func(g *dag.Graph) error { return g.GiveUp(w.id("a"), "out of scope") })
	var got []dag.LogEntry
	task := w.task("a")
	w.view(func(g *dag.Graph) (err error) { got, err = g.Logs(task); return err })
	want := []dag.LogEntry{
		{At: start, Kind: dag.LogVerify, Text: "tests are red"},
		{At: start, Kind: dag.LogUser, Text: "mind the gap"},
		{At: start.Add(time.Second), Kind: dag.LogFailure, Text: "it broke"},
		{At: start.Add(time.Second), Kind: dag.LogSystem, Text: "reset by hand"},
		{At: start.Add(time.Second), Kind: dag.LogFailure, Text: "out of scope"},
	}
	check.Equal(t, "log", want, got)
}

func TestALimitOnTheCommandLineWinsOverTheTasksOwn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	five := 5
	w.add(dag.NewTask{Title: "a", MaxRetries: &five})
	for try, want := range []dag.Status{dag.Pending, dag.Failed} {
		c := w.claim("a")
		var got dag.Status
		w.update(func(g *dag.Graph) (err error) { got, err = g.RetryAtMost(c, "tests are red", 1); return err })
		if got != want || w.task("a").Status != want {
			t.Errorf("try %d: got %s, want %s", try, got, want)
		}
	}
}
