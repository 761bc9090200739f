package dag_test

import (
	"slices"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"ralph/dag"
)

// modelEntry is an open entry of the queue.
type modelEntry struct {
	N      int64
	Task   string
	State  dag.MergeState
	holder int // the claim that entered it
	built  bool
}

func after(a, b bool) int { // finished work comes first
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// has says that a claim still has the task of an entry.
func (m *model) has(e modelEntry) bool {
	t := m.tasks[e.Task]
	return t != nil && t.holder == e.holder
}

// tidy takes out of the queue what nobody has any more, but for what is landing.
func (m *model) tidy() {
	m.entries = slices.DeleteFunc(m.entries, func(e modelEntry) bool { return e.State != dag.MergeLanding && !m.has(e) })
}

func (m *model) entry(n int64) *modelEntry {
	for i := range m.entries {
		if m.entries[i].N == n {
			return &m.entries[i]
		}
	}
	return &modelEntry{State: dag.MergeDropped}
}

func (m *model) leave(n int64) {
	m.entries = slices.DeleteFunc(m.entries, func(e modelEntry) bool { return e.N == n })
}

func (m *model) freeSlots(of int) (free []int) {
	for n := 1; n <= of; n++ {
		if !slices.ContainsFunc(m.all(), func(t *modelTask) bool { return t.slot == n }) {
			free = append(free, n)
		}
	}
	return free
}

func (m *model) reject(id string) error {
	t := m.tasks[id]
	if !t.review {
		return dag.ErrRefused
	}
	t.review, t.finished = false, false
	return nil
}

// abandon lets the agents go whose tasks were deleted.
func (x *machine) abandon() {
	for _, a := range get(x.w, func(g *dag.Graph) ([]dag.Attempt, error) { return g.History.OpenAttempts() }) {
		if x.m.tasks[a.Task] == nil {
			x.w.update(func(g *dag.Graph) error { return g.History.AbandonAttempt(a.ID, "interrupted", "deleted") })
		}
	}
}

// queued does something with an entry, whose claim may have been lost and which may be over.
func (x *machine) queued(rt *rapid.T, real func(*dag.Graph, heldClaim) error, naive func(*modelTask, *modelEntry) error) {
	if len(x.claims) == 0 {
		rt.Skip("no claim yet")
	}
	c := x.claims[rapid.IntRange(0, len(x.claims)-1).Draw(rt, "claim")]
	if e := x.m.entries; len(e) > 0 && rapid.Bool().Draw(rt, "one with an entry") { // else most have none
		i := slices.IndexFunc(x.claims, func(c heldClaim) bool { return c.serial == e[len(e)-1].holder })
		c = x.claims[max(i, 0)]
	}
	err := x.w.try(func(g *dag.Graph) error { return real(g, c) })
	x.agree(rt, err, x.m.attempt(func() error {
		t := x.m.tasks[c.Task.ID]
		if t == nil || t.holder != c.serial {
			return dag.ErrLost
		}
		return naive(t, x.m.entry(*c.entry))
	}))
}

func (x *machine) enter(rt *rapid.T) {
	var entered dag.Merge
	var claim heldClaim
	x.queued(rt, func(g *dag.Graph, c heldClaim) (err error) {
		claim = c
		entered, err = g.Queue.Enter(c.Claim, dag.NewMerge{Target: "main", Base: "b", Work: "w", Patch: "p"})
		return err
	}, func(t *modelTask, _ *modelEntry) error {
		if slices.ContainsFunc(x.m.entries, func(e modelEntry) bool { return e.Task == t.id && e.holder == t.holder }) {
			return dag.ErrRefused
		}
		if slices.ContainsFunc(x.m.entries, func(e modelEntry) bool { return e.Task == t.id }) {
			return dag.ErrRefused // an earlier one is landing
		}
		*claim.entry = entered.N
		x.m.entries = append(x.m.entries, modelEntry{N: entered.N, Task: t.id, State: dag.MergeTesting, holder: t.holder})
		return nil
	})
}

// to is a verb that changes the state of an entry, from one of those.
func (x *machine) to(rt *rapid.T, real func(*dag.Graph, dag.Claim, int64) error, then func(*modelTask, *modelEntry) error, from ...dag.MergeState) {
	x.queued(rt, func(g *dag.Graph, c heldClaim) error {
		if *c.entry == 0 {
			rt.Skip("nothing entered")
		}
		return real(g, c.Claim, *c.entry)
	}, func(t *modelTask, e *modelEntry) error {
		if !slices.Contains(from, e.State) {
			return dag.ErrRefused
		}
		return then(t, e)
	})
}

func (x *machine) built(rt *rapid.T) {
	x.to(rt, func(g *dag.Graph, c dag.Claim, n int64) error { return g.Queue.Built(c, n, "onto", "candidate") },
		func(_ *modelTask, e *modelEntry) error { e.State, e.built = dag.MergeTesting, true; return nil },
		dag.MergeTesting, dag.MergeGreen, dag.MergeLanding)
}

func (x *machine) tested(rt *rapid.T) {
	x.to(rt, func(g *dag.Graph, c dag.Claim, n int64) error { return g.Queue.Tested(c, n) }, func(_ *modelTask, e *modelEntry) error {
		if !e.built {
			return dag.ErrRefused
		}
		e.State = dag.MergeGreen
		return nil
	}, dag.MergeTesting)
}

func (x *machine) landing(rt *rapid.T) {
	x.to(rt, func(g *dag.Graph, c dag.Claim, n int64) error { return g.Queue.Landing(c, n, "") }, func(_ *modelTask, e *modelEntry) error {
		if slices.ContainsFunc(x.m.entries, func(other modelEntry) bool { return other.State == dag.MergeLanding && other.N != e.N }) {
			return dag.ErrLanding
		}
		e.State = dag.MergeLanding
		return nil
	}, dag.MergeGreen, dag.MergeLanding)
}

func (x *machine) landed(rt *rapid.T) {
	x.to(rt, func(g *dag.Graph, c dag.Claim, n int64) error { return g.Queue.Landed(c, n, "passed") },
		func(t *modelTask, e *modelEntry) error { x.m.leave(e.N); x.m.set(t, dag.Done); return nil }, dag.MergeLanding)
}

func (x *machine) drop(rt *rapid.T) {
	x.to(rt, func(g *dag.Graph, c dag.Claim, n int64) error { return g.Queue.Drop(c, n, "red") },
		func(_ *modelTask, e *modelEntry) error { x.m.leave(e.N); return nil }, dag.MergeTesting, dag.MergeGreen, dag.MergeLanding)
}

func (x *machine) hold(rt *rapid.T) {
	x.to(rt, queueVerbs()["hold"], func(t *modelTask, e *modelEntry) error {
		x.m.leave(e.N)
		i := slices.IndexFunc(x.claims, func(c heldClaim) bool { return c.serial == t.holder })
		x.m.set(t, dag.Pending)
		t.finished, t.review, t.work = true, true, x.claims[i].work
		return nil
	}, dag.MergeGreen)
}

func (x *machine) settleLanding(rt *rapid.T) {
	i := slices.IndexFunc(x.m.entries, func(e modelEntry) bool { return e.State == dag.MergeLanding })
	if i < 0 {
		rt.Skip("nothing is landing")
	}
	e, landed := x.m.entries[i], rapid.Bool().Draw(rt, "landed")
	err := x.w.try(func(g *dag.Graph) error { return g.Queue.SettleLanding(e.N, landed, "") })
	x.agree(rt, err, x.m.attempt(func() error {
		if x.m.has(e) {
			return dag.ErrRefused
		}
		x.m.leave(e.N)
		return nil
	}))
}

// compareQueue looks at the queue and at the slots.
func (x *machine) compareQueue(rt *rapid.T) {
	x.m.tidy()
	type open struct {
		N     int64
		Task  string
		State dag.MergeState
	}
	var got, want []open
	for _, m := range get(x.w, func(g *dag.Graph) ([]dag.Merge, error) { return g.Queue.OpenMerges("main") }) {
		got = append(got, open{m.N, m.Task, m.State})
	}
	for _, e := range x.m.entries {
		want = append(want, open{e.N, e.Task, e.State})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		rt.Fatalf("the queue (-model +file):\n%s", diff)
	}
	free := x.m.freeSlots(3)
	var taken []int
	for _, a := range get(x.w, func(g *dag.Graph) ([]dag.Attempt, error) { return g.Queue.InSlots() }) {
		taken = append(taken, a.Slot)
	}
	for n := 1; n <= 3; n++ {
		if slices.Contains(taken, n) == slices.Contains(free, n) {
			rt.Fatalf("%v are taken, but in the model %v are free", taken, free)
		}
	}
	for _, m := range get(x.w, func(g *dag.Graph) ([]dag.Merge, error) { return g.Queue.ToReview() }) {
		if t := x.m.tasks[m.Task]; t == nil || !t.review {
			rt.Fatalf("%s is to be reviewed, but not in the model", m.Task)
		}
	}
}
