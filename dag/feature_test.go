package dag_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"ralph/dag"
	"ralph/internal/event"
	"ralph/internal/testing/check"
)

func TestFeatureNames(t *testing.T) {
	t.Parallel()
	tests := map[string]bool{
		"a": true, "Auth2": true, "user-login": true, "v1.2_x": true, "9lives": true, strings.Repeat("x", 64): true,
		"": false, strings.Repeat("x", 65): false, ".": false, "..": false, "a..b": false, "a.": false, "-a": false,
		"a/b": false, `a\b`: false, "a b": false, "ä": false, "a\n": false, "a\x00": false,
		"t-1": false, "T-x": false, "f-00000001": false, "r-a": false, "a-b": false, "x-t-1": true,
	}
	for name, ok := range tests {
		if err := dag.CheckFeatureName(name); (err == nil) != ok || (!ok && !errors.Is(err, dag.ErrRefused)) {
			t.Errorf("%q: got %v, want good: %v", name, err, ok)
		}
	}
}

func TestAFeatureIsOneWhateverTheCaseOfItsName(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var made dag.Feature
	w.update(func(g *dag.Graph) (err error) { made, err = g.Plan.AddFeature("Auth"); return err })
	want := dag.Feature{N: 1, ID: made.ID, Name: "Auth", Status: dag.FeatureDraft, Tasks: map[dag.Status]int{}, Groups: map[dag.Status]int{}, CreatedAt: start, UpdatedAt: start}
	check.Equal(t, "feature", want, made)
	w.refused(dag.ErrRefused, func(g *dag.Graph) error { _, err := g.Plan.AddFeature("auth"); return err })
	for _, typed := range []string{"AUTH", made.ID, made.ID[:5]} {
		check.Equal(t, typed, want, get(w, func(g *dag.Graph) (dag.Feature, error) { return g.Plan.Feature(typed) }))
	}
	w.refused(dag.ErrNotFound, func(g *dag.Graph) error { _, err := g.Plan.Feature("nobody"); return err })
}

func TestATaskHasItsParentsFeature(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan("group feature f", "a in group", "b in a", "other feature g", "free")
	w.refused(dag.ErrRefused, func(g *dag.Graph) error {
		_, err := g.Plan.Add(dag.NewTask{Detail: dag.Detail{Title: "x"}, Parent: w.id("group"), Feature: "g"})
		return err
	})
	w.refused(dag.ErrNotFound, func(g *dag.Graph) error {
		_, err := g.Plan.Add(dag.NewTask{Detail: dag.Detail{Title: "x"}, Feature: "nobody"})
		return err
	})
	w.refused(dag.ErrRefused, func(g *dag.Graph) error { return g.Plan.SetFeature(w.id("a"), "g") })
	w.refused(dag.ErrNotFound, func(g *dag.Graph) error { return g.Plan.SetFeature(w.id("group"), "nobody") })
	w.pass(time.Minute)
	steps := []struct {
		do   func(g *dag.Graph) error
		want string // the feature of b
	}{
		{func(g *dag.Graph) error { return g.Plan.SetFeature(w.id("group"), "G") }, "g"},
		{func(g *dag.Graph) error { return g.Plan.SetFeature(w.id("group"), "") }, ""},
		{func(g *dag.Graph) error { return g.Plan.Move(w.id("a"), w.id("other")) }, "g"},
		{func(g *dag.Graph) error { return g.Plan.Move(w.id("a"), "") }, "g"},
		{func(g *dag.Graph) error { return g.Plan.Move(w.id("a"), w.id("free")) }, ""},
	}
	for i, step := range steps {
		w.update(step.do)
		check.Equal(t, fmt.Sprint("feature after step ", i), step.want, w.task("b").Feature)
		w.sound()
	}
	w.update(func(g *dag.Graph) error { return g.Plan.DeleteFeature("f") })
	w.refused(dag.ErrNotFound, func(g *dag.Graph) error { return g.Plan.DeleteFeature("f") })
}

func TestOnlyPlanningIsAStage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan("group feature f", "a in group")
	w.refused(dag.ErrRefused, func(g *dag.Graph) error { return g.Plan.SetStage("f", dag.FeatureDone) })
	w.refused(dag.ErrNotFound, func(g *dag.Graph) error { return g.Plan.SetStage("nobody", dag.FeaturePlanned) })
	w.update(func(g *dag.Graph) error { return g.Plan.SetStage("f", dag.FeaturePlanned) })
	w.wantFeature("f", dag.FeatureReady)
	w.claim("a")
	w.refused(dag.ErrRefused, func(g *dag.Graph) error { return g.Plan.ClearFeature("f") })
	w.wantFeature("f", dag.FeatureRunning)
	w.person(reset, "a")
	w.update(func(g *dag.Graph) error { return g.Plan.ClearFeature("f") })
	w.wantFeature("f", dag.FeaturePlanned)
	w.update(func(g *dag.Graph) error { return g.Plan.SetStage("f", dag.FeatureDraft) })
	w.wantFeature("f", dag.FeatureDraft)
	w.sound()
}

func TestWhatAFeatureCostIsTheSumOfItsAttemptsThoseUnderWayToo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan("group feature f", "a in group", "b in group", "other feature g")
	cost := func(feature string) *float64 {
		return get(w, func(g *dag.Graph) (dag.Usage, error) { return g.History.UsageOfFeature(feature, "") }).CostUSD
	}
	check.Equal(t, "cost of nothing", (*float64)(nil), cost("f"))
	for title, price := range map[string]float64{"a": 0.25, "b": 0.5, "other": 4} {
		claim := w.claim(title)
		w.update(func(g *dag.Graph) error {
			return g.History.NoteAttempt(claim.Attempt, dag.Note{Usage: &event.Usage{CostUSD: &price}})
		})
	}
	sum := 0.75
	check.Equal(t, "cost", &sum, cost("F"))
	w.refused(dag.ErrNotFound, func(g *dag.Graph) error { _, err := g.History.UsageOfFeature("nobody", ""); return err })
}
