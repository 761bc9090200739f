package recovery_test

import (
	"path/filepath"
	"sync"
	"testing"
	"time"

	"ralph/dag"
	"ralph/internal/db"
	"ralph/internal/testing/check"
	"ralph/loop/recovery"
)

// TestRecoveringTwiceIsTheSameAsOnce recovers in several processes at once.
func TestRecoveringTwiceIsTheSameAsOnce(t *testing.T) {
	t.Parallel()
	file, err := db.Open(t.Context(), filepath.Join(t.TempDir(), "progress.db"), db.Options{})
	check.OK(t, err)
	t.Cleanup(func() { file.Close() })
	store := dag.New(file, dag.Options{})
	var task dag.Task
	err = store.Update(t.Context(), func(g *dag.Graph) error {
		id, err := g.Add(dag.NewTask{Title: "mine"})
		if err != nil {
			return err
		}
		if task, err = g.Task(id); err != nil {
			return err
		}
		run, err := g.StartRun(dag.Scope{}, dag.Process{PID: 1, Start: 1, BootID: "elsewhere"})
		if err != nil {
			return err
		}
		_, _, err = g.Claim(dag.ClaimOptions{Run: run, Lease: -1, Iteration: 1})
		return err
	})
	check.OK(t, err)
	const recoverers = 4
	var looked, recovering sync.WaitGroup
	looked.Add(recoverers)
	r := recovery.Recoverer{
		Store: store, Now: time.Now,
		Life: func(dag.Process) dag.Life { return dag.Dead },
		Sweep: func(string) (int, error) { // all have seen the claim before any releases it
			looked.Done()
			looked.Wait()
			return 0, nil
		},
	}
	found := make([]recovery.Recovery, recoverers)
	for i := range found {
		recovering.Go(func() {
			var err error
			if found[i], err = r.Recover(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	recovering.Wait()
	tasks := 0
	for _, rec := range found {
		tasks += len(rec.Tasks)
	}
	check.That(t, tasks == 1, "got %d recoveries, want 1", tasks)
	err = store.View(t.Context(), func(g *dag.Graph) error {
		got, err := g.Attempts(task)
		check.That(t, len(got) == 1 && got[0].Outcome == "interrupted", "got %+v, want one interrupted attempt", got)
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
