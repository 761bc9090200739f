package main

import (
	"fmt"
	"time"

	"ralph/dag"
)

// variants are the four ways to claim, each with a statement of its own.
var variants = []struct {
	name      string
	scope     dag.Scope
	keepGoing bool
}{
	{"all", dag.Scope{}, false},
	{"feature", dag.Scope{Feature: feature}, false},
	{"all, keep-going", dag.Scope{}, true},
	{"feature, keep-going", dag.Scope{Feature: feature}, true},
}

// claim measures one claim transaction over the size of the graph. Sizes take
// turns, so that whatever else the machine does falls on all of them alike.
func (b *bench) claim() error {
	sizes, rounds := []int{1_000, 10_000, 100_000, 1_000_000}, 60
	if b.quick {
		sizes, rounds = sizes[:2], 15
	}
	graphs := make([]*claimed, len(sizes))
	for i, n := range sizes {
		graphs[i] = &claimed{bench: b, size: n, samples: make([][]time.Duration, len(variants))}
		if err := graphs[i].refill(); err != nil {
			return err
		}
		defer func() { graphs[i].store.discard() }() // not the one it has now: it may be refilled
	}
	for range rounds {
		for v := range variants {
			for _, g := range graphs {
				if err := g.round(v, 25); err != nil {
					return err
				}
			}
		}
	}
	for v, variant := range variants {
		base := median(graphs[0].samples[v])
		for i, g := range graphs {
			p50, what := median(g.samples[v]), fmt.Sprintf("%s, %s tasks", variant.name, count(sizes[i]))
			if i == 0 {
				b.table.add("claim p50", what, short(p50), "", "1.00", "")
				continue
			}
			b.table.compare("claim p50", what, short(p50), short(base)+" at 1k", ratio(p50, base), true, 1.5)
		}
	}
	return nil
}

// claimed is a graph whose tasks are claimed and completed one by one.
type claimed struct {
	*bench
	size    int
	store   *store
	run     dag.Run
	samples [][]time.Duration // by variant
}

// refill begins anew with a fresh graph, and warms it up.
func (c *claimed) refill() error {
	if c.store != nil {
		if err := c.store.close(); err != nil {
			return err
		}
	}
	path, err := c.copyOf(c.size, fmt.Sprintf("claim-%d.db", c.size))
	if err != nil {
		return err
	}
	if c.store, err = c.open(path, dag.Options{}); err != nil {
		return err
	}
	if c.run, err = c.startRun(c.store); err != nil {
		return err
	}
	for v := range variants {
		for range 5 {
			if _, _, err := c.one(v); err != nil {
				return err
			}
		}
	}
	return nil
}

// round takes some samples of one variant.
func (c *claimed) round(v, samples int) error {
	for taken := 0; taken < samples; {
		d, ok, err := c.one(v)
		if err != nil {
			return err
		}
		if !ok {
			if err := c.refill(); err != nil {
				return err
			}
			continue
		}
		taken++
		c.samples[v] = append(c.samples[v], d)
	}
	return nil
}

// one claims a task, which is timed, and completes it, which is not.
func (c *claimed) one(v int) (time.Duration, bool, error) {
	opts := dag.ClaimOptions{Run: c.run, Scope: variants[v].scope, KeepGoing: variants[v].keepGoing, Lease: time.Minute}
	var claim dag.Claim
	var ok bool
	begin := time.Now()
	err := c.store.Update(c.ctx, func(g *dag.Graph) (err error) {
		claim, ok, err = g.Claim(opts)
		return err
	})
	took := time.Since(begin)
	if err != nil || !ok {
		return took, ok, err
	}
	err = c.store.Update(c.ctx, func(g *dag.Graph) error { return g.Complete(claim, "skipped") })
	return took, ok, err
}
