//go:build unix

package bench

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"ralph/dag"
	"ralph/internal/refresh"
	"ralph/internal/taskfile"
)

// BenchmarkRefresh measures a plan that is applied to the tasks that it was imported as, each of which it changes,
// and a list of issues that is imported again, against their first imports.
func BenchmarkRefresh(b *testing.B) {
	n := sized(1_000, 10_000)
	specs := must(taskfile.Parse(planFile(n), taskfile.JSONL))
	empty, first, ours := filepath.Join(b.TempDir(), "empty.db"), filepath.Join(b.TempDir(), "first.db"), filepath.Join(b.TempDir(), "ours.db")
	check(open(b, empty, dag.Options{}).db.Close())
	imported := func() {
		copyFile(empty, first)
		s := open(b, first, determined())
		s.update(func(g *dag.Graph) error { _, err := g.Plan.Import(specs); return err })
		check(s.db.Close())
	}
	imported()
	s := open(b, first, dag.Options{})
	var changed []dag.Spec
	check(s.View(b.Context(), func(g *dag.Graph) error {
		return g.Tasks.Each(dag.Filter{}, func(t dag.Task) error {
			after, _, err := g.Tasks.BlockerIDs(t)
			changed = append(changed, dag.Spec{
				Ref: t.ID, Detail: dag.Detail{Title: t.Title + " again", Description: t.Description, Priority: t.Priority + 1, Kind: t.Kind, Gates: t.Gates}, Parent: t.Parent, After: after,
				Feature: t.Feature, Status: t.Status,
			})
			return err
		})
	}))
	check(s.db.Close())
	apply := func(specs []dag.Spec, want int) func() {
		return func() {
			copyFile(first, ours)
			s := open(b, ours, determined())
			s.update(func(g *dag.Graph) error {
				done, err := g.Plan.Apply(dag.Wanted{Specs: specs, Key: dag.ByID, Busy: dag.Postpone})
				if len(done.Changed) != want && err == nil {
					err = fmt.Errorf("%d tasks changed, want %d", len(done.Changed), want)
				}
				return err
			})
			check(s.db.Close())
		}
	}
	one := append([]dag.Spec{}, changed[0])
	issues := make([]dag.Spec, n) // as a tracker has them
	for i, s := range specs {
		issues[i] = s
		issues[i].Ref, issues[i].Origin = fmt.Sprint("#", i), fmt.Sprint("github:octo/app#", i)
		issues[i].Parent, issues[i].After = "", nil
	}
	again := slices.Clone(issues)
	for i := range again {
		again[i].Title += " again"
	}
	tracked := func() {
		copyFile(empty, first)
		s := open(b, first, dag.Options{})
		s.update(func(g *dag.Graph) error {
			_, err := refresh.Import(g, slices.Clone(issues), refresh.Place{})
			return err
		})
		check(s.db.Close())
	}
	refreshed := func(specs []dag.Spec, want int) func() {
		return func() {
			copyFile(first, ours)
			s := open(b, ours, dag.Options{})
			s.update(func(g *dag.Graph) error {
				done, err := refresh.Import(g, slices.Clone(specs), refresh.Place{Update: true})
				if len(done.Changed) != want && err == nil {
					err = fmt.Errorf("%d tasks changed, want %d", len(done.Changed), want)
				}
				return err
			})
			check(s.db.Close())
		}
	}
	for b.Loop() {
		costs := inTurns(5, here(imported), here(apply(changed, n)), here(apply(one, 1)))
		t := newTable(b)
		for i, what := range []string{"all", "one"} {
			i++
			t.row(fmt.Sprintf("%s of %d tasks changed by a file", what, n), show(costs[i].cpu), show(costs[0].cpu)+" first import", times(costs[i].cpu, costs[0].cpu), below(ratio(costs[i].cpu, costs[0].cpu), 2))
		}
		tracked()
		costs = inTurns(5, here(tracked), here(refreshed(again, n)), here(refreshed(issues, 0)))
		for i, what := range []string{"all", "none"} {
			i++
			t.row(fmt.Sprintf("%d issues imported again, %s changed", n, what), show(costs[i].cpu), show(costs[0].cpu)+" first import", times(costs[i].cpu, costs[0].cpu), below(ratio(costs[i].cpu, costs[0].cpu), 2))
		}
	}
}
