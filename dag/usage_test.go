package dag_test

import (
	"testing"
	"time"

	"ralph/dag"
	"ralph/internal/event"
	"ralph/internal/testing/check"
)

// use ends an attempt at a task after it took a second and used that much.
func (w *world) use(title string, tokens int64, cost float64, estimated bool, outcome event.AttemptOutcome) {
	w.t.Helper()
	c := w.claim(title)
	note := dag.Note{Agent: "x", Usage: &event.Usage{TokensIn: tokens, TokensOut: tokens, CostUSD: &cost, Estimated: estimated}}
	if cost == 0 {
		note.Usage.CostUSD, note.Usage.Unknown = nil, true
	}
	w.update(func(g *dag.Graph) error { return g.History.NoteAttempt(c.Attempt, note) })
	w.pass(time.Second)
	w.update(func(g *dag.Graph) error { return g.Queue.Release(c, dag.Release{Outcome: outcome, Uncounted: true}) })
}

func TestUsageIsAddedUpByRunTaskFeatureAndDay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.add(dag.NewTask{Detail: dag.Detail{Title: "a"}, Feature: "login"})
	w.add(dag.NewTask{Detail: dag.Detail{Title: "b"}})
	w.use("a", 10, 1, false, "released")
	w.use("a", 20, 0, false, "limited") // what it cost nobody said
	noon := w.clock()
	w.use("b", 40, 2, true, "error")
	first := w.run
	w.update(func(g *dag.Graph) (err error) {
		w.run, err = g.History.StartRun(dag.Scope{}, dag.Process{PID: 1})
		return err
	})
	w.update(func(g *dag.Graph) error { return g.History.DescribeRun(&w.run, "{}", &first) })
	w.use("a", 80, 4, false, "released")
	open := w.claim("b") // its run knows better
	cost := 100.0
	w.update(func(g *dag.Graph) error {
		return g.History.NoteAttempt(open.Attempt, dag.Note{Usage: &event.Usage{CostUSD: &cost}})
	})

	task := w.task("a")
	usage := func(attempts int, tokens int64, cost float64, estimated bool, unpriced int, seconds int) dag.Usage {
		return dag.Usage{
			Attempts: attempts, Usage: event.Usage{TokensIn: tokens, TokensOut: tokens, CostUSD: &cost, Estimated: estimated, Unknown: unpriced > 0},
			Worked: time.Duration(seconds) * time.Second,
		}
	}
	for name, tc := range map[string]struct {
		ask  func(*dag.Graph) (dag.Usage, error)
		want dag.Usage
	}{
		"the first run":    {func(g *dag.Graph) (dag.Usage, error) { return g.History.UsageOfRun(first.ID) }, usage(2, 70, 3, true, 1, 2)},
		"the second run":   {func(g *dag.Graph) (dag.Usage, error) { return g.History.UsageOfRun(w.run.ID) }, usage(1, 80, 4, false, 0, 1)},
		"both together":    {func(g *dag.Graph) (dag.Usage, error) { return g.History.UsageOfChain(w.run.ID) }, usage(3, 150, 7, true, 1, 3)},
		"a task":           {func(g *dag.Graph) (dag.Usage, error) { return g.History.UsageOfTask(task, w.run.ID) }, usage(2, 110, 5, false, 1, 2)},
		"a feature":        {func(g *dag.Graph) (dag.Usage, error) { return g.History.UsageOfFeature("login", w.run.ID) }, usage(2, 110, 5, false, 1, 2)},
		"since a moment":   {func(g *dag.Graph) (dag.Usage, error) { return g.History.UsageSince(noon, w.run.ID) }, usage(3, 120, 6, true, 0, 2)},
		"since a while":    {func(g *dag.Graph) (dag.Usage, error) { return g.History.UsageSince(w.clock().Add(time.Hour), w.run.ID) }, dag.Usage{}},
		"of no run at all": {func(g *dag.Graph) (dag.Usage, error) { return g.History.UsageOfRun("r-none") }, dag.Usage{}},
	} {
		check.Equal(t, name, tc.want, get(w, tc.ask))
	}
	seen, sum := get(w, func(g *dag.Graph) (dag.Usage, error) { return g.History.UsageSince(noon, first.ID) }), 106.0
	check.Equal(t, "cost with another run's open attempt", &sum, seen.CostUSD)
}

func TestAResetForgetsWhatATaskHasUsed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan("a")
	w.use("a", 10, 1, false, "error")
	w.pass(time.Second)
	w.update(func(g *dag.Graph) error { return g.Tasks.Reset(w.ids["a"]) })
	w.use("a", 20, 2, false, "error")
	task := w.task("a")
	got := get(w, func(g *dag.Graph) (dag.Usage, error) { return g.History.UsageOfTask(task, w.run.ID) })
	check.That(t, got.Attempts == 1 && *got.CostUSD == 2 && got.Tokens() == 40, "got %+v", got)
}

func TestWhatDriftedAndWhatIsEstimatedIsKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan("a")
	c := w.claim("a")
	cost := 0.25
	w.update(func(g *dag.Graph) error {
		return g.History.NoteAttempt(c.Attempt, dag.Note{Usage: &event.Usage{CostUSD: &cost, Estimated: true}, Drift: []string{"repeats"}})
	})
	w.update(func(g *dag.Graph) error { return g.History.NoteAttempt(c.Attempt, dag.Note{Model: "m"}) })
	got := get(w, func(g *dag.Graph) (dag.Attempt, error) { return g.History.Attempt(c.Attempt) })
	check.Equal(t, "usage", event.Usage{CostUSD: &cost, Estimated: true}, got.Usage)
	check.Equal(t, "drift", []string{"repeats"}, got.Drift)
}

// TestWhatATaskUsedMovesWithIt to another feature, and out of all of them when the task is deleted; also what becomes known
// about an attempt when it is over is added up.
func TestWhatATaskUsedMovesWithIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.add(dag.NewTask{Detail: dag.Detail{Title: "a"}, Feature: "login"})
	w.add(dag.NewTask{Detail: dag.Detail{Title: "b"}, Feature: "other"})
	w.use("a", 10, 1, false, "released")
	w.use("b", 10, 2, true, "error")
	cost := 4.0
	task := w.task("a")
	attempt := get(w, func(g *dag.Graph) ([]dag.Attempt, error) { return g.History.Attempts(task) })[0].ID
	w.update(func(g *dag.Graph) error {
		return g.History.NoteAttempt(attempt, dag.Note{Usage: &event.Usage{CostUSD: &cost}})
	})
	want := func(login, other float64) {
		t.Helper()
		for name, want := range map[string]float64{"login": login, "other": other} {
			used := get(w, func(g *dag.Graph) (dag.Usage, error) { return g.History.UsageOfFeature(name, "") })
			check.Equal(t, name, want, used.Cost())
		}
		w.sound()
	}
	want(4, 2)
	w.update(func(g *dag.Graph) error { return g.Plan.SetFeature(w.ids["a"], "other") })
	want(0, 6)
	w.update(func(g *dag.Graph) error { return g.Plan.Delete(w.ids["a"]) })
	want(0, 2)
	used := get(w, func(g *dag.Graph) (dag.Usage, error) { return g.History.UsageOfRun(w.run.ID) })
	check.Equal(t, "of the run, which has spent it all the same", 6.0, used.Cost())
}
