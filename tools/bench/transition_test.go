//go:build unix

package bench

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"ralph/dag"
)

// BenchmarkTransition measures claim and complete, two transactions with everything they
// really do, against the same statements through cgo SQLite on a file with the same
// content. Both sides take turns; the ratio says how fast we are, and cgo is 1.
func BenchmarkTransition(b *testing.B) {
	n, turns, pairs := 100_000, 40, 150
	if testing.Short() {
		n, turns, pairs = 10_000, 20, 50
	}
	s := open(b, copyOf(b, n, layers), determined())
	ours := &worker{s, s.startRun()}
	check(s.db.Close()) // moves everything in its log into the file
	rival := filepath.Join(b.TempDir(), "cgo.db")
	copyFile(s.db.Path(), rival)
	ours.store = open(b, s.db.Path(), determined())
	theirs := openCgo(b, rival, readStatements("../../dag"), ours.run)
	defer theirs.close()
	pairsOf := func(pair func()) func() cost {
		return here(func() {
			for range pairs {
				pair()
			}
		})
	}
	for b.Loop() {
		costs := inTurns(turns, pairsOf(ours.pair), pairsOf(theirs.pair))
		perPair := func(d time.Duration) string { return show(d / time.Duration(pairs)) }
		t := newTable(b)
		t.row(fmt.Sprintf("claim and complete, %d tasks, by the clock", n), perPair(costs[0].wall), perPair(costs[1].wall)+" cgo",
			times(costs[1].wall, costs[0].wall), above(ratio(costs[1].wall, costs[0].wall), 0.8))
		t.row("the same, by processor time", perPair(costs[0].cpu), perPair(costs[1].cpu)+" cgo", times(costs[1].cpu, costs[0].cpu), "")
	}
	sameRows(b, ours.db.Path(), rival)
}

// determined makes two sides that do the same end up the same: the clock stands
// still and the IDs only look random.
func determined() dag.Options { return dag.Options{Now: standing, NewID: newIDs()} }

func standing() time.Time { return time.UnixMilli(1_800_000_000_000) }

// newIDs gives distinct IDs that are spread like random ones: multiplying by an
// odd number is a permutation of all 32-bit numbers.
func newIDs() func(prefix string) string {
	var n uint32
	return func(prefix string) string {
		n++
		return fmt.Sprintf("%s%08x", prefix, n*2654435761)
	}
}

// worker claims and completes through package dag as a run does: claiming may be
// interrupted, recording what happened may not.
type worker struct {
	*store
	run dag.Run
}

func (w *worker) pair() {
	var claim dag.Claim
	w.update(func(g *dag.Graph) (err error) {
		var ok bool
		if claim, ok, err = g.Queue.Claim(dag.ClaimOptions{Run: w.run, Lease: time.Minute, Iteration: 1}); err == nil && !ok {
			err = errors.New("nothing to claim")
		}
		return err
	})
	check(w.Update(context.WithoutCancel(w.b.Context()), func(g *dag.Graph) error { return g.Queue.Complete(claim, "skipped") }))
}

// sameRows checks that both files hold the same rows in every table: neither side left something out, or did more.
func sameRows(b *testing.B, ours, theirs string) {
	a, c := open(b, ours, dag.Options{}), open(b, theirs, dag.Options{})
	tables := a.read(`SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'journal_fts%' AND name NOT LIKE 'sqlite_%';`)
	if len(tables) < 5 {
		b.Fatalf("the tables are missing: %v", tables)
	}
	for _, table := range tables {
		query := fmt.Sprintf("SELECT * FROM %s;", table[0])
		if us, them := a.read(query), c.read(query); !reflect.DeepEqual(us, them) {
			b.Errorf("the cgo side did something else; its statements must follow package dag: %d rows in %s, not %d", len(them), table[0], len(us))
		}
	}
}
