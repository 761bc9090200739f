package plansync

import (
	"errors"
	"os"
	"testing"

	"ralph/dag"
	"ralph/internal/testing/check"
)

// TestNoRebuildUnderARun refuses while a run is alive, and changes nothing then.
func TestNoRebuildUnderARun(t *testing.T) {
	t.Parallel()
	c := newClone(t.Context(), t, t.TempDir())
	c.add(dag.Spec{Ref: one, Detail: dag.Detail{Title: "one"}})
	check.OK(t, c.both())
	c.update(func(g *dag.Graph) error { _, err := g.History.StartRun(dag.Scope{}, dag.Process{PID: 1}); return err })
	c.close()
	before, err := os.ReadDir(c.Project.State())
	check.OK(t, err)
	life := dag.Alive
	opts := dag.Options{Now: c.Now}
	alive := func(dag.Process) dag.Life { return life }
	if _, err := Rebuild(t.Context(), c.Project, opts, alive, false); !errors.Is(err, dag.ErrRefused) {
		t.Errorf("got %v, want a refusal", err)
	}
	after, err := os.ReadDir(c.Project.State())
	check.OK(t, err)
	check.Equal(t, "files", len(before), len(after))
	life = dag.Dead
	r, err := Rebuild(t.Context(), c.Project, opts, alive, false)
	check.OK(t, err)
	check.Equal(t, "tasks", 1, r.Tasks)
	check.Equal(t, "lost", []string{"runs: 1"}, r.Lost)
}
