package dag_test

import (
	"testing"

	"ralph/dag"
	"ralph/internal/testing/check"
)

// TestATaskThatWasTakenAwayWaitsForItsAgentToGo: otherwise two agents would be at
// work on it at once, until the first one's worker notices.
func TestATaskThatWasTakenAwayWaitsForItsAgentToGo(t *testing.T) {
	t.Parallel()
	persons := map[string]func(*dag.Graph, string) error{
		"reset": reset, "reset tree": resetTree,
		"done and reset":   func(g *dag.Graph, id string) error { return first(g.Finish(id), g.Reset(id)) },
		"failed and reset": func(g *dag.Graph, id string) error { return first(g.GiveUp(id, ""), g.Reset(id)) },
	}
	for name, take := range persons {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.plan("a", "b")
			c := w.claim("a")
			w.update(func(g *dag.Graph) error { return take(g, w.id("a")) })
			w.wantReady("b")
			if got, ok := w.next(dag.ClaimOptions{Scope: dag.Scope{Task: w.id("a")}}); ok {
				t.Errorf("claimed %s while its agent was at work", got.Task.Title)
			}
			var leaving map[string]string
			w.view(func(g *dag.Graph) (err error) { leaving, err = g.Leaving(); return err })
			check.Equal(t, "leaving", map[string]string{c.Attempt: w.run.Owner}, leaving)
			if got := w.task("a"); got.Ready(w.clock()) {
				t.Error("it says that it is ready")
			}
			w.update(func(g *dag.Graph) error { return g.AbandonAttempt(c.Attempt, "interrupted", "taken away") })
			w.wantReady("a", "b")
			w.claim("a")
		})
	}
}

func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
