package dag_test

import (
	"testing"
	"time"

	"ralph/dag"
	"ralph/internal/db"
	"ralph/internal/testing/check"
)

func TestTrapATaskThatHasRunCanBeDeleted(t *testing.T) {
	t.Parallel()
	tests := map[string]func(*world){
		"alone":            func(w *world) { w.person(remove, "a") },
		"with its tree":    func(w *world) { w.update(func(g *dag.Graph) error { return g.Plan.DeleteTree(w.id("group")) }) },
		"with its feature": func(w *world) { w.update(func(g *dag.Graph) error { return g.Plan.DeleteFeature("f") }) },
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
			w.refused(dag.ErrNotFound, func(g *dag.Graph) error { return g.Tasks.Finish(id) })
			kept := get(w, func(g *dag.Graph) ([]string, error) {
				return db.All(g.Tx(), "SELECT task_id || ' ' || (task IS NULL) || ' ' || outcome FROM attempts ORDER BY n;", (*db.Row).Text)
			})
			check.Equal(t, "attempts", []string{id + " 1 done", id + " 1 failed"}, kept)
			later := w.task("later")
			check.That(t, later.Status == dag.Pending && later.OpenDeps == 0, "what waited is %s and has %d open blockers", later.Status, later.OpenDeps)
			w.sound()
		})
	}
}

func TestRetriesOfATaskAndOfTheCommandLine(t *testing.T) {
	t.Parallel()
	retry, atMost := func(g *dag.Graph, c dag.Claim, reason string, limit int) (dag.Status, error) {
		return g.Queue.Retry(c, reason, limit)
	}, func(g *dag.Graph, c dag.Claim, reason string, limit int) (dag.Status, error) {
		return g.Queue.RetryAtMost(c, reason, limit)
	}
	tests := map[string]struct {
		own     int // below 0 means none
		retry   func(*dag.Graph, dag.Claim, string, int) (dag.Status, error)
		limit   int
		retries int // that are granted before the task fails
	}{
		"none of its own, the default holds":     {-1, retry, 2, 2},
		"none of its own, a default of none":     {-1, retry, 0, 0},
		"zero of its own, whatever the default":  {0, retry, 3, 0},
		"fewer of its own":                       {1, retry, 3, 1},
		"more of its own":                        {4, retry, 2, 4},
		"more of its own than a default of none": {1, retry, 0, 1},
		"the command line wins":                  {5, atMost, 1, 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			id := w.add(dag.NewTask{Detail: dag.Detail{Title: "a"}})
			if test.own >= 0 {
				w.update(func(g *dag.Graph) error { return g.Plan.Edit(id, dag.Detail{MaxRetries: &test.own}, "max_retries") })
			}
			for try := range test.retries + 1 {
				c := w.claim("a")
				want := dag.Task{Status: dag.Pending, Retries: try + 1, Attempts: try + 1, Verification: "failed"}
				if try == test.retries {
					want.Status, want.Retries = dag.Failed, try
				}
				var got dag.Status
				w.update(func(g *dag.Graph) (err error) { got, err = test.retry(g, c, "tests are red", test.limit); return err })
				a := w.task("a")
				check.Equal(t, "task", want, dag.Task{Status: a.Status, Retries: a.Retries, Attempts: a.Attempts, Verification: a.Verification})
				check.Equal(t, "status", want.Status, got)
			}
			w.person(reset, "a")
			got := w.task("a")
			check.That(t, got.Retries == 0 && got.Attempts == 0 && got.Verification == "", "a reset leaves %d retries, %d attempts, %q", got.Retries, got.Attempts, got.Verification)
		})
	}
}

func TestTheLogSaysWhyATaskFailedLast(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan("a")
	task := w.task("a")
	last := func() string {
		return get(w, func(g *dag.Graph) (string, error) { return g.Tasks.LastFailure(task) })
	}
	check.Equal(t, "before anything happened", "", last())
	c := w.claim("a")
	w.update(func(g *dag.Graph) error { _, err := g.Queue.Retry(c, "tests are red", 1); return err })
	w.update(func(g *dag.Graph) error { return g.Tasks.Log(w.id("a"), dag.LogUser, "mind the gap") })
	check.Equal(t, "after a retry", "tests are red", last())
	w.pass(time.Second)
	w.spoil("a")
	check.Equal(t, "after a failure", "it broke", last())
	w.person(reset, "a")
	w.update(func(g *dag.Graph) error { return g.Tasks.GiveUp(w.id("a"), "out of scope") })
	want := []dag.LogEntry{
		{At: start, Kind: dag.LogVerify, Text: "tests are red"},
		{At: start, Kind: dag.LogUser, Text: "mind the gap"},
		{At: start.Add(time.Second), Kind: dag.LogFailure, Text: "it broke"},
		{At: start.Add(time.Second), Kind: dag.LogSystem, Text: "reset by hand"},
		{At: start.Add(time.Second), Kind: dag.LogFailure, Text: "out of scope"},
	}
	check.Equal(t, "log", want, get(w, func(g *dag.Graph) ([]dag.LogEntry, error) { return g.Tasks.Logs(task) }))
}
