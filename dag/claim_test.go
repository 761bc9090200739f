package dag_test

import (
	"testing"
	"time"

	"ralph/dag"
	"ralph/internal/testing/check"
)

// claims claims until nothing is left and returns the titles.
func (w *world) claims(opts dag.ClaimOptions) (titles []string) {
	w.t.Helper()
	for {
		c, ok := w.next(opts)
		if !ok {
			return titles
		}
		titles = append(titles, c.Task.Title)
	}
}

func TestClaimsGoByPriorityThenCreationWithinTheirScope(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		feature, task string
		keepGoing     bool
		want          []string
	}{
		"everything":                                {want: []string{"urgent", "a", "b", "x", "low"}},
		"everything, keep going":                    {keepGoing: true, want: []string{"urgent", "a", "b", "doomed", "deep", "x", "low"}},
		"a feature":                                 {feature: "f", want: []string{"urgent", "a", "b"}},
		"a feature by its name in another case":     {feature: "F", want: []string{"urgent", "a", "b"}},
		"a feature, keep going":                     {feature: "f", keepGoing: true, want: []string{"urgent", "a", "b", "doomed", "deep"}},
		"a task":                                    {task: "b", want: []string{"b"}},
		"a task that waits":                         {task: "after"},
		"a group":                                   {task: "group", want: []string{"a", "b"}},
		"a group that failed":                       {task: "lost"},
		"a group that failed, keep going":           {task: "lost", keepGoing: true, want: []string{"doomed", "deep"}},
		"a group below one that failed":             {task: "inner"},
		"a group below one that failed, keep going": {task: "inner", keepGoing: true, want: []string{"deep"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.plan("low prio 9", "group feature f", "a in group", "b in group", "lost feature f", "spoiled in lost",
				"doomed in lost", "inner in lost", "deep in inner", "x", "after after low prio -9", "urgent feature f prio -5")
			w.person(giveUp, "spoiled")
			got := w.claims(dag.ClaimOptions{Scope: dag.Scope{Feature: test.feature, Task: w.id(test.task)}, KeepGoing: test.keepGoing})
			check.Equal(t, "claims", test.want, got)
		})
	}
}

func TestAClaimOfAScopeThatIsNone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan("a feature f")
	w.refused(dag.ErrNotFound, func(g *dag.Graph) error {
		_, _, err := g.Queue.Claim(dag.ClaimOptions{Run: w.run, Scope: dag.Scope{Feature: "nobody"}})
		return err
	})
	w.refused(dag.ErrRefused, func(g *dag.Graph) error {
		_, _, err := g.Queue.Claim(dag.ClaimOptions{Run: w.run, Scope: dag.Scope{Feature: "f", Task: w.id("a")}})
		return err
	})
	c, ok := w.next(dag.ClaimOptions{Scope: dag.Scope{Task: "t-00000000"}})
	check.That(t, !ok, "claimed %s", c.Task.Title)
}

func TestNotBefore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan("a", "b prio 5")
	c := w.claim("a")
	until := start.Add(5 * time.Second)
	w.update(func(g *dag.Graph) error { return g.Queue.Release(c, dag.Release{NotBefore: until, Wait: "backoff"}) })

	tally := func() dag.Tally {
		return get(w, func(g *dag.Graph) (dag.Tally, error) { return g.Tasks.Tally(dag.Scope{}) })
	}
	pending := map[dag.Status]int{dag.Pending: 2}
	w.wantReady("b")
	check.Equal(t, "waiting", dag.Tally{ByStatus: pending, Groups: map[dag.Status]int{}, Ready: 1, Waiting: 1, NextWait: until}, tally())
	w.pass(4999 * time.Millisecond)
	w.wantReady("b")
	w.pass(time.Millisecond) // due: ready before b, though nobody has cleared it
	w.wantReady("a", "b")
	check.Equal(t, "due", dag.Tally{ByStatus: pending, Groups: map[dag.Status]int{}, Ready: 2}, tally())
	check.Equal(t, "wait after looking", until, w.task("a").NotBefore)
	c = w.take("a", dag.ClaimOptions{})
	check.That(t, c.Task.NotBefore.IsZero() && c.Task.WaitReason == "", "the claim left the wait: %v, %q", c.Task.NotBefore, c.Task.WaitReason)
	wait := dag.Release{NotBefore: until.Add(time.Hour)}
	w.update(func(g *dag.Graph) error { return g.Queue.Release(c, wait) })
	w.person(reset, "a")
	w.wantReady("a", "b")
	c = w.claim("a")
	w.update(func(g *dag.Graph) error { return g.Queue.Release(c, wait) })
	w.plan("child in a")
	check.Equal(t, "wait of a group", time.Time{}, w.task("a").NotBefore)
}

// Unblock does not touch what the task waits for.
func TestABlockKeepsTheWait(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan("a")
	c := w.claim("a")
	until := w.clock().Add(time.Minute)
	w.update(func(g *dag.Graph) error { return g.Queue.Release(c, dag.Release{NotBefore: until, Wait: "rate limit"}) })
	w.person(block, "a")
	w.person(unblock, "a")
	w.wantReady()
	got := w.task("a")
	check.That(t, got.NotBefore.Equal(until) && got.WaitReason == "rate limit", "got %v, %q, want %v, rate limit", got.NotBefore, got.WaitReason, until)
	w.pass(time.Minute)
	w.wantReady("a")
	w.person(finish, "a")
	check.Equal(t, "not before of a task that ended", time.Time{}, w.task("a").NotBefore)
}
