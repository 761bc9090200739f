package dag_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"ralph/dag"
)

// TestRandomOperationsAgreeWithTheModel runs random operations on a real file
// and, after each one, compares all that can be seen with the naive model.
func TestRandomOperationsAgreeWithTheModel(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var files atomic.Int64
	rapid.Check(t, func(rt *rapid.T) {
		w := openWorld(rt, t.Context(), filepath.Join(dir, fmt.Sprint(files.Add(1))))
		defer w.close()
		x := newMachine(rt, w)
		rt.Repeat(map[string]func(*rapid.T){
			"":            x.compare,
			"add":         x.add,
			"add more":    x.add,
			"link":        x.link,
			"link more":   x.link,
			"unlink":      x.unlink,
			"claim":       x.claim,
			"claim more":  x.claim,
			"heartbeat":   x.heartbeat,
			"complete":    x.complete,
			"fail":        x.fail,
			"release":     x.release,
			"retry":       x.retry,
			"finish":      x.byHand(finish, (*model).finish),
			"give up":     x.byHand(giveUp, (*model).giveUp),
			"block":       x.byHand(block, (*model).block),
			"unblock":     x.byHand(unblock, (*model).unblock),
			"reset":       x.byHand(reset, (*model).resetByHand),
			"reset tree":  x.resetTree,
			"reset all":   x.resetFailed,
			"delete":      x.remove,
			"delete tree": x.removeTree,
			"move":        x.move,
			"set feature": x.setFeature,
			"edit":        x.edit,
			"import":      x.importPlan,
			"time passes": x.pass,
		})
	})
}

// machine does each operation to the file and to the model.
type machine struct {
	w      *world
	m      *model
	claims []heldClaim
}

type heldClaim struct {
	dag.Claim
	serial int
}

func newMachine(rt *rapid.T, w *world) *machine {
	x := &machine{w: w, m: newModel(w.clock(), "alpha", "beta")}
	for _, name := range x.m.features {
		w.update(func(g *dag.Graph) error { _, err := g.AddFeature(name); return err })
	}
	if rapid.Bool().Draw(rt, "begin with groups in groups") {
		x.addPlan(rt, []dag.Spec{
			{Line: 1, Ref: "top", Title: "top"}, {Line: 2, Ref: "group", Title: "group", Parent: "top"},
			{Line: 3, Ref: "inner", Title: "inner", Parent: "group"}, {Line: 4, Ref: "a", Title: "a", Parent: "inner"},
			{Line: 5, Ref: "b", Title: "b", Parent: "inner"}, {Line: 6, Ref: "c", Title: "c", Parent: "group"},
			{Line: 7, Ref: "later", Title: "later", After: []string{"group"}}, {Line: 8, Ref: "d", Title: "d", Parent: "later"},
		})
	}
	return x
}

// some draws a task, or "" if there is none.
func (x *machine) some(rt *rapid.T, label string) string {
	ids := x.m.ids()
	if len(ids) == 0 {
		rt.Skip("no task yet")
	}
	return rapid.SampledFrom(ids).Draw(rt, label)
}

// maybe draws a task or "".
func (x *machine) maybe(rt *rapid.T, label string) string {
	if len(x.m.tasks) == 0 || rapid.Bool().Draw(rt, "no "+label) {
		return ""
	}
	return x.some(rt, label)
}

func (x *machine) feature(rt *rapid.T) string {
	return rapid.SampledFrom(append([]string{"", ""}, x.m.features...)).Draw(rt, "feature")
}

// agree demands that file and model gave the same verdict.
func (x *machine) agree(rt *rapid.T, got, want error) {
	rt.Helper()
	ok := false
	switch want { //nolint:errorlint // the model's own verdicts
	case nil:
		ok = got == nil
	case errRefused:
		ok = errors.Is(got, dag.ErrRefused)
	case errLost:
		ok = errors.Is(got, dag.ErrLost)
	case errCycle:
		var cycle *dag.CycleError
		ok = errors.As(got, &cycle) && errors.Is(got, dag.ErrRefused)
	}
	if !ok {
		rt.Fatalf("got %v, want %v", got, want)
	}
}

// seen is everything of a task that the model has an opinion about.
type seen struct {
	ID, Parent, Feature           string
	Status                        dag.Status
	Priority                      int64
	Children, OpenDeps, Retries   int
	Held, Doomed, Claimed, Future bool
	Ready                         bool
}

func (x *machine) compare(rt *rapid.T) {
	now := x.w.clock()
	var got, want []seen
	x.w.t = rt
	x.w.view(func(g *dag.Graph) error {
		list, err := g.List(dag.Filter{})
		if err != nil {
			return err
		}
		for _, t := range list {
			reasons, err := g.Why(t)
			if err != nil {
				return err
			}
			if t.Ready(now) != (len(reasons) == 0) {
				rt.Fatalf("%s: ready is %v, but the reasons why not are %v", t.ID, t.Ready(now), reasons)
			}
			got = append(got, seen{t.ID, t.Parent, t.Feature, t.Status, t.Priority, t.Children, t.OpenDeps, t.Retries,
				t.Held, t.Doomed, t.Owner != "", t.NotBefore.After(now), t.Ready(now)})
		}
		return nil
	})
	for _, t := range x.m.all() {
		open := 0
		for b := range t.after {
			if x.m.tasks[b].status != dag.Done {
				open++
			}
		}
		want = append(want, seen{t.id, t.parent, t.feature, t.status, t.priority, len(x.m.children(t.id)), open, t.retries,
			x.m.held(t), x.m.doomed(t), t.holder != 0, t.notBefore.After(now), x.m.ready(t, false)})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		rt.Fatalf("tasks (-model +file):\n%s", diff)
	}
	x.compareScopes(rt)
	x.w.sound()
}

// compareScopes looks at everything that is told about a scope.
func (x *machine) compareScopes(rt *rapid.T) {
	scopes := []dag.Scope{{}}
	features := map[string]dag.FeatureStatus{}
	for _, name := range x.m.features {
		scopes = append(scopes, dag.Scope{Feature: name})
		features[name] = x.m.featureStatus(name)
	}
	if len(x.m.tasks) > 0 {
		scopes = append(scopes, dag.Scope{Task: x.some(rt, "scope")})
	}
	x.w.view(func(g *dag.Graph) error {
		for _, scope := range scopes {
			if err := x.compareScope(rt, g, scope); err != nil {
				return err
			}
		}
		list, err := g.Features()
		got := map[string]dag.FeatureStatus{}
		for _, f := range list {
			got[f.Name] = f.Status
		}
		if diff := cmp.Diff(features, got); diff != "" {
			rt.Fatalf("features (-model +file):\n%s", diff)
		}
		return err
	})
	keepGoing := rapid.Bool().Draw(rt, "keep going")
	scope := rapid.SampledFrom(scopes).Draw(rt, "claims of")
	if diff := cmp.Diff(x.m.queue(scope, keepGoing), x.wouldClaim(scope, keepGoing)); diff != "" {
		rt.Fatalf("order of claims in %v, keep going %v (-model +file):\n%s", scope, keepGoing, diff)
	}
}

func (x *machine) compareScope(rt *rapid.T, g *dag.Graph, scope dag.Scope) error {
	ready := x.m.queue(scope, false)
	want := dag.Tally{ByStatus: map[dag.Status]int{}, Ready: len(ready)}
	for _, t := range x.m.all() {
		if !x.m.inScope(t, scope) {
			continue
		}
		want.ByStatus[t.status]++
		then := *x.m
		then.now = t.notBefore
		switch {
		case !t.notBefore.After(x.m.now):
		case then.ready(t, false):
			want.Waiting++
			want.NextWait = sooner(want.NextWait, t.notBefore)
		case then.ready(t, true):
			want.DoomedWaiting++
			want.NextDoomedWait = sooner(want.NextDoomedWait, t.notBefore)
		}
	}
	tally, err := g.Tally(scope)
	if err != nil {
		return err
	}
	// Of those kept back by a failed ancestor some may be due by now.
	if tally.DoomedWaiting >= want.DoomedWaiting && sooner(tally.NextDoomedWait, want.NextDoomedWait).Equal(tally.NextDoomedWait) {
		tally.DoomedWaiting, tally.NextDoomedWait = want.DoomedWaiting, want.NextDoomedWait
	}
	if diff := cmp.Diff(want, tally); diff != "" {
		rt.Fatalf("tally of %v (-model +file):\n%s", scope, diff)
	}
	if scope.Task != "" {
		return nil
	}
	list, err := g.List(dag.Filter{Ready: true, Feature: scope.Feature})
	got := make([]string, 0, len(list))
	for _, t := range list {
		got = append(got, t.ID)
	}
	if diff := cmp.Diff(ready, got); diff != "" {
		rt.Fatalf("ready in %v (-model +file):\n%s", scope, diff)
	}
	return err
}

// sooner is the earlier one of two times of which the first may not be set.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}

var errNotKept = errors.New("not kept")

// wouldClaim claims until there is nothing left, and takes it all back.
func (x *machine) wouldClaim(scope dag.Scope, keepGoing bool) []string {
	ids := []string{}
	err := x.w.try(func(g *dag.Graph) error {
		for {
			c, ok, err := g.Claim(dag.ClaimOptions{Run: x.w.run, Scope: scope, KeepGoing: keepGoing, Lease: lease})
			if err != nil {
				return err
			}
			if !ok {
				return errNotKept
			}
			ids = append(ids, c.Task.ID)
		}
	})
	if !errors.Is(err, errNotKept) {
		x.w.t.Fatalf("claim: %v", err)
	}
	return ids
}

func (x *machine) pass(rt *rapid.T) {
	d := time.Duration(rapid.IntRange(1, 8000).Draw(rt, "milliseconds")) * time.Millisecond
	x.w.pass(d)
	x.m.now = x.w.clock()
}
