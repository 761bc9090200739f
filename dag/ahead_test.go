package dag_test

import (
	"fmt"
	"testing"

	"ralph/dag"
	"ralph/internal/testing/check"
)

const ahead = "refs/heads/main"

// claimAhead is a claim that may begin on held work, so many pieces deep.
func (w *world) claimAhead(depth int) (c dag.Claim, ok bool) {
	w.t.Helper()
	w.update(func(g *dag.Graph) (err error) {
		c, ok, err = g.Queue.Claim(dag.ClaimOptions{Run: w.run, Lease: lease, Slots: true, Ahead: depth, Target: ahead})
		return err
	})
	return c, ok
}

// passes has the work of a claim pass its gates.
func (w *world) passes(c dag.Claim, sound bool) (m dag.Merge) {
	w.t.Helper()
	w.update(func(g *dag.Graph) (err error) {
		if m, err = g.Queue.Enter(c, dag.NewMerge{Target: ahead, Base: "base", Work: "work " + c.Attempt, Patch: "patch " + c.Attempt}); err != nil {
			return err
		}
		if err = g.Queue.Built(c, m.N, "base", "candidate "+c.Attempt); err != nil {
			return err
		}
		if sound {
			if err = g.Queue.AllowOn(c, m.N); err != nil {
				return err
			}
		}
		return g.Queue.Tested(c, m.N)
	})
	return m
}

// holds has a person look at the work of a claim first, behind has it wait for what it stands on.
func (w *world) holds(c dag.Claim, sound bool) {
	w.t.Helper()
	m := w.passes(c, sound)
	w.update(func(g *dag.Graph) error { return g.Queue.Hold(c, m.N, "risky") })
}

func (w *world) behind(c dag.Claim) {
	w.t.Helper()
	w.passes(c, true)
	w.update(func(g *dag.Graph) error { return g.Queue.Release(c, dag.Release{Finished: true}) })
}

// begins wants the next claim to be that of a task, on the held work of another.
func (w *world) begins(title, on string, depth int) dag.Claim {
	w.t.Helper()
	c, ok := w.claimAhead(depth)
	check.That(w.t, ok && c.Task.Title == title && c.Task.StandsOn == w.ids[on], "claimed %v %s on %q; want %s on %s", ok, c.Task.Title, c.Task.StandsOn, title, on)
	return c
}

func (w *world) nothingBegins(depth int) {
	w.t.Helper()
	c, ok := w.claimAhead(depth)
	check.That(w.t, !ok, "%s began on %q", c.Task.Title, c.Task.StandsOn)
}

// soundly wants nothing wrong in the graph.
func (w *world) soundly() {
	w.t.Helper()
	check.Equal(w.t, "faults", []dag.Fault(nil), get(w, (*dag.Graph).Verify))
}

// newLine is a held task a, and b, c, d and e, each after the one before.
func newLine(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.plan("a")
	w.plan("b after a")
	w.plan("c after b")
	w.plan("d after c")
	w.plan("e after d")
	c, _ := w.claimAhead(3)
	w.holds(c, true)
	return w
}

func TestALineIsAsDeepAsItMayBe(t *testing.T) {
	t.Parallel()
	w := newLine(t)
	w.nothingBegins(0)
	w.behind(w.begins("b", "a", 3))
	w.nothingBegins(1)
	w.behind(w.begins("c", "b", 3))
	w.behind(w.begins("d", "c", 3))
	w.nothingBegins(3)
	w.soundly()
	line := get(w, func(g *dag.Graph) ([]dag.Merge, error) {
		d, err := g.Tasks.Get(w.ids["d"])
		if err != nil {
			return nil, err
		}
		return g.Queue.Line(d, ahead)
	})
	got := ""
	for _, m := range line {
		got += m.Title
	}
	check.Equal(t, "what d stands on", "abc", got)
	check.Equal(t, "what c's entry stands on", w.ids["b"], line[2].StandsOn)
	marks := ""
	for _, o := range get(w, func(g *dag.Graph) ([]dag.Outline, error) { return g.Tasks.Outline(dag.Scope{}) }) {
		marks += fmt.Sprintf("%s %v %v, ", o.Title, o.ToReview, o.Stands)
	}
	check.Equal(t, "to review, and on held work", "a true false, b false true, c false true, d false true, e false false, ", marks)
}

// What people are told has happened by then: it waits until the work has landed.
func TestNoNoticeIsSentAheadOfHeldWork(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan("a")
	w.add(dag.NewTask{Detail: dag.Detail{Title: "notice", Notify: "a is there"}, After: []string{w.id("a")}})
	c, _ := w.claimAhead(3)
	w.holds(c, true)
	w.nothingBegins(3)
}

func TestALineLandsInOrder(t *testing.T) {
	t.Parallel()
	w := newLine(t)
	w.behind(w.begins("b", "a", 3))
	w.update(func(g *dag.Graph) error { return g.Queue.Accept(w.ids["a"], "") })
	for i, title := range []string{"a", "b"} {
		c, ok := w.claimAhead(3)
		check.That(t, ok && c.Resume && c.Task.Title == title && c.Task.StandsOn == "", "claim %d: %v %s, resume %v", i, ok, c.Task.Title, c.Resume)
		m := w.passes(c, true)
		w.update(func(g *dag.Graph) error {
			if err := g.Queue.Landing(c, m.N, ""); err != nil {
				return err
			}
			return g.Queue.Landed(c, m.N, "passed")
		})
		w.soundly()
	}
}

func TestWhatStandsOnWorkThatIsGoneBeginsAnew(t *testing.T) {
	t.Parallel()
	for name, do := range map[string]func(*dag.Graph, string) error{
		"rejected":  func(g *dag.Graph, id string) error { return g.Queue.Reject(id, "") },
		"reset":     func(g *dag.Graph, id string) error { return g.Tasks.Reset(id) },
		"failed":    func(g *dag.Graph, id string) error { return g.Tasks.GiveUp(id, "") },
		"lost":      func(g *dag.Graph, id string) error { return g.Queue.LoseWork(id, "gone") },
		"deleted":   func(g *dag.Graph, id string) error { return g.Plan.Delete(id) },
		"satisfied": func(g *dag.Graph, id string) error { return g.Tasks.Cancel(id, true, "") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newLine(t)
			w.behind(w.begins("b", "a", 3))
			c := w.begins("c", "b", 3)
			w.update(func(g *dag.Graph) error { return do(g, w.ids["a"]) })
			for _, title := range []string{"b", "c"} {
				got := w.task(title)
				check.Equal(t, title, "pending 0 0", fmt.Sprintf("%s %s%s%d %d", got.Status, got.StandsOn, got.Unverified, got.Retries, got.Interruptions))
			}
			w.refused(dag.ErrLost, func(g *dag.Graph) error { return g.Queue.Holds(c) })
			w.soundly()
		})
	}
}

func TestNothingBeginsOnWorkThatIsInDoubt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan("a")
	w.plan("b after a")
	c, _ := w.claimAhead(3)
	w.holds(c, false)
	w.nothingBegins(3)
}

// TestATaskStandsOnOneLine: two pieces of held work are not one commit.
func TestATaskStandsOnOneLine(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan("a")
	w.plan("b")
	w.plan("c after a,b")
	for range 2 {
		c, _ := w.claimAhead(3)
		w.holds(c, true)
	}
	w.nothingBegins(3)
}

// TestATaskThatWaitsForSomethingElseWaits, and so does one in a group that does.
func TestATaskThatWaitsForSomethingElseWaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan("a")
	c, _ := w.claimAhead(3)
	w.holds(c, true)
	w.plan("other")
	w.update(func(g *dag.Graph) error { return g.Tasks.Block(w.ids["other"], "") })
	w.plan("b after a,other")
	w.nothingBegins(3)
	w.update(func(g *dag.Graph) error { return g.Tasks.Finish(w.ids["other"]) })
	w.begins("b", "a", 3)
}

// TestHeldWorkThatStandsOnRejectedWorkBeginsAnew: it waits for a person, too, and there is nothing left to look at.
func TestHeldWorkThatStandsOnRejectedWorkBeginsAnew(t *testing.T) {
	t.Parallel()
	w := newLine(t)
	w.holds(w.begins("b", "a", 3), true)
	w.update(func(g *dag.Graph) error { return g.Queue.Reject(w.ids["a"], "") })
	got := w.task("b")
	check.That(t, !got.ToReview && got.Unverified == "" && got.StandsOn == "", "b: to review %v, unverified %q, on %q", got.ToReview, got.Unverified, got.StandsOn)
	check.Equal(t, "what waits for a person", 0, len(get(w, func(g *dag.Graph) ([]dag.Merge, error) { return g.Queue.ToReview() })))
	w.soundly()
}

// TestAcceptedWorkWaitsForWhatItStandsOn, and loses its foundation without losing its claim to it.
func TestAcceptedWorkWaitsForWhatItStandsOn(t *testing.T) {
	t.Parallel()
	w := newLine(t)
	w.holds(w.begins("b", "a", 3), true)
	w.update(func(g *dag.Graph) error { return g.Queue.Accept(w.ids["b"], "") })
	w.begins("c", "b", 3)
	w.nothingBegins(3)
	w.update(func(g *dag.Graph) error { return g.Tasks.Block(w.ids["a"], "") })
	check.Equal(t, "b, while a is paused", w.ids["a"], w.task("b").StandsOn)
	w.update(func(g *dag.Graph) error { return g.Tasks.Cancel(w.ids["a"], false, "") })
	check.Equal(t, "b, once a is cancelled", "", w.task("b").StandsOn+w.task("b").Unverified)
	w.nothingBegins(3)
	w.soundly()
}
