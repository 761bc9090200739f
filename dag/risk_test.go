package dag_test

import (
	"testing"
	"time"

	"ralph/dag"
	"ralph/internal/event"
	"ralph/internal/risk"
	"ralph/internal/testing/check"
)

func titlesOfMerges(list []dag.Merge) (titles []string) {
	for _, m := range list {
		titles = append(titles, m.Title)
	}
	return titles
}

func (w *world) unreviewed() []string {
	w.t.Helper()
	return titlesOfMerges(get(w, func(g *dag.Graph) ([]dag.Merge, error) { return g.Queue.Unreviewed() }))
}

// TestLandedWorkIsReviewedUntilAPersonAcceptsIt: each piece has its own mark, so that nobody has to begin again.
func TestLandedWorkIsReviewedUntilAPersonAcceptsIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan("a", "b", "c", "held", "accepted")
	w.put("a", dag.MergeLanded)
	w.put("b", dag.MergeLanded)
	w.put("c", dag.MergeLanded)
	w.put("held", dag.MergeHeld)
	check.Equal(t, "what nobody looked at", []string{"a", "b", "c"}, w.unreviewed())
	accept := func(title string) { w.update(func(g *dag.Graph) error { return g.Queue.Accept(w.id(title), "fine") }) }
	accept("b")
	check.Equal(t, "after one was accepted", []string{"a", "c"}, w.unreviewed())
	check.Equal(t, "its status", dag.Done, w.task("b").Status)
	b := w.task("b")
	landed := func() dag.Merge {
		return get(w, func(g *dag.Graph) (dag.Merge, error) { return g.Queue.LandedWork(b) })
	}
	first := landed()
	check.That(t, !first.ReviewedAt.IsZero() && first.ReviewedBy != "", "nobody is on record: %+v", first)
	w.pass(time.Hour)
	accept("b") // somebody was faster
	check.Equal(t, "after it was accepted again", first, landed())
	w.person(reset, "a") // somebody opens it
	check.Equal(t, "after one was opened", []string{"c"}, w.unreviewed())
	since := func(at time.Time) []string {
		return titlesOfMerges(get(w, func(g *dag.Graph) ([]dag.Merge, error) { return g.Queue.LandedSince(at) }))
	}
	check.Equal(t, "since the start", []string{"b", "c"}, since(start))
	check.Equal(t, "since now", []string(nil), since(start.Add(time.Hour)))
	w.sound()
}

// TestAcceptedWorkKeepsItsRisk: nothing examines it again, and what was found in it still counts.
func TestAcceptedWorkKeepsItsRisk(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan("a")
	high := risk.Of(risk.Facts{Doubts: []string{"a deleted test"}})
	low := risk.Of(risk.Facts{Lines: 3})
	c := w.claim("a")
	n := w.enter(c, "main").N
	rate := func(c dag.Claim, n int64, s risk.Score) {
		w.update(func(g *dag.Graph) error { return g.Queue.Rate(c, n, s) })
	}
	check.That(t, !w.merge(n).Rated, "it is rated before anybody did")
	rate(c, n, low)
	rate(c, n, high) // it was rebuilt and tested again
	check.Equal(t, "the risk", high, w.merge(n).Risk)
	for _, step := range []string{"built", "tested", "hold"} {
		w.update(func(g *dag.Graph) error { return queueVerbs()[step](g, c, n) })
	}
	w.update(func(g *dag.Graph) error { return g.Queue.Accept(w.id("a"), "") })
	c = w.claim("a")
	n = w.enter(c, "main").N
	rate(c, n, low)
	check.Equal(t, "the risk of what was accepted", high, w.merge(n).Risk)
	check.Equal(t, "past risks before it lands", []float64(nil), get(w, func(g *dag.Graph) ([]float64, error) { return g.History.Risks() }))
	for _, step := range []string{"built", "tested", "landing", "landed"} {
		w.update(func(g *dag.Graph) error { return queueVerbs()[step](g, c, n) })
	}
	check.Equal(t, "past risks", []float64{high.Risk}, get(w, func(g *dag.Graph) ([]float64, error) { return g.History.Risks() }))
	check.Equal(t, "what nobody looked at", []string(nil), w.unreviewed())
	w.refused(dag.ErrLost, func(g *dag.Graph) error { return g.Queue.Rate(c, n, low) })
}

// TestWhatWasSpentIsThatOfAttemptsThatDidTheirTask: others say little of what one takes, and an unknown cost says nothing.
func TestWhatWasSpentIsThatOfAttemptsThatDidTheirTask(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan("a", "b", "c", "d")
	cost := func(usd float64) *float64 { return &usd }
	note := func(attempt string, n dag.Note) {
		w.update(func(g *dag.Graph) error { return g.History.NoteAttempt(attempt, n) })
	}
	failed := w.claim("a")
	note(failed.Attempt, dag.Note{Usage: &event.Usage{CostUSD: cost(9)}, Steps: 9})
	w.update(func(g *dag.Graph) error { _, err := g.Queue.Retry(failed, "no", 3); return err })
	for _, done := range []struct {
		title string
		note  dag.Note
	}{
		{"b", dag.Note{Usage: &event.Usage{CostUSD: cost(0.5)}, Steps: 12}},
		{"c", dag.Note{Usage: &event.Usage{CostUSD: cost(2), Unknown: true}, Steps: 3}},
		{"d", dag.Note{Usage: &event.Usage{CostUSD: cost(0.25)}}},
	} {
		landed, _ := w.put(done.title, dag.MergeLanded)
		note(landed.Attempt, done.note)
		w.pass(time.Minute)
	}
	check.Equal(t, "what was spent", []risk.Spent{{CostUSD: 0.25}, {CostUSD: 0.5, Steps: 12}}, get(w, func(g *dag.Graph) ([]risk.Spent, error) { return g.History.Spent() }))
	b := w.task("b")
	list := get(w, func(g *dag.Graph) ([]dag.Attempt, error) { return g.History.Attempts(b) })
	note(list[0].ID, dag.Note{StopReason: "end_turn"}) // says nothing of steps
	list = get(w, func(g *dag.Graph) ([]dag.Attempt, error) { return g.History.Attempts(b) })
	check.Equal(t, "steps", 12, list[0].Steps)
}

// TestFailedWorkIsWhatWasRejectedOrTakenBack, and what landed again after that is not.
func TestFailedWorkIsWhatWasRejectedOrTakenBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan("a", "b")
	c := w.claim("a")
	w.update(func(g *dag.Graph) error { return g.History.NoteAttempt(c.Attempt, dag.Note{Files: []string{"a.go"}}) })
	w.update(func(g *dag.Graph) error { _, err := g.Queue.Retry(c, "no", 3); return err })
	landed, _ := w.put("b", dag.MergeLanded)
	w.update(func(g *dag.Graph) error {
		return g.History.NoteAttempt(landed.Attempt, dag.Note{Files: []string{"b.go"}})
	})
	failed := func() []dag.FailedWork {
		return get(w, func(g *dag.Graph) ([]dag.FailedWork, error) { return g.History.FailedWork() })
	}
	want := []dag.FailedWork{{Task: w.id("a"), Files: []string{"a.go"}}}
	check.Equal(t, "failed work", want, failed())

	var undo dag.Claim
	w.update(func(g *dag.Graph) (err error) {
		undo, err = g.Plan.Undo(dag.NewTask{Detail: dag.Detail{Title: "Revert b"}}, dag.NewMerge{Target: "main", Base: "base", Work: "revert", Patch: "revert"}, w.id("b"))
		if err == nil {
			err = g.Queue.SayUndone(undo.Task.ID, w.id("b"), "keep the old format")
		}
		return err
	})
	w.refused(dag.ErrRefused, func(g *dag.Graph) error { return g.Queue.SayUndone(undo.Task.ID, w.id("a"), "no") })
	check.Equal(t, "failed work before the revert lands", want, failed())
	w.ids["Revert b"] = undo.Task.ID
	w.put("Revert b", dag.MergeLanded)
	want = append(want, dag.FailedWork{Task: w.id("b"), Files: []string{"b.go"}})
	check.Equal(t, "failed work after it", want, failed())
	said, b := "", w.task("b")
	for _, l := range get(w, func(g *dag.Graph) ([]dag.LogEntry, error) { return g.Tasks.Logs(b) }) {
		if l.Kind == dag.LogUser {
			said += l.Text
		}
	}
	check.Equal(t, "what the next attempt is told", "keep the old format", said)
	w.put("b", dag.MergeLanded)
	check.Equal(t, "failed work after it landed again", want, failed())
	check.Equal(t, "what nobody looked at", []string{"b"}, w.unreviewed())
}
