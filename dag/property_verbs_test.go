package dag_test

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"ralph/dag"
	"ralph/internal/event"
)

func (x *machine) add(rt *rapid.T) {
	nt := dag.NewTask{
		Detail: dag.Detail{Title: "task", Priority: rapid.Int64Range(-1, 1).Draw(rt, "priority")},
		Parent: x.maybe(rt, "parent"), Feature: x.feature(rt),
	}
	if blocker := x.maybe(rt, "after"); blocker != "" {
		nt.After = []string{blocker}
	}
	if rapid.IntRange(0, 3).Draw(rt, "own retries") == 0 {
		n := rapid.IntRange(0, 2).Draw(rt, "max retries")
		nt.MaxRetries = &n
	}
	var id string
	err := x.w.try(func(g *dag.Graph) (err error) { id, err = g.Plan.Add(nt); return err })
	if err != nil {
		id = "t-refused"
	}
	want := x.m.attempt(func() error {
		t := x.m.add(id)
		t.priority, t.parent, t.feature, t.maxRetries = nt.Priority, nt.Parent, nt.Feature, nt.MaxRetries
		if err := x.m.inherit(t); err != nil {
			return err
		}
		for _, blocker := range nt.After {
			t.after[blocker] = true
		}
		if x.m.stuck() {
			return errCycle
		}
		x.m.joined(t)
		return nil
	})
	x.agree(rt, err, want)
}

func (x *machine) link(rt *rapid.T) {
	blocker, blocked := x.some(rt, "blocker"), x.some(rt, "blocked")
	err := x.w.try(func(g *dag.Graph) error { return g.Plan.Link(blocker, blocked) })
	x.agree(rt, err, x.m.attempt(func() error {
		x.m.tasks[blocked].after[blocker] = true
		if x.m.stuck() {
			return errCycle
		}
		return nil
	}))
}

func (x *machine) unlink(rt *rapid.T) {
	t := x.m.tasks[x.some(rt, "blocked")]
	for _, blocker := range x.m.all() {
		if t.after[blocker.id] {
			x.w.update(func(g *dag.Graph) error { return g.Plan.Unlink(blocker.id, t.id) })
			delete(t.after, blocker.id)
			return
		}
	}
}

func (x *machine) claim(rt *rapid.T) {
	scope := dag.Scope{}
	switch rapid.IntRange(0, 3).Draw(rt, "scope") {
	case 0:
		scope.Feature = x.feature(rt)
	case 1:
		scope.Task = x.maybe(rt, "scope")
	}
	keepGoing := rapid.Bool().Draw(rt, "keep going")
	queue := x.m.queue(scope, keepGoing)
	slots := rapid.Bool().Draw(rt, "slots")
	free := x.m.freeSlots(len(x.m.tasks))
	c, ok := x.w.next(dag.ClaimOptions{Scope: scope, KeepGoing: keepGoing, Slots: slots})
	if ok != (len(queue) > 0) || (ok && c.Task.ID != queue[0]) {
		rt.Fatalf("claim: got %q, want the first of %v", c.Task.ID, queue)
	}
	if !ok {
		return
	}
	x.m.claims++
	t := x.m.tasks[c.Task.ID]
	t.status, t.holder, t.slot = dag.InProgress, x.m.claims, c.Slot
	if c.Resume != t.finished || slots != slices.Contains(free, c.Slot) {
		rt.Fatalf("claim: resume is %v, want %v; got slot %d of %v", c.Resume, t.finished, c.Slot, free)
	}
	held := heldClaim{Claim: c, serial: x.m.claims, entry: new(int64), work: x.m.claims, at: x.m.now}
	if t.finished {
		held.work, held.was = t.work, x.m.accepted[t.work]
	}
	if c.Resumed.Accepted != held.was {
		rt.Fatalf("claim: the task was %q when its work was accepted, want %q", c.Resumed.Accepted, held.was)
	}
	if t.startedAt.IsZero() {
		t.startedAt = x.m.now
	}
	x.claims = append(x.claims, held)
	if len(x.claims) > 6 {
		x.claims = x.claims[1:]
	}
}

// worker is what a worker does with its claim, and the status that it leads to.
func (x *machine) worker(verb string, to dag.Status) func(*rapid.T) {
	return func(rt *rapid.T) {
		x.settle(rt, returns()[verb], func(t *modelTask, _ heldClaim) { x.m.set(t, to) })
	}
}

// settle does something with a claim, which may have been lost long ago.
func (x *machine) settle(rt *rapid.T, real func(*dag.Graph, dag.Claim) error, naive func(*modelTask, heldClaim)) {
	if len(x.claims) == 0 {
		rt.Skip("no claim yet")
	}
	c := x.claims[rapid.IntRange(0, len(x.claims)-1).Draw(rt, "claim")]
	err := x.w.try(func(g *dag.Graph) error { return real(g, c.Claim) })
	x.agree(rt, err, x.m.attempt(func() error {
		t := x.m.tasks[c.Task.ID]
		if t == nil || t.holder != c.serial {
			return dag.ErrLost
		}
		naive(t, c)
		landing := func(e modelEntry) bool { return e.holder == c.serial && e.State == dag.MergeLanding }
		if t.holder != c.serial && slices.ContainsFunc(x.m.entries, landing) {
			return dag.ErrRefused // nobody knows yet whether it has landed
		}
		return nil
	}))
}

func (x *machine) release(rt *rapid.T) {
	r := dag.Release{Reason: "no answer", Uncounted: rapid.Bool().Draw(rt, "uncounted"), Finished: rapid.Bool().Draw(rt, "finished")}
	if rapid.Bool().Draw(rt, "backoff") {
		r.NotBefore = x.m.now.Add(time.Duration(rapid.IntRange(0, 5000).Draw(rt, "wait")) * time.Millisecond)
	}
	x.settle(rt, func(g *dag.Graph, c dag.Claim) error { return g.Queue.Release(c, r) }, func(t *modelTask, c heldClaim) {
		x.m.set(t, dag.Pending)
		t.notBefore, t.finished, t.work = r.NotBefore, r.Finished, c.work
	})
}

func (x *machine) retry(rt *rapid.T) {
	limit := rapid.IntRange(0, 2).Draw(rt, "limit")
	var got, want dag.Status
	x.settle(rt, func(g *dag.Graph, c dag.Claim) (err error) {
		if err := g.History.NoteAttempt(c.Attempt, dag.Note{Rejected: event.RejectedVerdict}); err != nil {
			return err
		}
		got, err = g.Queue.Retry(c, "not good", limit)
		return err
	}, func(t *modelTask, c heldClaim) {
		t.rejected = append(t.rejected, rejected{c.serial, c.at})
		if want = c.was; want != "" {
			delete(x.m.accepted, c.work)
			x.m.set(t, want)
			return
		}
		want = dag.Pending
		if t.maxRetries != nil {
			limit = *t.maxRetries
		}
		if t.retries >= limit {
			want = dag.Failed
		} else {
			t.retries++
		}
		x.m.set(t, want)
	})
	if got != want {
		rt.Fatalf("retry: got %s, want %s", got, want)
	}
}

// byHand is any verb of a person that takes a task.
func (x *machine) byHand(real func(*dag.Graph, string) error, naive func(*model, string) error) func(*rapid.T) {
	return func(rt *rapid.T) {
		id := x.some(rt, "task")
		err := x.w.try(func(g *dag.Graph) error { return real(g, id) })
		x.agree(rt, err, x.m.attempt(func() error { return naive(x.m, id) }))
	}
}

func (x *machine) resetTree(rt *rapid.T) {
	id := x.some(rt, "task")
	var n int
	x.w.update(func(g *dag.Graph) (err error) { n, err = g.Tasks.ResetTree(id); return err })
	if want := x.m.resetTree(id); n != want {
		rt.Fatalf("reset tree: got %d tasks, want %d", n, want)
	}
}

func (x *machine) resetFailed(rt *rapid.T) {
	id := x.maybe(rt, "task")
	var got []string
	x.w.update(func(g *dag.Graph) (err error) { got, err = g.Tasks.ResetFailed(id); return err })
	if diff := cmp.Diff(x.m.resetFailed(id), got); diff != "" {
		rt.Fatalf("reset failed (-model +file):\n%s", diff)
	}
}

func (x *machine) remove(rt *rapid.T) {
	id := x.some(rt, "task")
	err := x.w.try(func(g *dag.Graph) error { return g.Plan.Delete(id) })
	x.agree(rt, err, x.m.attempt(func() error {
		if len(x.m.children(id)) > 0 {
			return dag.ErrRefused
		}
		x.m.remove(id)
		return nil
	}))
}

func (x *machine) removeTree(rt *rapid.T) {
	if rapid.IntRange(0, 2).Draw(rt, "sparingly") > 0 {
		return
	}
	id := x.some(rt, "task")
	x.w.update(func(g *dag.Graph) error { return g.Plan.DeleteTree(id) })
	x.m.remove(id)
}

func (x *machine) move(rt *rapid.T) {
	id, parent := x.some(rt, "task"), x.maybe(rt, "parent")
	err := x.w.try(func(g *dag.Graph) error { return g.Plan.Move(id, parent) })
	x.agree(rt, err, x.m.attempt(func() error { return x.m.move(id, parent) }))
}

func (x *machine) setFeature(rt *rapid.T) {
	id, name := x.some(rt, "task"), x.feature(rt)
	err := x.w.try(func(g *dag.Graph) error { return g.Plan.SetFeature(id, name) })
	x.agree(rt, err, x.m.attempt(func() error {
		t := x.m.tasks[id]
		if t.feature != name && t.parent != "" {
			return dag.ErrRefused
		}
		for _, below := range x.m.below(id) {
			below.feature = name
		}
		return nil
	}))
}

func (x *machine) edit(rt *rapid.T) {
	id, priority := x.some(rt, "task"), rapid.Int64Range(-2, 2).Draw(rt, "priority")
	x.w.update(func(g *dag.Graph) error { return g.Plan.Edit(id, dag.Detail{Priority: priority}, "priority") })
	x.m.tasks[id].priority = priority
}

func (x *machine) editMeaning(rt *rapid.T) {
	id, kind, onFail := x.some(rt, "task"), dag.Work, onFail(rt)
	x.w.update(func(g *dag.Graph) error {
		return g.Plan.Edit(id, dag.Detail{Kind: kind, OnFail: onFail}, "kind", "on_fail")
	})
	x.m.edited(id, onFail == dag.Continue)
}

func onFail(rt *rapid.T) dag.OnFail {
	return rapid.SampledFrom([]dag.OnFail{"", "", dag.Continue}).Draw(rt, "on fail")
}

func (x *machine) cancel(rt *rapid.T) {
	satisfied := rapid.Bool().Draw(rt, "satisfied")
	x.byHand(func(g *dag.Graph, id string) error { return g.Tasks.Cancel(id, satisfied, "") }, func(m *model, id string) error { return m.cancel(id, satisfied) })(rt)
}

func (x *machine) importPlan(rt *rapid.T) {
	specs := make([]dag.Spec, rapid.IntRange(1, 4).Draw(rt, "specs"))
	for i := range specs {
		s := &specs[i]
		s.Line, s.Ref, s.Title = i+1, fmt.Sprintf("ref%d", i), "imported"
		s.Status = rapid.SampledFrom(append(dag.Statuses(), "", "", dag.Done)).Draw(rt, "status")
		s.Satisfied = s.Status == dag.Cancelled && rapid.Bool().Draw(rt, "satisfied")
		s.OnFail, s.Group = onFail(rt), rapid.IntRange(0, 5).Draw(rt, "group") == 0
		s.Priority = rapid.Int64Range(-1, 1).Draw(rt, "priority")
		s.Feature = rapid.SampledFrom([]string{"", "", "", "alpha", "gamma"}).Draw(rt, "feature")
		s.Parent = x.reference(rt, "parent", len(specs))
		if blocker := x.reference(rt, "after", len(specs)); blocker != "" {
			s.After = []string{blocker}
		}
	}
	x.addPlan(rt, specs)
}

func (x *machine) addPlan(rt *rapid.T, specs []dag.Spec) {
	var ids []string
	err := x.w.try(func(g *dag.Graph) (err error) { ids, err = g.Plan.Import(specs); return err })
	if err != nil {
		for i := range specs {
			ids = append(ids, fmt.Sprintf("t-refused%d", i))
		}
	}
	want := x.m.attempt(func() error { return x.m.importPlan(specs, ids) })
	if errors.Is(want, errCycle) { // a plan may have other faults too
		want = dag.ErrRefused
	}
	x.agree(rt, err, want)
}

// reference draws a ref of the plan, an ID that exists, or nothing.
func (x *machine) reference(rt *rapid.T, label string, specs int) string {
	switch rapid.IntRange(0, 3).Draw(rt, label) {
	case 0:
		return fmt.Sprintf("ref%d", rapid.IntRange(0, specs-1).Draw(rt, label+" ref"))
	case 1:
		return x.maybe(rt, label)
	}
	return ""
}
