package dag_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"ralph/dag"
	"ralph/internal/testing/raced"
)

// FuzzImport feeds random plans to a graph that has some tasks already. The laws:
// it never panics; a plan is refused with a PlanError and nothing changed, or all
// of it is there, in its order, and everything derived is right.
func FuzzImport(f *testing.F) {
	dir, ctx := f.TempDir(), f.Context()
	var files atomic.Int64
	f.Fuzz(rapid.MakeFuzz(func(rt *rapid.T) {
		w := openWorld(ctx, rt, filepath.Join(dir, fmt.Sprint(files.Add(1))))
		defer w.close()
		importLaws(rt, w)
	}))
}

// TestImportLaws is the same without a fuzzer.
func TestImportLaws(t *testing.T) {
	raced.Long(t, "one plan after the other is imported here")
	t.Parallel()
	checkWorlds(t, importLaws)
}

func importLaws(rt *rapid.T, w *world) {
	w.plan("early feature f", "inner in early", "late after early", "leaf in late", "done in late", "running", "failed")
	w.person(finish, "inner")
	w.person(finish, "done")
	w.person(giveUp, "failed")
	w.take("leaf", dag.ClaimOptions{})
	specs := drawPlan(rt, w)
	before := w.dump()
	var ids []string
	err := w.try(func(g *dag.Graph) (err error) { ids, err = g.Plan.Import(specs); return err })
	if err != nil {
		var plan dag.PlanError
		if !errors.As(err, &plan) || !errors.Is(err, dag.ErrRefused) {
			rt.Fatalf("got %v, want a PlanError", err)
		}
		if err.Error() == "" || strings.Contains(err.Error(), "\n") && !strings.Contains(fmt.Sprint(specs), "\n") {
			rt.Fatalf("not one line: %q", err)
		}
		if diff := cmp.Diff(before, w.dump()); diff != "" {
			rt.Fatalf("a refused plan changed something:\n%s", diff)
		}
		return
	}
	if len(ids) != len(specs) {
		rt.Fatalf("got %d IDs of %d tasks", len(ids), len(specs))
	}
	last := int64(0)
	for i, id := range ids {
		t := w.task(id)
		if t.N <= last || t.Title != specs[i].Title || t.Description != specs[i].Description || t.Priority != specs[i].Priority {
			rt.Fatalf("got %+v, want %+v", t, specs[i])
		}
		last = t.N
	}
	w.sound()
}

// drawPlan makes plans of which about half are good.
func drawPlan(rt *rapid.T, w *world) []dag.Spec {
	wild := rapid.IntRange(0, 3).Draw(rt, "wild") == 0
	text := rapid.SampledFrom([]string{"a", "title", "two\nlines"})
	refs := []string{"a", "b", "c", "d", "e", "t-0000abcd"}
	names := []string{"", "", "early", "inner", "late", "leaf", "done", "running", "failed"}
	if wild {
		text = rapid.OneOf(text, rapid.String(), rapid.Just(""), rapid.Just("\xff"), rapid.Just("x\x00"))
		refs = append(refs, "", "", "a")
		names = append(names, "nobody", "t-", "T-00000003")
	}
	specs := make([]dag.Spec, rapid.IntRange(0, 6).Draw(rt, "specs"))
	for i := range specs {
		ref := rapid.SampledFrom(refs).Draw(rt, "ref")
		if !wild {
			ref = refs[i]
		}
		reference := rapid.OneOf(rapid.SampledFrom(refs), rapid.SampledFrom(names))
		specs[i] = dag.Spec{
			Line: i + 1, Ref: ref, Detail: dag.Detail{
				Title: text.Draw(rt, "title"), Description: text.Draw(rt, "description"),
				Priority: rapid.Int64().Draw(rt, "priority"), Kind: rapid.SampledFrom([]dag.Kind{"", dag.Work, dag.Check}).Draw(rt, "kind"),
			}, Parent: w.id(reference.Draw(rt, "parent")),
			Status: rapid.SampledFrom(append(dag.Statuses(), "")).Draw(rt, "status"),
		}
		if specs[i].Parent == ref {
			specs[i].Parent = ""
		}
		for range rapid.IntRange(0, 2).Draw(rt, "blockers") {
			if name := w.id(reference.Draw(rt, "after")); name != "" && name != ref {
				specs[i].After = append(specs[i].After, name)
			}
		}
		if rapid.IntRange(0, 5).Draw(rt, "has a feature") == 0 {
			specs[i].Feature = rapid.SampledFrom([]string{"f", "F", "new", "t-x", "../up"}).Draw(rt, "feature")
		}
	}
	return specs
}
