//go:build unix

package bench

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"ralph/dag"
)

// BenchmarkTransition measures claim and complete, two transactions with everything they
// really do, against the same statements through cgo SQLite on a file with the same
// content. Both sides take turns; the ratio is the median over the turns.
func BenchmarkTransition(b *testing.B) {
	n, turns, pairs := 100_000, 40, 150
	if testing.Short() {
		n, turns, pairs = 10_000, 20, 50
	}
	s := open(b, copyOf(b, n), determined())
	ours := &worker{s, s.startRun()}
	check(s.db.Close()) // moves everything in its log into the file
	rival := filepath.Join(b.TempDir(), "cgo.db")
	copyFile(s.db.Path(), rival)
	ours.store = open(b, s.db.Path(), determined())
	theirs, err := openCgo(rival, readStatements("../dag"), ours.run)
	if err != nil && strings.Contains(err.Error(), "CGO_ENABLED=0") {
		b.Skip("built without cgo")
	}
	check(err)
	defer theirs.close()
	for b.Loop() {
		var our, ratios, cpus []float64
		for turn := range turns + 2 {
			a, aCPU := timePairs(ours.pair, pairs)
			c, cCPU := timePairs(theirs.pair, pairs)
			if turn >= 2 { // before that they warm up
				our, ratios, cpus = append(our, float64(pairs)/a.Seconds()), append(ratios, ratio(c, a)), append(cpus, ratio(cCPU, aCPU))
			}
		}
		b.ReportMetric(median(our), "pairs/s")
		atLeast(b, "cgo/ours", median(ratios), 0.8)
		b.ReportMetric(median(cpus), "cgo/ours-cpu")
	}
	sameContent(b, ours.db.Path(), rival)
}

func timePairs(pair func(), pairs int) (took, cpu time.Duration) {
	begin := cpuTime()
	took = timed(func() {
		for range pairs {
			pair()
		}
	})
	return took, cpuTime() - begin
}

// cpuTime hardly depends on what else runs, unlike the clock.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	check(syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
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
		if claim, ok, err = g.Claim(dag.ClaimOptions{Run: w.run, Lease: time.Minute, Iteration: 1}); err == nil && !ok {
			err = errors.New("nothing to claim")
		}
		return err
	})
	check(w.Update(context.WithoutCancel(w.b.Context()), func(g *dag.Graph) error { return g.Complete(claim, "skipped") }))
}

// sameContent checks that neither side left something out.
func sameContent(b *testing.B, ours, theirs string) {
	a, c := open(b, ours, dag.Options{}), open(b, theirs, dag.Options{})
	for _, query := range []string{
		`SELECT n, status, generation, attempts, verification, children, open_deps, held, doomed, started_at, finished_at, updated_at
FROM tasks ORDER BY n;`,
		`SELECT n, id, run, task, task_id, generation, phase, outcome, started_at, ended_at FROM attempts ORDER BY n;`,
	} {
		if fmt.Sprint(a.read(query)) != fmt.Sprint(c.read(query)) {
			b.Errorf("the cgo side did something else; its statements must follow package dag: %s", query)
		}
	}
}
