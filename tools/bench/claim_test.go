//go:build unix

package bench

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ralph/dag"
)

// BenchmarkClaim measures one claim transaction over the size of the graph. Sizes take
// turns, so that whatever else the machine does falls on all of them alike.
func BenchmarkClaim(b *testing.B) {
	sizes := sized([]int{1_000, 10_000}, []int{1_000, 10_000, 100_000})
	t := newTable(b)
	for _, v := range []struct {
		name      string
		scope     dag.Scope
		keepGoing bool
	}{
		{"all", dag.Scope{}, false},
		{"feature", dag.Scope{Feature: feature}, false},
		{"all, keep-going", dag.Scope{}, true},
		{"feature, keep-going", dag.Scope{Feature: feature}, true},
	} {
		b.Run(strings.ReplaceAll(v.name, ", ", "-"), func(b *testing.B) {
			opts := dag.ClaimOptions{Scope: v.scope, KeepGoing: v.keepGoing, Lease: time.Minute}
			samples := make([][]time.Duration, len(sizes))
			graphs := make([]*claims, len(sizes))
			for b.Loop() {
				for range sized(3, 60) {
					for i, n := range sizes {
						for range 25 {
							if graphs[i] == nil || !graphs[i].left() {
								graphs[i] = newClaims(b, n, opts)
							}
							samples[i] = append(samples[i], graphs[i].one())
						}
					}
				}
			}
			base := median(samples[0])
			for i, n := range sizes {
				took, goal := median(samples[i]), ""
				if i > 0 {
					goal = below(ratio(took, base), 1.5)
				}
				t.row(fmt.Sprintf("%s, %d tasks", v.name, n), show(took), show(base)+" at 1000", times(took, base), goal)
			}
		})
	}
}

// claims is a graph whose tasks are claimed and completed one by one.
type claims struct {
	*store
	opts dag.ClaimOptions
	next dag.Claim
	took time.Duration
}

func newClaims(b *testing.B, n int, opts dag.ClaimOptions) *claims {
	c := &claims{store: open(b, copyOf(b, n, layers), dag.Options{}), opts: opts}
	c.opts.Run = c.startRun()
	for range 5 { // to warm up
		if c.left() {
			c.one()
		}
	}
	if !c.left() {
		b.Fatal("a fresh graph has nothing to claim")
	}
	return c
}

// left claims a task, which is timed, unless one is claimed already.
func (c *claims) left() (ok bool) {
	if c.next.Task.ID != "" {
		return true
	}
	c.took = measure(func() {
		c.update(func(g *dag.Graph) (err error) { c.next, ok, err = g.Queue.Claim(c.opts); return err })
	}).wall
	return ok
}

// one completes what left claimed, which is not timed.
func (c *claims) one() time.Duration {
	c.update(func(g *dag.Graph) error { return g.Queue.Complete(c.next, "skipped") })
	c.next = dag.Claim{}
	return c.took
}
