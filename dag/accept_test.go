package dag_test

import (
	"testing"
	"time"

	"ralph/dag"
	"ralph/internal/event"
	"ralph/internal/testing/check"
)

func accept(g *dag.Graph, id string) error { return g.Queue.Accept(id, "") }

// reject ends a claim as a run does that finds fault with its work.
func (w *world) reject(c dag.Claim, as event.Rejection, retries int) {
	w.t.Helper()
	w.update(func(g *dag.Graph) error {
		if err := g.History.NoteAttempt(c.Attempt, dag.Note{Rejected: as}); err != nil {
			return err
		}
		_, err := g.Queue.Retry(c, string(as), retries)
		return err
	})
}

func TestRejectedWorkThatAPersonAcceptsNeedsNoAgent(t *testing.T) {
	t.Parallel()
	for was, retries := range map[dag.Status]int{dag.Failed: 0, dag.Pending: 1} {
		t.Run(string(was), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.plan("group feature f", "a in group prio 9 feature f", "b", "after-a after a")
			c := w.claim("a")
			w.reject(c, event.RejectedTampering, retries)
			before := w.task("a")
			check.Equal(t, "status", was, before.Status)
			w.update(func(g *dag.Graph) error { return g.Queue.Accept(before.ID, "it says so") })
			check.Equal(t, "state", "unverified", w.task("a").State(w.clock()))
			check.Equal(t, "the group", dag.Pending, w.task("group").Status)
			w.sound()

			// It comes before all others, also while agents are rate-limited or budgets used up, survives the death of its
			// run, and is what it was if it does not pass.
			again, _ := w.next(dag.ClaimOptions{Skip: dag.Skip{Agent: "fake", Agents: []string{"fake"}, Features: []string{"f"}}})
			check.That(t, again.Resume && again.Resumed.ID == c.Attempt && again.Resumed.Accepted == was, "got %+v", again)
			w.reclaim("a", dag.ReclaimOptions{Unverified: c.Attempt})
			again = w.take("a", dag.ClaimOptions{Finished: true})
			check.Equal(t, "accepted when it was", was, again.Resumed.Accepted)
			w.reject(again, event.RejectedGate, 9)
			after := w.task("a")
			check.Equal(t, "afterwards", was, after.Status)
			check.Equal(t, "retries and attempts", [2]int{before.Retries, before.Attempts}, [2]int{after.Retries, after.Attempts})
			check.Equal(t, "unverified", "", after.Unverified)

			w.update(func(g *dag.Graph) error { return accept(g, before.ID) })
			again = w.take("a", dag.ClaimOptions{Finished: true})
			w.update(func(g *dag.Graph) error { return g.Queue.Complete(again, "passed") })
			w.wantReady("b", "after-a")
			w.sound()
		})
	}
}

func TestWhatCannotBeAccepted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan("new", "missing", "unchanged", "incomplete", "running", "reset", "blocked", "done", "group", "child in group")
	for title, as := range map[string]event.Rejection{
		"missing": event.RejectedMissing, "unchanged": event.RejectedUnchanged, "incomplete": event.RejectedIncomplete, "running": event.RejectedGate, "reset": event.RejectedGate,
		"blocked": event.RejectedGate, "done": event.RejectedGate, "child": event.RejectedGate,
	} {
		w.reject(w.claim(title), as, 1)
	}
	w.claim("running")
	w.person(reset, "reset")
	w.person(block, "blocked")
	w.person(finish, "done")
	for title, why := range map[string]string{
		"new": "no work of ", "missing": "if the feature is good as it is", "unchanged": "changed nothing", "incomplete": "cannot be a commit", "running": "is in progress",
		"reset": "no work of ", "blocked": "is blocked", "done": "is done", "group": "is a group",
	} {
		check.Err(t, title, why, w.refused(dag.ErrRefused, func(g *dag.Graph) error { return accept(g, w.id(title)) }))
	}
	w.sound()
}

func TestAcceptedWorkEntersTheQueueAsAccepted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan("a")
	c, n := w.put("a", dag.MergeTesting)
	w.reject(c, event.RejectedTampering, 0)
	check.Equal(t, "the entry", dag.MergeDropped, w.merge(n).State)
	w.person(accept, "a")
	w.person(accept, "a") // two at once
	finished := get(w, func(g *dag.Graph) ([]dag.Merge, error) { return g.Queue.Finished() })
	check.That(t, len(finished) == 1 && finished[0].Accepted && finished[0].N == n, "got %+v", finished)
	again := w.take("a", dag.ClaimOptions{Finished: true, Slots: true})
	w.person(accept, "a") // while it is checked, or after its run died
	was := w.merge(n)
	var m dag.Merge
	w.update(func(g *dag.Graph) (err error) {
		m, err = g.Queue.Enter(again, dag.NewMerge{Target: was.Target, Base: "tip", Work: "on it", Patch: was.Patch})
		return err
	})
	check.That(t, m.Accepted, "it is to be reviewed, and what was found counts")
	w.sound()
}

// TestWhatCameAfterRejectedWorkCounts: a person accepts what was last rejected, and nothing that is over or newer.
func TestWhatCameAfterRejectedWorkCounts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan("later", "finished", "reset", "waits", "top", "group in top", "deep in group", "open in group", "failed in top")
	first := map[string]dag.Claim{}
	for _, title := range []string{"later", "finished", "reset", "waits", "deep", "open"} {
		first[title] = w.claim(title)
		retries := 1
		if title == "deep" || title == "open" {
			retries = 0
		}
		w.reject(first[title], event.RejectedTampering, retries)
	}
	w.reject(w.claim("later"), event.RejectedTampering, 9)
	release := func(title string, r dag.Release) {
		c := w.claim(title)
		r.Outcome = event.AttemptReleased
		w.update(func(g *dag.Graph) error { return g.Queue.Release(c, r) })
	}
	release("finished", dag.Release{Finished: true})
	check.Err(t, "later work", "is finished, and is verified next", w.refused(dag.ErrRefused, func(g *dag.Graph) error { return accept(g, w.id("finished")) }))
	w.person(finish, "finished")
	w.person(reset, "reset")
	w.pass(time.Minute)
	release("reset", dag.Release{})
	check.Err(t, "what was reset", "no work of ", w.refused(dag.ErrRefused, func(g *dag.Graph) error { return accept(g, w.id("reset")) }))

	// It waits for nothing, and all that contains it is open again, although another task in there failed.
	w.person(reset, "open")
	w.spoil("failed")
	w.wantStatuses(map[string]dag.Status{"top": dag.Failed, "group": dag.Pending})
	release("waits", dag.Release{NotBefore: w.clock().Add(time.Hour), Wait: "a rate limit"})
	for _, title := range []string{"waits", "deep"} {
		w.update(func(g *dag.Graph) error { return accept(g, w.id(title)) })
		c := w.take(title, dag.ClaimOptions{Finished: true})
		check.Equal(t, "resumed", first[title].Attempt, c.Resumed.ID)
	}
	check.Equal(t, "all that contains it", dag.Pending, w.task("top").Status)
	w.sound()
}
