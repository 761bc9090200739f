//go:build unix

package bench

import (
	"fmt"
	"testing"
	"time"

	"ralph/dag"
)

// BenchmarkClaimLocks measures one claim while tasks have locks and some of these are held, against one of the same
// graph without locks. Both take turns, so that whatever else the machine does falls on both alike.
func BenchmarkClaimLocks(b *testing.B) {
	n := sized(10_000, 100_000)
	t := newTable(b)
	for _, v := range []struct {
		name, locks string
		bound       float64
	}{
		{"locks in turn, 16 held", `'["l' || (n % 1000) || '"]'`, 1.5},
		{"a path and a lock in turn, 16 held", `'["l' || (n % 1000) || '","path:d' || (n % 1000) || '"]'`, 1.5},
		// The costliest: one lock stands before all else, and the first task of every other lockset is looked at.
		{"most wait for one lock", `iif(n <= 3500, '["gpu"]', '["l' || (n % 1000) || '"]')`, 30},
	} {
		b.Run(v.name, func(b *testing.B) {
			opts := dag.ClaimOptions{KeepGoing: true, Lease: time.Minute}
			var graphs [2]*claims
			var samples [2][]time.Duration
			for b.Loop() {
				for range sized(1, 60) {
					for i := range graphs {
						for range 25 {
							if graphs[i] == nil || !graphs[i].left() {
								graphs[i] = newClaims(b, n, opts)
								if i == 1 {
									graphs[i].lock(v.locks, 16)
								}
							}
							samples[i] = append(samples[i], graphs[i].one())
						}
					}
				}
			}
			base, took := median(samples[0]), median(samples[1])
			t.row(fmt.Sprintf("%s, %d tasks", v.name, n), show(took), show(base)+" without", times(took, base), below(ratio(took, base), v.bound))
		})
	}
}

// lock gives each task the locks that an expression says, and has so many tasks at work.
func (c *claims) lock(expression string, atWork int) {
	c.update(func(g *dag.Graph) error { return g.Tx().Exec(`UPDATE tasks SET locks = ` + expression + `;`) })
	for range atWork {
		c.update(func(g *dag.Graph) error { _, _, err := g.Queue.Claim(c.opts); return err })
	}
}
