package dag_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ralph/dag"
	"ralph/event"
	"ralph/internal/testing/check"
)

func TestPlanningIsCountedForItsFeatureAndTheDay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.update(func(g *dag.Graph) error { _, err := g.AddFeature("login"); return err })
	dead := dag.Planning{Step: "spec", Feature: "login", Agent: "x", Model: "big", ModelEffective: "bigger"}
	w.update(func(g *dag.Graph) error { return g.BeginPlanning(&dead) })
	w.pass(time.Hour)
	noon := w.clock()
	in, out, cost := int64(10), int64(5), 0.5
	p := dag.Planning{Step: "build", Agent: "y"}
	w.update(func(g *dag.Graph) error { return g.BeginPlanning(&p) })
	p.ModelEffective, p.Worked, p.Usage = "small", time.Minute, event.Usage{TokensIn: in, TokensOut: out, CostUSD: &cost, Estimated: true}
	w.pass(time.Hour)
	w.update(func(g *dag.Graph) error { return g.NotePlanning(p, true) })
	p.EndedAt = w.clock()
	w.view(func(g *dag.Graph) error {
		list, err := g.Plannings()
		check.Equal(t, "result", []dag.Planning{dead, p}, list)
		return err
	})
	for name, tc := range map[string]struct {
		ask  func(*dag.Graph) (dag.Usage, error)
		want dag.Usage
	}{
		"of a session that never told":  {func(g *dag.Graph) (dag.Usage, error) { return g.UsageOfFeature("login", "") }, dag.Usage{Usage: event.Usage{Unknown: true}}},
		"of a day, or a part of it":     {func(g *dag.Graph) (dag.Usage, error) { return g.UsageSince(noon, "") }, dag.Usage{Usage: event.Usage{TokensIn: in, TokensOut: out, CostUSD: &cost, Estimated: true}, Worked: time.Minute}},
		"of two sessions, one of which": {func(g *dag.Graph) (dag.Usage, error) { return g.UsageSince(start, "") }, dag.Usage{Usage: event.Usage{TokensIn: in, TokensOut: out, CostUSD: &cost, Estimated: true, Unknown: true}, Worked: time.Minute}},
	} {
		got := get(w, func(g *dag.Graph) (dag.Usage, error) { return tc.ask(g) })
		check.Equal(t, name, tc.want, got)
	}
	w.update(func(g *dag.Graph) error { return g.DeleteFeature("login") })
	w.update(func(g *dag.Graph) error { _, err := g.AddFeature("login"); return err })
	w.view(func(g *dag.Graph) error {
		if u, err := g.UsageOfFeature("login", ""); err != nil || u != (dag.Usage{}) {
			t.Errorf("a feature that is made anew has cost %+v, %v", u, err)
		}
		return nil
	})
	w.refused(dag.ErrNotFound, func(g *dag.Graph) error { return g.NotePlanning(dag.Planning{ID: "p-none"}, true) })
	w.refused(dag.ErrNotFound, func(g *dag.Graph) error { return g.BeginPlanning(&dag.Planning{Step: "plan", Feature: "nobody"}) })
}

// A feature and a day count what has begun, and tasks that are failed now.
func TestFailuresInARowAreForgottenByADoneTaskAndByAReset(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, title := range []string{"a", "b", "c", "d", "e"} {
		w.add(dag.NewTask{Title: title, Feature: "login"})
	}
	want := func(attempts, failures int) {
		t.Helper()
		var of, since dag.Usage
		w.view(func(g *dag.Graph) (err error) {
			if of, err = g.UsageOfFeature("login", w.run.ID); err == nil {
				since, err = g.UsageSince(start, w.run.ID)
			}
			return err
		})
		for name, u := range map[string]dag.Usage{"feature": of, "day": since} {
			if u.Attempts != attempts || u.Failures != failures {
				t.Errorf("%s: got %d attempts and %d failures, want %d and %d", name, u.Attempts, u.Failures, attempts, failures)
			}
		}
	}
	end := func(title string, how func(*dag.Graph, dag.Claim) error) {
		t.Helper()
		c := w.claim(title)
		w.pass(time.Second)
		w.update(func(g *dag.Graph) error { return how(g, c) })
	}
	fail := func(g *dag.Graph, c dag.Claim) error { return g.Fail(c, "no") }
	end("a", fail)
	end("b", func(g *dag.Graph, c dag.Claim) error {
		return g.Release(c, dag.Release{Outcome: "limited", Uncounted: true})
	})
	end("b", fail)
	want(2, 2)
	end("c", func(g *dag.Graph, c dag.Claim) error { return g.Complete(c, "passed") })
	want(3, 0)
	end("d", fail)
	w.claim("e")
	want(5, 1)
	w.update(func(g *dag.Graph) error { return g.Reset(w.ids["d"]) })
	want(5, 0)
}

func TestSharesOfAnAttemptAreListedByAgentAndModel(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.add(dag.NewTask{Title: "a"})
	c := w.claim("a")
	in, cost, all, unknown := int64(7), 0.25, 0.5, true
	shares := []dag.Share{{Agent: "x", Model: "small", TokensIn: in, Unknown: true}, {Agent: "y", Model: "big", CostUSD: &cost, Estimated: true}}
	w.update(func(g *dag.Graph) error {
		return g.NoteAttempt(c.Attempt, dag.Note{Agent: "x", Usage: &event.Usage{CostUSD: &all, Unknown: unknown}, Shares: shares})
	})
	list := get(w, func(g *dag.Graph) ([]dag.Receipt, error) { return g.Receipts(dag.ReceiptFilter{}) })
	if len(list) != 1 || !cmp.Equal(list[0].Shares, shares) {
		t.Fatalf("got %+v, want the shares as they were stored", list)
	}
	parts := list[0].Split()
	if len(parts) != 2 || parts[0].Part || !parts[1].Part {
		t.Fatalf("got %+v, want two, of which the first is the attempt", parts)
	}
	for i, p := range parts {
		got := dag.Share{
			Agent: p.Agent, Model: p.ModelEffective, TokensIn: p.TokensIn, TokensCached: p.TokensCached, TokensOut: p.TokensOut,
			CostUSD: p.CostUSD, Estimated: p.Estimated, Unknown: p.Unknown,
		}
		if diff := cmp.Diff(shares[i], got); diff != "" || p.Task != c.Task.ID || p.ID != c.Attempt {
			t.Errorf("%s of %s (-want +got):\n%s", p.ID, p.Task, diff)
		}
	}
	if alone := (dag.Receipt{ID: "a-1", Agent: "x"}).Split(); len(alone) != 1 || alone[0].Agent != "x" {
		t.Errorf("got %+v, want what is one agent's as it is", alone)
	}
}
