package dag_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ralph/dag"
	"ralph/internal/testing/check"
	"ralph/internal/testing/raced"
)

func (w *world) tryLocks(c dag.Claim, names ...string) (holder dag.LockHolder) {
	w.update(func(g *dag.Graph) (err error) {
		holder, err = g.Queue.TryLocks(c, names, map[string]int{"two": 2})
		return err
	})
	return holder
}

func (w *world) held(c dag.Claim) (names []string) {
	for _, l := range get(w, func(g *dag.Graph) ([]dag.LockHolder, error) { return g.Queue.Locks() }) {
		if l.Attempt == c.Attempt {
			names = append(names, l.Name)
		}
	}
	return names
}

func TestTryLockTakesAllOrNoneAndNamesTheHolder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.add(dag.NewTask{Detail: dag.Detail{Title: "a", Locks: []string{"gpu"}}})
	w.plan("b", "c")
	w.add(dag.NewTask{Detail: dag.Detail{Title: "d", Locks: []string{"port:1"}}})
	a, b, c := w.claim("a"), w.claim("b"), w.claim("c")
	none := dag.LockHolder{}
	check.Equal(t, "free", none, w.tryLocks(a, "port:1", "two"))
	check.Equal(t, "its own again", none, w.tryLocks(a, "port:1", "gpu"))
	check.Equal(t, "taken", dag.LockHolder{Name: "port:1", Attempt: a.Attempt, Task: a.Task.ID}, w.tryLocks(b, "db:test", "port:1"))
	check.Equal(t, "none of them", 0, len(w.held(b)))
	check.Equal(t, "as many as may", none, w.tryLocks(b, "two"))
	check.Equal(t, "one too many", "two", w.tryLocks(c, "two").Name)
	check.Equal(t, "what a claim took", "gpu", w.tryLocks(c, "gpu").Name)
	check.Equal(t, "paths", none, w.tryLocks(c, "path:src"))
	check.Equal(t, "a path in it", "path:src", w.tryLocks(b, "path:src/a.go").Name)
	w.wantReady("d")
	_, ok := w.next(dag.ClaimOptions{Run: w.run, Lease: lease})
	check.That(t, !ok, "d was claimed without its lock")

	w.refused(dag.ErrRefused, func(g *dag.Graph) error { return g.Queue.Unlock(a, []string{"gpu"}) })
	w.refused(dag.ErrRefused, func(g *dag.Graph) error { return g.Queue.Unlock(b, []string{"port:1"}) })
	w.refused(dag.ErrRefused, func(g *dag.Graph) error { _, err := g.Queue.TryLocks(b, []string{"slot:1"}, nil); return err })
	w.update(func(g *dag.Graph) error { return g.Queue.Unlock(a, []string{"port:1"}) })
	w.claim("d")
	w.update(func(g *dag.Graph) error { return g.Queue.Unlock(a, nil) })
	check.Equal(t, "what is left", []string{"gpu"}, w.held(a))

	w.update(func(g *dag.Graph) error { return g.Queue.Complete(c, "passed") })
	check.Equal(t, "free with the attempt", none, w.tryLocks(b, "path:src"))
	w.refused(dag.ErrLost, func(g *dag.Graph) error { _, err := g.Queue.TryLocks(c, []string{"x"}, nil); return err })
	var many []string
	for i := range 100 {
		many = append(many, fmt.Sprint("n", i))
	}
	w.refused(dag.ErrRefused, func(g *dag.Graph) error { _, err := g.Queue.TryLocks(b, many, nil); return err })
}

const lockable = 5

// needs are the resources that a task locks while it is worked on.
func needs(title string) (names []string) {
	for i := range lockable {
		if strings.Contains(title, fmt.Sprint(i)) {
			names = append(names, fmt.Sprint("r", i))
		}
	}
	return names
}

// lockAll works until nothing is ready. A task whose locks are taken is given back. What it holds it marks by a file,
// which must not be there. With a third line in its ledger, the worker "lock-die" kills itself with its locks in hand.
func lockAll(ctx context.Context, s *dag.Store, dir, job string, ledger io.Writer) error {
	var run dag.Run
	err := s.Update(ctx, func(g *dag.Graph) (err error) {
		run, err = g.History.StartRun(dag.Scope{}, dag.Process{PID: int64(os.Getpid())})
		return err
	})
	for done := 0; err == nil; {
		var c dag.Claim
		var ok bool
		var taken dag.LockHolder
		err = s.Update(ctx, func(g *dag.Graph) (err error) {
			c, ok, err = g.Queue.Claim(dag.ClaimOptions{Run: run, Lease: lease})
			return err
		})
		if err != nil || !ok {
			return err
		}
		err = s.Update(ctx, func(g *dag.Graph) (err error) {
			if taken, err = g.Queue.TryLocks(c, needs(c.Task.Title), nil); err == nil && taken.Name != "" {
				err = g.Queue.Release(c, dag.Release{Uncounted: true})
			}
			return err
		})
		if err != nil || taken.Name != "" {
			continue
		}
		for _, name := range needs(c.Task.Title) {
			f, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
			if err != nil {
				return fmt.Errorf("two hold %s: %w", name, err)
			}
			fmt.Fprint(f, os.Getpid())
			f.Close()
		}
		if done++; done == 3 && job == "lock-die" {
			self, err := os.FindProcess(os.Getpid())
			return errors.Join(err, self.Kill(), errors.New("it lives"))
		}
		fmt.Fprintln(ledger, c.Task.ID)
		for _, name := range needs(c.Task.Title) {
			err = errors.Join(err, os.Remove(filepath.Join(dir, name)))
		}
		err = errors.Join(err, s.Update(ctx, func(g *dag.Graph) error { return g.Queue.Complete(c, "skipped") }))
	}
	return err
}

// TestEightWorkersTryLocksOfFiveResources has workers that lock one to five resources for each task. No two hold one at
// once, nobody waits for ever, and what a killed one held is free when its task is reclaimed.
func TestEightWorkersTryLocksOfFiveResources(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, ids := w.importMany(200/raced.Scale, func(specs []dag.Spec, i int) {
		names := ""
		for r := range lockable {
			if i*(r+3)%7 < 3 || i%lockable == r {
				names += fmt.Sprint(r)
			}
		}
		specs[i].Title = strings.Repeat("x", i+1) + names
	})
	workers := []*process{startWorker(t, "lock-die", w.path, 0), startWorker(t, "lock-die", w.path, 1)}
	times := map[string]int{}
	type end struct {
		*process
		err error
	}
	ended := make(chan end, 2)
	for _, p := range workers[:2] {
		go func() { ended <- end{p, p.Wait()} }()
	}
	for i := range 2 { // whoever dies first: the other may need the locks that it holds
		p := <-ended
		if i == 0 {
			// Not before one is dead: on a busy machine they would do all of the work before it has done its share.
			for range 6 {
				workers = append(workers, startWorker(t, "lock", w.path, len(workers)))
			}
		} else if p.err == nil {
			continue // the six were quicker
		}
		check.That(t, p.err != nil && strings.Contains(p.err.Error(), "killed"), "%v: %s", p.err, p.stderr.String())
		marks, _ := filepath.Glob(filepath.Join(filepath.Dir(w.path), "r[0-9]"))
		for _, mark := range marks {
			if pid, err := os.ReadFile(mark); err == nil && string(pid) == fmt.Sprint(p.Process.Pid) {
				check.OK(t, os.Remove(mark))
			}
		}
		dead := func(process dag.Process) dag.Life {
			if process.PID == int64(p.Process.Pid) {
				return dag.Dead
			}
			return dag.Alive
		}
		w.update(func(g *dag.Graph) error {
			stale, err := g.Queue.Stale(dead)
			for _, task := range stale {
				err = errors.Join(err, g.Queue.Reclaim(task, dag.ReclaimOptions{Reason: "killed"}))
			}
			return err
		})
		workers = append(workers, startWorker(t, "lock", w.path, len(workers)))
	}
	for _, p := range workers[2:] {
		p.lines(t)
	}
	ledgers, _ := filepath.Glob(filepath.Join(filepath.Dir(w.path), "lock*-*"))
	for _, path := range ledgers {
		text, err := os.ReadFile(path)
		check.OK(t, err)
		for _, id := range strings.Fields(string(text)) {
			times[id]++
		}
	}
	for _, id := range ids {
		check.Equal(t, "work on "+id, 1, times[id])
	}
	check.Equal(t, "locks that are left", 0, len(get(w, func(g *dag.Graph) ([]dag.LockHolder, error) { return g.Queue.Locks() })))
	w.wantTally(map[dag.Status]int{dag.Done: len(ids)}, nil)
}
