package dag_test

import (
	"errors"
	"testing"

	"ralph/dag"
	"ralph/internal/testing/check"
)

// TestAProofStandsWhileItsTaskIsDone by the attempt that showed it.
func TestAProofStandsWhileItsTaskIsDone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.add(dag.NewTask{Detail: dag.Detail{Title: "one", Proves: []string{"c2", "C1", "C1"}}, Feature: "f"})
	task := get(w, func(g *dag.Graph) (dag.Task, error) { return g.Tasks.Get(w.ids["one"]) })
	check.Equal(t, "criteria", []string{"C1", "C2"}, task.Proves)
	standing := func() (list []string) {
		for _, p := range get(w, func(g *dag.Graph) ([]dag.Proof, error) { return g.Plan.Proofs("f") }) {
			if p.Standing {
				list = append(list, p.Criterion+" "+string(p.Kind)+" "+p.Shown)
			}
		}
		return list
	}
	prove := func(c dag.Claim, shown string) {
		w.update(func(g *dag.Graph) error {
			return g.Plan.SetProofs(c, []dag.Proof{{Criterion: "C1", Text: "one", Kind: dag.ProofTest, Shown: shown}, {Criterion: "C3", Text: "three", Kind: dag.ProofPartial, Shown: shown}})
		})
	}
	first := w.claim("one")
	prove(first, "first")
	check.Equal(t, "while it is worked on", []string(nil), standing())
	w.update(func(g *dag.Graph) error { return g.Queue.Complete(first, "passed") })
	check.Equal(t, "when it is done", []string{"C1 test first", "C3 partial first"}, standing())
	w.update(func(g *dag.Graph) error { return g.Tasks.Reset(w.ids["one"]) })
	check.Equal(t, "when it is open again", []string(nil), standing())
	second := w.claim("one")
	w.update(func(g *dag.Graph) error { return g.Queue.Complete(second, "skipped") })
	check.Equal(t, "when it was done without a look", []string(nil), standing())
	w.update(func(g *dag.Graph) error { return g.Tasks.Reset(w.ids["one"]) })
	third := w.claim("one")
	prove(third, "again")
	prove(third, "at last")
	w.update(func(g *dag.Graph) error { return g.Queue.Complete(third, "passed") })
	check.Equal(t, "when it was shown anew", []string{"C1 test at last", "C3 partial at last"}, standing())
	w.update(func(g *dag.Graph) error {
		return g.Plan.Prove("f", dag.Proof{Criterion: "C2", Text: "two", Author: "ann", Shown: "seen"})
	})
	check.Equal(t, "with a person's word", []string{"C1 test at last", "C2 person seen", "C3 partial at last"}, standing())
	had := false
	w.update(func(g *dag.Graph) (err error) { had, err = g.Plan.WithdrawProof("f", "C2"); return err })
	check.Equal(t, "withdrawn", true, had)
	check.Equal(t, "afterwards", []string{"C1 test at last", "C3 partial at last"}, standing())
	err := w.try(func(g *dag.Graph) error { return g.Plan.Prove("g", dag.Proof{Criterion: "C1"}) })
	check.Equal(t, "no such feature", true, errors.Is(err, dag.ErrNotFound))
}
