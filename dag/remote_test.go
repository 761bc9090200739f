package dag_test

import (
	"errors"
	"testing"
	"time"

	"ralph/dag"
	"ralph/internal/testing/check"
)

func always(l dag.Life) func(dag.Process) dag.Life { return func(dag.Process) dag.Life { return l } }

// TestARunOfOtherMachinesHasOneProcess at a time: two would land the same work.
func TestARunOfOtherMachinesHasOneProcess(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		life   dag.Life
		silent time.Duration
		taken  bool
	}{
		"its process lives":   {dag.Alive, time.Hour, false},
		"its process is gone": {dag.Dead, 0, true},
		"nobody can see its process, and it was heard just now": {dag.Unknown, time.Minute, false},
		"nobody can see its process, and it is silent":          {dag.Unknown, time.Hour, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.plan("a")
			w.update(func(g *dag.Graph) (err error) {
				w.run, err = g.History.StartRun(dag.Scope{}, dag.Process{PID: 1, Remote: "a workflow"})
				return err
			})
			c := w.claim("a")
			w.pass(test.silent)
			next := dag.Process{PID: 2, Remote: "a workflow"}
			adopt := func(g *dag.Graph) error {
				run, found, err := g.History.AdoptRun(next, always(test.life))
				check.That(t, found && run.ID == w.run.ID, "got %v %s", found, run.ID)
				return err
			}
			if !test.taken {
				w.refused(dag.ErrRefused, adopt)
				return
			}
			w.update(adopt)
			claims := get(w, func(g *dag.Graph) ([]dag.Claim, error) { return g.Queue.Owned(w.run) })
			check.That(t, len(claims) == 1 && claims[0].Attempt == c.Attempt && claims[0].Generation == c.Generation, "got %+v", claims)
			w.update(func(g *dag.Graph) error { return g.Queue.Complete(claims[0], "passed") })
			check.Equal(t, "its process", next, get(w, func(g *dag.Graph) (dag.Run, error) { return g.History.Owner(w.run.Owner) }).Process)
		})
	}
}

func TestRunsOfOtherMachinesHaveTheirTasksForThemselves(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		remote, other string
		a, b          dag.Scope
		life          dag.Life
		refused       bool
	}{
		"everything, twice":           {"w", "", dag.Scope{}, dag.Scope{}, dag.Alive, true},
		"the other way round":         {"", "w", dag.Scope{}, dag.Scope{}, dag.Alive, true},
		"two local runs":              {"", "", dag.Scope{}, dag.Scope{}, dag.Alive, false},
		"the other is dead":           {"", "w", dag.Scope{}, dag.Scope{}, dag.Dead, false},
		"a feature of everything":     {"w", "", dag.Scope{}, dag.Scope{Feature: "f"}, dag.Alive, true},
		"two features":                {"w", "", dag.Scope{Feature: "f"}, dag.Scope{Feature: "g"}, dag.Alive, false},
		"a task of the feature":       {"w", "", dag.Scope{Feature: "f"}, dag.Scope{Task: "a"}, dag.Alive, true},
		"a task of another feature":   {"w", "", dag.Scope{Feature: "g"}, dag.Scope{Task: "a"}, dag.Alive, false},
		"a tag, which any task has":   {"w", "", dag.Scope{Feature: "g"}, dag.Scope{Tag: "ui"}, dag.Alive, true},
		"two workflows, one server":   {"w", "v", dag.Scope{}, dag.Scope{}, dag.Alive, true},
		"two workflows, two features": {"w", "v", dag.Scope{Feature: "f"}, dag.Scope{Feature: "g"}, dag.Alive, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.plan("a feature f", "b feature g")
			if test.b.Task != "" {
				test.b.Task = w.id(test.b.Task)
			}
			var err error
			w.update(func(g *dag.Graph) error {
				if err := g.History.EndRun(w.run.ID, "complete", "", 0); err != nil {
					return err
				}
				if _, err := g.History.StartRun(test.a, dag.Process{PID: 1, Remote: test.remote}); err != nil {
					return err
				}
				err = g.History.Apart(test.b, dag.Process{PID: 2, Remote: test.other}, always(test.life))
				return nil
			})
			check.That(t, errors.Is(err, dag.ErrRefused) == test.refused && (err == nil) != test.refused, "got %v", err)
		})
	}
}
