package dag_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"ralph/dag"
)

// TestAnOutlineSaysTheSameAsTheTasks, of everything, of a feature and of a group.
func TestAnOutlineSaysTheSameAsTheTasks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.update(func(g *dag.Graph) error { _, err := g.AddFeature("login"); return err })
	group := w.add(dag.NewTask{Title: "group", Feature: "login"})
	w.add(dag.NewTask{Title: "below", Parent: group})
	first := w.add(dag.NewTask{Title: "first"})
	w.add(dag.NewTask{Title: "second", After: []string{first}})
	w.add(dag.NewTask{Title: "third"})
	w.person((*dag.Graph).Pause, "third")
	w.add(dag.NewTask{Title: "finished", Priority: 99})
	c := w.claim("finished")
	w.update(func(g *dag.Graph) error { return g.Release(c, dag.Release{Uncounted: true, Finished: true}) })
	w.view(func(g *dag.Graph) error {
		for _, scope := range []dag.Scope{{}, {Feature: "login"}, {Task: group}, {Task: "t-none"}, {Feature: "none"}} {
			outline, err := g.Outline(scope)
			if err != nil {
				return err
			}
			tasks, err := g.In(scope)
			if err != nil {
				return err
			}
			var want []dag.Outline
			numbers := map[string]int64{}
			for _, task := range tasks {
				numbers[task.ID] = task.N
				want = append(want, dag.Outline{
					N: task.N, Parent: numbers[task.Parent], ID: task.ID, Title: task.Title, Status: task.Status, Children: task.Children, OpenDeps: task.OpenDeps,
					Held: task.Held, Doomed: task.Doomed, Paused: task.Paused, Unverified: task.Unverified != "", NotBefore: task.NotBefore,
				})
			}
			if diff := cmp.Diff(want, outline); diff != "" {
				t.Errorf("%+v (-tasks +outline):\n%s", scope, diff)
			}
			for i, o := range outline {
				if got, want := o.Ready(w.clock()), tasks[i].Ready(w.clock()); got != want {
					t.Errorf("%s: ready %v, want %v", o.Title, got, want)
				}
			}
		}
		return nil
	})
}
