package dag_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ralph/dag"
	"ralph/event"
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
	w.update(func(g *dag.Graph) error { return g.NoteAttempt(c.Attempt, note) })
	w.pass(time.Second)
	w.update(func(g *dag.Graph) error { return g.Release(c, dag.Release{Outcome: outcome, Uncounted: true}) })
}

func TestUsageIsAddedUpByRunTaskFeatureAndDay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.add(dag.NewTask{Title: "a", Feature: "login"})
	w.add(dag.NewTask{Title: "b"})
	w.use("a", 10, 1, false, "released")
	w.use("a", 20, 0, false, "limited") // what it cost nobody said
	noon := w.clock()
	w.use("b", 40, 2, true, "error")
	first := w.run
	w.update(func(g *dag.Graph) (err error) { w.run, err = g.StartRun(dag.Scope{}, dag.Process{PID: 1}); return err })
	w.update(func(g *dag.Graph) error { return g.DescribeRun(&w.run, "{}", &first) })
	w.use("a", 80, 4, false, "released")
	open := w.claim("b") // its run knows better
	cost := 100.0
	w.update(func(g *dag.Graph) error {
		return g.NoteAttempt(open.Attempt, dag.Note{Usage: &event.Usage{CostUSD: &cost}})
	})

	f := func(v float64) *float64 { return &v }
	usage := func(attempts int, tokens int64, cost float64, estimated bool, unpriced int, seconds int) dag.Usage {
		return dag.Usage{
			Attempts: attempts, Usage: event.Usage{TokensIn: tokens, TokensOut: tokens, CostUSD: f(cost), Estimated: estimated, Unknown: unpriced > 0},
			Worked: time.Duration(seconds) * time.Second,
		}
	}
	for name, tc := range map[string]struct {
		ask  func(*dag.Graph) (dag.Usage, error)
		want dag.Usage
	}{
		"the first run":  {func(g *dag.Graph) (dag.Usage, error) { return g.UsageOfRun(first.ID) }, usage(2, 70, 3, true, 1, 2)},
		"the second run": {func(g *dag.Graph) (dag.Usage, error) { return g.UsageOfRun(w.run.ID) }, usage(1, 80, 4, false, 0, 1)},
		"both, the second continues the first": {
			func(g *dag.Graph) (dag.Usage, error) { return g.UsageOfChain(w.run.ID) }, usage(3, 150, 7, true, 1, 3),
		},
		"a task": {func(g *dag.Graph) (dag.Usage, error) {
			task, err := g.Task(w.ids["a"])
			if err != nil {
				return dag.Usage{}, err
			}
			return g.UsageOfTask(task, w.run.ID)
		}, usage(2, 110, 5, false, 1, 2)},
		"a feature":        {func(g *dag.Graph) (dag.Usage, error) { return g.UsageOfFeature("login", w.run.ID) }, usage(2, 110, 5, false, 1, 2)},
		"since a moment":   {func(g *dag.Graph) (dag.Usage, error) { return g.UsageSince(noon, w.run.ID) }, usage(3, 120, 6, true, 0, 2)},
		"since a while":    {func(g *dag.Graph) (dag.Usage, error) { return g.UsageSince(w.clock().Add(time.Hour), w.run.ID) }, dag.Usage{}},
		"of no run at all": {func(g *dag.Graph) (dag.Usage, error) { return g.UsageOfRun("r-none") }, dag.Usage{}},
	} {
		got := get(w, func(g *dag.Graph) (dag.Usage, error) { return tc.ask(g) })
		check.Equal(t, name, tc.want, got)
	}
	seen := get(w, func(g *dag.Graph) (dag.Usage, error) { return g.UsageSince(noon, first.ID) })
	if seen.CostUSD == nil || *seen.CostUSD != 106 {
		t.Errorf("another run's open attempt is not seen: %v", seen.CostUSD)
	}
}

func TestAResetForgetsWhatATaskHasUsed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan("a")
	w.use("a", 10, 1, false, "error")
	w.pass(time.Second)
	w.update(func(g *dag.Graph) error { return g.Reset(w.ids["a"]) })
	w.use("a", 20, 2, false, "error")
	var got dag.Usage
	w.view(func(g *dag.Graph) error {
		task, err := g.Task(w.ids["a"])
		if err != nil {
			return err
		}
		got, err = g.UsageOfTask(task, w.run.ID)
		return err
	})
	if got.Attempts != 1 || *got.CostUSD != 2 || got.Tokens() != 40 {
		t.Errorf("got %+v", got)
	}
}

func TestWhatDriftedAndWhatIsEstimatedIsKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan("a")
	c := w.claim("a")
	cost := 0.25
	w.update(func(g *dag.Graph) error {
		return g.NoteAttempt(c.Attempt, dag.Note{Usage: &event.Usage{CostUSD: &cost, Estimated: true}, Drift: []string{"repeats"}})
	})
	w.update(func(g *dag.Graph) error { return g.NoteAttempt(c.Attempt, dag.Note{Model: "m"}) })
	list := get(w, func(g *dag.Graph) ([]dag.Attempt, error) { return g.Attempts(c.Task) })
	if len(list) != 1 || !list[0].Estimated || *list[0].CostUSD != cost || !cmp.Equal(list[0].Drift, []string{"repeats"}) {
		t.Errorf("got %+v", list)
	}
}
