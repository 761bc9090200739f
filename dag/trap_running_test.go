package dag_test

import (
	"testing"
	"time"

	"ralph/dag"
	"ralph/event"
	"ralph/internal/testing/check"
)

// returns is everything with which a worker may come back.
func returns() map[string]func(*dag.Graph, dag.Claim) error {
	return map[string]func(*dag.Graph, dag.Claim) error{
		"heartbeat": func(g *dag.Graph, c dag.Claim) error { return g.Heartbeat(c, time.Hour) },
		"complete":  func(g *dag.Graph, c dag.Claim) error { return g.Complete(c, "passed") },
		"fail":      func(g *dag.Graph, c dag.Claim) error { return g.Fail(c, "it broke") },
		"release":   func(g *dag.Graph, c dag.Claim) error { return g.Release(c, dag.Release{Reason: "no answer"}) },
		"release, uncounted": func(g *dag.Graph, c dag.Claim) error {
			return g.Release(c, dag.Release{Uncounted: true, NotBefore: start.Add(time.Hour)})
		},
		"retry":            func(g *dag.Graph, c dag.Claim) error { _, err := g.Retry(c, "not good", 3); return err },
		"retry, none left": func(g *dag.Graph, c dag.Claim) error { _, err := g.Retry(c, "not good", 0); return err },
	}
}

func TestTrapAPersonTakesARunningTaskAwayAndTheWorkerIsRefused(t *testing.T) {
	t.Parallel()
	persons := map[string]func(*world){
		"resets it":              func(w *world) { w.person(reset, "a") },
		"resets its tree":        func(w *world) { w.person(resetTree, "group") },
		"finishes it":            func(w *world) { w.person(finish, "a") },
		"fails it":               func(w *world) { w.person(giveUp, "a") },
		"deletes it":             func(w *world) { w.person(remove, "a") },
		"deletes its tree":       func(w *world) { w.update(func(g *dag.Graph) error { return g.DeleteTree(w.id("group")) }) },
		"deletes its feature":    func(w *world) { w.update(func(g *dag.Graph) error { return g.DeleteFeature("f") }) },
		"finishes and resets it": func(w *world) { w.person(finish, "a"); w.person(reset, "a") },
		"resets it, and the same run claims it again": func(w *world) {
			w.person(reset, "a")
			w.claim("a")
		},
		"resets it, and another run claims it": func(w *world) {
			w.person(reset, "a")
			w.update(func(g *dag.Graph) (err error) { w.run, err = g.StartRun(dag.Scope{}, dag.Process{PID: 2}); return err })
			w.claim("a")
		},
	}
	for person, act := range persons {
		t.Run(person, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.plan("group feature f", "a in group", "b in group after a")
			c := w.claim("a")
			w.update(func(g *dag.Graph) error { return g.Heartbeat(c, lease) }) // it is its own so far
			act(w)
			for back, come := range returns() {
				if err := w.refused(dag.ErrLost, func(g *dag.Graph) error { return come(g, c) }); err == nil {
					t.Errorf("%s: not refused", back)
				}
			}
			w.sound()
		})
	}
}

func TestAClaimIsForItsOwnerAndGenerationOnly(t *testing.T) {
	t.Parallel()
	forge := map[string]func(*dag.Claim){
		"another owner":          func(c *dag.Claim) { c.Owner = "w-somebody" },
		"no owner":               func(c *dag.Claim) { c.Owner = "" },
		"an older generation":    func(c *dag.Claim) { c.Generation-- },
		"a generation to come":   func(c *dag.Claim) { c.Generation++ },
		"a task that is no more": func(c *dag.Claim) { c.Task.ID = "t-00000000" },
	}
	for name, change := range forge {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.plan("a")
			c := w.claim("a")
			change(&c)
			for back, come := range returns() {
				if err := w.refused(dag.ErrLost, func(g *dag.Graph) error { return come(g, c) }); err == nil {
					t.Errorf("%s: not refused", back)
				}
			}
		})
	}
}

func TestEveryReturnOfAWorkerEndsItsAttempt(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		outcome event.AttemptOutcome
		reason  string
		status  dag.Status
		charged int
	}{
		"complete":           {"done", "", dag.Done, 1},
		"fail":               {"failed", "it broke", dag.Failed, 1},
		"release":            {"released", "no answer", dag.Pending, 1},
		"release, uncounted": {"released", "", dag.Pending, 0},
		"retry":              {"retried", "not good", dag.Pending, 1},
		"retry, none left":   {"failed", "not verified after 0 of 0 retries: not good", dag.Failed, 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.plan("a")
			c := w.take("a", dag.ClaimOptions{Iteration: 4})
			w.pass(time.Minute)
			w.update(func(g *dag.Graph) error { return returns()[name](g, c) })
			task := w.task("a")
			if task.Status != test.status || task.Attempts != test.charged || task.Owner != "" || !task.LeaseUntil.IsZero() {
				t.Errorf("got %s, %d attempts, owner %q", task.Status, task.Attempts, task.Owner)
			}
			var got []dag.Attempt
			w.view(func(g *dag.Graph) (err error) { got, err = g.Attempts(task); return err })
			want := []dag.Attempt{{
				ID: c.Attempt, Run: w.run.ID, Task: task.ID, Iteration: 4, Phase: "settled", StartedAt: start,
				EndedAt: start.Add(time.Minute), Outcome: test.outcome, Reason: test.reason,
			}}
			check.Equal(t, "attempts", want, got)
		})
	}
}
