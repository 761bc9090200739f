package dag_test

import (
	"errors"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"ralph/dag"
)

// seen is everything of a task that the model has an opinion about.
type seen struct {
	ID, Parent, Feature           string
	Status                        dag.Status
	Priority                      int64
	Children, OpenDeps, Retries   int
	Held, Doomed, Claimed, Future bool
	Ready, Finished, ToReview     bool
	Satisfies                     bool
}

func (x *machine) compare(rt *rapid.T) {
	x.w.leave() // what is leaving is not in the model
	x.abandon()
	now := x.w.clock()
	var got, want []seen
	x.w.t = rt
	x.w.view(func(g *dag.Graph) error {
		list, err := g.Tasks.List(dag.Filter{})
		if err != nil {
			return err
		}
		for _, t := range list {
			reasons, err := g.Tasks.Why(t)
			if err != nil {
				return err
			}
			if t.Ready(now) != (len(reasons) == 0) {
				rt.Fatalf("%s: ready is %v, but the reasons why not are %v", t.ID, t.Ready(now), reasons)
			}
			got = append(got, seen{
				t.ID, t.Parent, t.Feature, t.Status, t.Priority, t.Children, t.OpenDeps, t.Retries,
				t.Held, t.Doomed, t.Owner != "", t.NotBefore.After(now), t.Ready(now), t.Unverified != "", t.ToReview, t.Satisfies,
			})
		}
		return nil
	})
	for _, t := range x.m.all() {
		open := 0
		for b := range t.after {
			if !x.m.tasks[b].satisfies() {
				open++
			}
		}
		want = append(want, seen{
			t.id, t.parent, t.feature, t.status, t.priority, len(x.m.children(t.id)), open, t.retries,
			x.m.held(t), x.m.doomed(t), t.holder != 0, t.notBefore.After(now), x.m.ready(t, false), t.finished, t.review, t.satisfies(),
		})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		rt.Fatalf("tasks (-model +file):\n%s", diff)
	}
	x.compareScopes(rt)
	x.compareQueue(rt)
	x.w.sound()
}

// compareScopes looks at everything that is reported about a scope.
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
		list, err := g.Plan.Features()
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
	want := dag.Tally{ByStatus: map[dag.Status]int{}, Groups: map[dag.Status]int{}, Ready: len(ready)}
	for _, t := range x.m.all() {
		if !x.m.inScope(t, scope) {
			continue
		}
		if len(x.m.children(t.id)) > 0 {
			want.Groups[t.status]++
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
	tally, err := g.Tasks.Tally(scope)
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
	list, err := g.Tasks.List(dag.Filter{Ready: true, Feature: scope.Feature})
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
			c, ok, err := g.Queue.Claim(dag.ClaimOptions{Run: x.w.run, Scope: scope, KeepGoing: keepGoing, Lease: lease})
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
