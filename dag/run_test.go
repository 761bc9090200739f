package dag_test

import (
	"testing"
	"time"

	"ralph/dag"
	"ralph/internal/testing/check"
)

func TestAStaleClaim(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		life  dag.Life
		after time.Duration
		ended bool
		want  bool
	}{
		"its owner lives":                               {dag.Alive, 0, false, false},
		"its owner lives and slept past its lease":      {dag.Alive, time.Hour, false, false},
		"its owner is dead, long before the lease ends": {dag.Dead, 0, false, true},
		"its owner is out of sight, within its lease":   {dag.Unknown, lease, false, false},
		"its owner is out of sight, past its lease":     {dag.Unknown, lease + time.Millisecond, false, true},
		"its run ended, though the process lives":       {dag.Alive, 0, true, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.plan("a", "b")
			w.claim("a")
			w.pass(test.after)
			if test.ended {
				w.update(func(g *dag.Graph) error { return g.EndRun(w.run.ID, "complete", "", 1) })
			}
			var got []dag.Task
			asked := 0
			w.view(func(g *dag.Graph) (err error) {
				got, err = g.Stale(func(p dag.Process) dag.Life {
					asked++
					check.Equal(t, "process", w.run.Process, p)
					return test.life
				})
				return err
			})
			if asked != 1 || (len(got) == 1) != test.want {
				t.Errorf("asked %d times; got %d stale, want %v", asked, len(got), test.want)
			}
		})
	}
}

func TestAHeartbeatExtendsTheLeaseAndNothingElse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan("a")
	c := w.claim("a")
	want := w.task("a")
	w.pass(30 * time.Second)
	w.update(func(g *dag.Graph) error { return g.Heartbeat(c, lease) })
	want.LeaseUntil = start.Add(90 * time.Second)
	check.Equal(t, "after a heartbeat", want, w.task("a"))
}

func TestRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := dag.Process{PID: 7, Start: 99, BootID: "boot", Namespace: "pid:[1]"}
	var run, got dag.Run
	w.update(func(g *dag.Graph) (err error) { run, err = g.StartRun(dag.Scope{Feature: "f"}, p); return err })
	w.pass(time.Second)
	w.update(func(g *dag.Graph) error { return g.EndRun(run.ID, "limit", "10 iterations", 10) })
	w.view(func(g *dag.Graph) (err error) { got, err = g.Owner(run.Owner); return err })
	want := dag.Run{
		ID: run.ID, Owner: run.Owner, Scope: dag.Scope{Feature: "f"}, Process: p, StartedAt: start, Heartbeat: start, Settings: "{}",
		EndedAt: start.Add(time.Second), Outcome: "limit", Reason: "10 iterations", Iterations: 10,
	}
	check.Equal(t, "run", want, got)
	w.refused(dag.ErrNotFound, func(g *dag.Graph) error { return g.EndRun(run.ID, "limit", "", 10) })
	w.refused(dag.ErrNotFound, func(g *dag.Graph) error { _, err := g.Owner("w-nobody"); return err })
}
