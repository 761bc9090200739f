package main

import (
	"fmt"
	"time"

	"ralph/dag"
)

// subtree measures the transitions whose cost grows with what lies below them,
// inside a graph of other tasks.
func (b *bench) subtree() error {
	sizes, around, rounds := []int{10, 100, 1_000, 10_000}, 100_000, 5
	if b.quick {
		sizes, around, rounds = sizes[:3], 1_000, 3
	}
	path, err := b.copyOf(around, "subtree.db")
	if err != nil {
		return err
	}
	s, err := b.open(path, dag.Options{})
	if err != nil {
		return err
	}
	defer s.discard()
	for _, n := range sizes {
		t := &tree{bench: b, store: s}
		if err := t.plant(n); err != nil {
			return err
		}
		for range rounds {
			if err := t.round(); err != nil {
				return err
			}
		}
		for _, c := range []struct {
			verb    string
			samples []time.Duration
		}{{"unblock", t.unblock}, {"fail", t.fail}, {"reset", t.reset}} {
			p50 := median(c.samples)
			each := p50 / time.Duration(n)
			b.table.add("subtree p50", fmt.Sprintf("%s a group of %d", c.verb, n), short(p50), "", short(each)+" each", "")
		}
	}
	return nil
}

// tree is a group with many descendants that waits for one task.
type tree struct {
	*bench
	store                *store
	blocker, root        string
	leaves               []string
	unblock, fail, reset []time.Duration
}

// plant makes a group of n descendants: groups of ten below it, and in each of
// them leaves of which every one waits for the one before.
func (t *tree) plant(n int) error {
	specs := []dag.Spec{
		{Line: 1, Ref: "blocker", Title: "blocker"},
		{Line: 2, Ref: "root", Title: "root", After: []string{"blocker"}},
	}
	group, before := "root", ""
	for i := range n {
		s := dag.Spec{Line: i + 3, Ref: fmt.Sprintf("d%d", i), Title: fmt.Sprintf("below %d", i), Parent: group}
		if n > groupSize && i%groupSize == 0 {
			s.Parent, group, before = "root", s.Ref, ""
		} else {
			if before != "" {
				s.After = []string{before}
			}
			before = s.Ref
		}
		specs = append(specs, s)
	}
	return t.store.Update(t.ctx, func(g *dag.Graph) error {
		ids, err := g.Import(specs)
		if err != nil {
			return err
		}
		t.blocker, t.root = ids[0], ids[1]
		for i, id := range ids[2:] {
			if n <= groupSize || i%groupSize != 0 {
				t.leaves = append(t.leaves, id)
			}
		}
		return nil
	})
}

// round goes once through the life of the group and leaves it as it was.
func (t *tree) round() error {
	return firstError(
		t.timed(&t.unblock, func(g *dag.Graph) error { return g.Finish(t.blocker) }),
		t.timed(&t.fail, func(g *dag.Graph) error { return g.GiveUp(t.root, "") }),
		t.timed(nil, func(g *dag.Graph) error {
			for _, id := range t.leaves {
				if err := g.Finish(id); err != nil {
					return err
				}
			}
			return nil
		}),
		t.timed(&t.reset, func(g *dag.Graph) error { _, err := g.ResetTree(t.root); return err }),
		t.timed(nil, func(g *dag.Graph) error { return g.Reset(t.blocker) }),
	)
}

// timed prepares one transaction, which is run in its turn.
func (t *tree) timed(into *[]time.Duration, fn func(*dag.Graph) error) func() error {
	return func() error {
		begin := time.Now()
		err := t.store.Update(t.ctx, fn)
		if into != nil {
			*into = append(*into, time.Since(begin))
		}
		return err
	}
}

func firstError(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}
