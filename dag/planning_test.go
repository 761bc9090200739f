package dag_test

import (
	"testing"
	"time"

	"ralph/dag"
	"ralph/internal/event"
	"ralph/internal/testing/check"
)

func TestPlanningIsCountedForItsFeatureAndTheDay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.update(func(g *dag.Graph) error { _, err := g.Plan.AddFeature("login"); return err })
	dead := dag.Planning{Step: "spec", Feature: "login", Agent: "x", Model: "big", ModelEffective: "bigger"}
	w.update(func(g *dag.Graph) error { return g.Plan.BeginPlanning(&dead) })
	w.pass(time.Hour)
	noon := w.clock()
	in, out, cost := int64(10), int64(5), 0.5
	p := dag.Planning{Step: "build", Agent: "y"}
	w.update(func(g *dag.Graph) error { return g.Plan.BeginPlanning(&p) })
	p.ModelEffective, p.Worked, p.Usage = "small", time.Minute, event.Usage{TokensIn: in, TokensOut: out, CostUSD: &cost, Estimated: true}
	w.pass(time.Hour)
	w.update(func(g *dag.Graph) error { return g.Plan.NotePlanning(p, true) })
	p.EndedAt = w.clock()
	check.Equal(t, "sessions", []dag.Planning{dead, p}, get(w, func(g *dag.Graph) ([]dag.Planning, error) { return g.Plan.Plannings() }))
	for name, tc := range map[string]struct {
		ask  func(*dag.Graph) (dag.Usage, error)
		want dag.Usage
	}{
		"of a session without a report": {func(g *dag.Graph) (dag.Usage, error) { return g.History.UsageOfFeature("login", "") }, dag.Usage{Usage: event.Usage{Unknown: true}}},
		"of a day, or a part of it":     {func(g *dag.Graph) (dag.Usage, error) { return g.History.UsageSince(noon, "") }, dag.Usage{Usage: event.Usage{TokensIn: in, TokensOut: out, CostUSD: &cost, Estimated: true}, Worked: time.Minute}},
		"of two sessions, one of which": {func(g *dag.Graph) (dag.Usage, error) { return g.History.UsageSince(start, "") }, dag.Usage{Usage: event.Usage{TokensIn: in, TokensOut: out, CostUSD: &cost, Estimated: true, Unknown: true}, Worked: time.Minute}},
	} {
		check.Equal(t, name, tc.want, get(w, tc.ask))
	}
	w.update(func(g *dag.Graph) error { return g.Plan.DeleteFeature("login") })
	w.update(func(g *dag.Graph) error { _, err := g.Plan.AddFeature("login"); return err })
	again := get(w, func(g *dag.Graph) (dag.Usage, error) { return g.History.UsageOfFeature("login", "") })
	check.Equal(t, "usage of another feature of that name", dag.Usage{}, again)
	w.refused(dag.ErrNotFound, func(g *dag.Graph) error { return g.Plan.NotePlanning(dag.Planning{ID: "p-none"}, true) })
	w.refused(dag.ErrNotFound, func(g *dag.Graph) error { return g.Plan.BeginPlanning(&dag.Planning{Step: "plan", Feature: "nobody"}) })
}

// A feature and a day count what has begun, and tasks that are failed now.
func TestFailuresInARowAreForgottenByADoneTaskAndByAReset(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, title := range []string{"a", "b", "c", "d", "e"} {
		w.add(dag.NewTask{Detail: dag.Detail{Title: title}, Feature: "login"})
	}
	want := func(attempts, failures int) {
		t.Helper()
		of := get(w, func(g *dag.Graph) (dag.Usage, error) { return g.History.UsageOfFeature("login", w.run.ID) })
		since := get(w, func(g *dag.Graph) (dag.Usage, error) { return g.History.UsageSince(start, w.run.ID) })
		check.Equal(t, "attempts and failures of the feature", [2]int{attempts, failures}, [2]int{of.Attempts, of.Failures})
		check.Equal(t, "attempts and failures of the day", [2]int{attempts, failures}, [2]int{since.Attempts, since.Failures})
	}
	end := func(title string, how func(*dag.Graph, dag.Claim) error) {
		t.Helper()
		c := w.claim(title)
		w.pass(time.Second)
		w.update(func(g *dag.Graph) error { return how(g, c) })
	}
	fail := func(g *dag.Graph, c dag.Claim) error { return g.Queue.Fail(c, "no") }
	end("a", fail)
	end("b", func(g *dag.Graph, c dag.Claim) error {
		return g.Queue.Release(c, dag.Release{Outcome: "limited", Uncounted: true})
	})
	end("b", fail)
	want(2, 2)
	end("c", func(g *dag.Graph, c dag.Claim) error { return g.Queue.Complete(c, "passed") })
	want(3, 0)
	end("d", fail)
	w.claim("e")
	want(5, 1)
	w.update(func(g *dag.Graph) error { return g.Tasks.Reset(w.ids["d"]) })
	want(5, 0)
}

func TestSharesOfAnAttemptAreListedByAgentAndModel(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.add(dag.NewTask{Detail: dag.Detail{Title: "a"}})
	c := w.claim("a")
	cost, all := 0.25, 0.5
	shares := []dag.Share{{Agent: "x", Model: "small", TokensIn: 7, Unknown: true}, {Agent: "y", Model: "big", CostUSD: &cost, Estimated: true}}
	w.update(func(g *dag.Graph) error {
		return g.History.NoteAttempt(c.Attempt, dag.Note{Agent: "x", Usage: &event.Usage{CostUSD: &all, Unknown: true}, Shares: shares})
	})
	whole := get(w, func(g *dag.Graph) ([]dag.Receipt, error) { return g.History.Receipts(dag.ReceiptFilter{}) })[0]
	check.Equal(t, "stored shares", shares, whole.Shares)
	first, second := whole, dag.Receipt{Title: "a", Part: true, Attempt: dag.Attempt{ID: c.Attempt, Run: w.run.ID, Task: c.Task.ID, StartedAt: start}}
	first.Shares, first.Model, first.ModelEffective, first.Usage = nil, "small", "small", event.Usage{TokensIn: 7, Unknown: true}
	second.Agent, second.Model, second.ModelEffective, second.Usage = "y", "big", "big", event.Usage{CostUSD: &cost, Estimated: true}
	check.Equal(t, "parts", []dag.Receipt{first, second}, whole.Split())
	alone := dag.Receipt{Attempt: dag.Attempt{ID: "a-1", Agent: "x"}}
	check.Equal(t, "what is one agent's", []dag.Receipt{alone}, alone.Split())
}
