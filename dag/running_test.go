package dag_test

import (
	"errors"
	"testing"
	"time"

	"ralph/dag"
	"ralph/internal/event"
	"ralph/internal/testing/check"
)

// returns is everything with which a worker may come back.
func returns() map[string]func(*dag.Graph, dag.Claim) error {
	return map[string]func(*dag.Graph, dag.Claim) error{
		"heartbeat": func(g *dag.Graph, c dag.Claim) error { return g.Queue.Heartbeat(c, time.Hour) },
		"complete":  func(g *dag.Graph, c dag.Claim) error { return g.Queue.Complete(c, "passed") },
		"fail":      func(g *dag.Graph, c dag.Claim) error { return g.Queue.Fail(c, "it broke") },
		"release":   func(g *dag.Graph, c dag.Claim) error { return g.Queue.Release(c, dag.Release{Reason: "no answer"}) },
		"release, uncounted": func(g *dag.Graph, c dag.Claim) error {
			return g.Queue.Release(c, dag.Release{Uncounted: true, NotBefore: start.Add(time.Hour)})
		},
		"retry":            func(g *dag.Graph, c dag.Claim) error { _, err := g.Queue.Retry(c, "not good", 3); return err },
		"retry, none left": func(g *dag.Graph, c dag.Claim) error { _, err := g.Queue.Retry(c, "not good", 0); return err },
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
		"deletes its tree":       func(w *world) { w.update(func(g *dag.Graph) error { return g.Plan.DeleteTree(w.id("group")) }) },
		"deletes its feature":    func(w *world) { w.update(func(g *dag.Graph) error { return g.Plan.DeleteFeature("f") }) },
		"finishes and resets it": func(w *world) { w.person(finish, "a"); w.person(reset, "a") },
		"resets it, and the same run claims it again": func(w *world) { w.person(reset, "a"); w.claim("a") },
		"resets it, and another run claims it": func(w *world) {
			w.person(reset, "a")
			w.update(func(g *dag.Graph) (err error) {
				w.run, err = g.History.StartRun(dag.Scope{}, dag.Process{PID: 2})
				return err
			})
			w.claim("a")
		},
	}
	for person, act := range persons {
		t.Run(person, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.plan("group feature f", "a in group", "b in group after a")
			c := w.claim("a")
			w.update(func(g *dag.Graph) error { return g.Queue.Heartbeat(c, lease) }) // it is its own so far
			act(w)
			for _, come := range returns() {
				w.refused(dag.ErrLost, func(g *dag.Graph) error { return come(g, c) })
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
			for _, come := range returns() {
				w.refused(dag.ErrLost, func(g *dag.Graph) error { return come(g, c) })
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
			check.That(t, task.Status == test.status && task.Attempts == test.charged && task.Owner == "" && task.LeaseUntil.IsZero() && task.Generation == c.Generation,
				"got %s, %d attempts, owner %q, generation %d", task.Status, task.Attempts, task.Owner, task.Generation)
			w.refused(dag.ErrLost, func(g *dag.Graph) error { return g.Queue.Heartbeat(c, time.Hour) })
			want := []dag.Attempt{{
				ID: c.Attempt, Run: w.run.ID, Task: task.ID, Iteration: 4, Phase: "settled", StartedAt: start,
				EndedAt: start.Add(time.Minute), Outcome: test.outcome, Reason: test.reason,
			}}
			check.Equal(t, "attempts", want, get(w, func(g *dag.Graph) ([]dag.Attempt, error) { return g.History.Attempts(task) }))
		})
	}
}

// TestFinishedWorkThatAwaitsItsVerdict is paid for: only what makes it worthless
// forgets it.
func TestFinishedWorkThatAwaitsItsVerdict(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		person []func(*dag.Graph, string) error
		resume bool
	}{
		"is claimed to be verified":         {nil, true},
		"after a block was lifted":          {[]func(*dag.Graph, string) error{block, unblock}, true},
		"not after a reset":                 {[]func(*dag.Graph, string) error{reset}, false},
		"not after a reset that lifted one": {[]func(*dag.Graph, string) error{block, reset}, false},
		"not when it had been given up":     {[]func(*dag.Graph, string) error{giveUp, reset}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.plan("a")
			first := w.claim("a")
			w.update(func(g *dag.Graph) error { return g.Queue.Release(first, dag.Release{Uncounted: true, Finished: true}) })
			for _, verb := range tt.person {
				w.person(verb, "a")
			}
			c := w.claim("a")
			check.That(t, c.Resume == tt.resume && (c.Resumed.ID == first.Attempt) == tt.resume, "got resume %v of %q", c.Resume, c.Resumed.ID)
		})
	}
}

// TestATaskThatWasTakenAwayWaitsForItsAgentToGo: otherwise two agents would be at
// work on it at once, until the first one's worker notices.
func TestATaskThatWasTakenAwayWaitsForItsAgentToGo(t *testing.T) {
	t.Parallel()
	persons := map[string]func(*dag.Graph, string) error{
		"reset": reset, "reset tree": resetTree,
		"done and reset":   func(g *dag.Graph, id string) error { return errors.Join(g.Tasks.Finish(id), g.Tasks.Reset(id)) },
		"failed and reset": func(g *dag.Graph, id string) error { return errors.Join(g.Tasks.GiveUp(id, ""), g.Tasks.Reset(id)) },
	}
	for name, take := range persons {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.plan("a", "b")
			c := w.claim("a")
			w.update(func(g *dag.Graph) error { return take(g, w.id("a")) })
			w.wantReady("b")
			got, ok := w.next(dag.ClaimOptions{Scope: dag.Scope{Task: w.id("a")}})
			check.That(t, !ok, "claimed %s while its agent was at work", got.Task.Title)
			check.Equal(t, "leaving", map[string]string{c.Attempt: w.run.Owner}, get(w, func(g *dag.Graph) (map[string]string, error) { return g.Queue.Leaving() }))
			check.That(t, !w.task("a").Ready(w.clock()), "it says that it is ready")
			w.update(func(g *dag.Graph) error { return g.History.AbandonAttempt(c.Attempt, "interrupted", "taken away") })
			w.wantReady("a", "b")
			w.claim("a")
		})
	}
}

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
				w.update(func(g *dag.Graph) error { return g.History.EndRun(w.run.ID, "complete", "", 1) })
			}
			var asked []dag.Process
			got := get(w, func(g *dag.Graph) ([]dag.Task, error) {
				return g.Queue.Stale(func(p dag.Process) dag.Life { asked = append(asked, p); return test.life })
			})
			check.Equal(t, "processes asked for", []dag.Process{w.run.Process}, asked)
			check.Equal(t, "stale", test.want, len(got) == 1)
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
	w.update(func(g *dag.Graph) error { return g.Queue.Heartbeat(c, lease) })
	want.LeaseUntil = start.Add(90 * time.Second)
	check.Equal(t, "after a heartbeat", want, w.task("a"))
}

func TestRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := dag.Process{PID: 7, Start: 99, BootID: "boot", Namespace: "pid:[1]"}
	var run dag.Run
	w.update(func(g *dag.Graph) (err error) { run, err = g.History.StartRun(dag.Scope{Feature: "f"}, p); return err })
	w.pass(time.Second)
	w.update(func(g *dag.Graph) error { return g.History.EndRun(run.ID, "limit", "10 iterations", 10) })
	want := dag.Run{
		ID: run.ID, Owner: run.Owner, Scope: dag.Scope{Feature: "f"}, Process: p, StartedAt: start, Heartbeat: start, Settings: "{}",
		EndedAt: start.Add(time.Second), Outcome: "limit", Reason: "10 iterations", Iterations: 10,
	}
	check.Equal(t, "run", want, get(w, func(g *dag.Graph) (dag.Run, error) { return g.History.Owner(run.Owner) }))
	w.refused(dag.ErrNotFound, func(g *dag.Graph) error { return g.History.EndRun(run.ID, "limit", "", 10) })
	w.refused(dag.ErrNotFound, func(g *dag.Graph) error { _, err := g.History.Owner("w-nobody"); return err })
}
