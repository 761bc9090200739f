package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"zombiezen.com/go/sqlite"

	"ralph/dag"
	"ralph/internal/db"
)

// cgo measures claim and complete, two transactions with everything they really
// do, against the same statements through cgo SQLite on a file with the same
// content. Both sides take turns; the ratio is the median over the turns.
func (b *bench) cgo() error {
	n, turns, pairs := 100_000, 40, 150
	if b.quick {
		n, turns, pairs = 10_000, 20, 50
	}
	ours, theirs, err := b.rivals(n)
	if err != nil {
		return err
	}
	what := fmt.Sprintf("throughput at %s tasks", count(n))
	if theirs == nil {
		ours.store.discard()
		b.table.add("claim+complete", what, "", "skipped: built without cgo", "", ">= 0.8")
		return nil
	}
	r, err := compete(ours, theirs, turns, pairs)
	if err != nil {
		return err
	}
	if err := b.sameContent(ours.store.db.Path(), theirs.path); err != nil {
		return err
	}
	b.table.compare("claim+complete", what, rate(median(r.ours), pairs), rate(median(r.theirs), pairs)+" cgo", median(r.ratios), false, 0.8)
	if cpu := median(r.oursCPU); cpu > 0 {
		each := func(d time.Duration) string { return short(d / time.Duration(pairs)) }
		b.table.add("claim+complete", "processor time of the same", each(cpu), each(median(r.theirsCPU))+" cgo", fmt.Sprintf("%.2f", median(r.ratiosCPU)), "")
	}
	return nil
}

// result holds what each turn took, by the clock and of the processor.
type result struct {
	ours, theirs       []time.Duration
	ratios             []float64
	oursCPU, theirsCPU []time.Duration
	ratiosCPU          []float64
}

// compete lets both sides take turns, and closes them. The first turns, in which
// they warm up, do not count.
func compete(ours *worker, theirs *cgoWorker, turns, pairs int) (r result, err error) {
	defer ours.store.discard()
	defer theirs.close()
	const warm = 2
	for turn := range turns + warm {
		a, aCPU, err := timePairs(ours.pair, pairs)
		if err != nil {
			return r, err
		}
		c, cCPU, err := timePairs(theirs.pair, pairs)
		if err != nil {
			return r, fmt.Errorf("through cgo: %w", err)
		}
		if turn < warm {
			continue
		}
		r.ours, r.theirs, r.ratios = append(r.ours, a), append(r.theirs, c), append(r.ratios, ratio(c, a))
		r.oursCPU, r.theirsCPU = append(r.oursCPU, aCPU), append(r.theirsCPU, cCPU)
		r.ratiosCPU = append(r.ratiosCPU, ratio(cCPU, aCPU))
	}
	return r, nil
}

func timePairs(pair func() error, pairs int) (took, cpu time.Duration, err error) {
	begin, beginCPU := time.Now(), cpuTime()
	for range pairs {
		if err := pair(); err != nil {
			return 0, 0, err
		}
	}
	return time.Since(begin), cpuTime() - beginCPU, nil
}

func rate(took time.Duration, pairs int) string {
	return fmt.Sprintf("%.0f/s", float64(pairs)/took.Seconds())
}

// rivals opens two copies of one file. The second is nil without cgo.
func (b *bench) rivals(n int) (*worker, *cgoWorker, error) {
	path, err := b.copyOf(n, "ours.db")
	if err != nil {
		return nil, nil, err
	}
	s, err := b.open(path, determined())
	if err != nil {
		return nil, nil, err
	}
	run, err := b.startRun(s)
	if err != nil {
		return nil, nil, err
	}
	ours := &worker{bench: b, store: s, run: run}
	rival := b.path("cgo.db")
	if err := b.saveAs(s, rival); err != nil {
		return nil, nil, err
	}
	sql, err := readStatements(filepath.Join(b.root, "dag"))
	if err != nil {
		return nil, nil, err
	}
	theirs, err := openCgo(rival, sql, run)
	return ours, theirs, err
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

// saveAs copies the file after everything in its log has been moved into it.
func (b *bench) saveAs(s *store, to string) error {
	if err := s.close(); err != nil {
		return err
	}
	if err := copyFile(s.db.Path(), to); err != nil {
		return err
	}
	again, err := b.open(s.db.Path(), determined())
	if err == nil {
		*s = *again
	}
	return err
}

// worker claims and completes through package dag as a run does: claiming may be
// interrupted, recording what happened may not.
type worker struct {
	*bench
	store *store
	run   dag.Run
}

func (w *worker) pair() error {
	var claim dag.Claim
	err := w.store.Update(w.ctx, func(g *dag.Graph) error {
		c, ok, err := g.Claim(dag.ClaimOptions{Run: w.run, Lease: time.Minute, Iteration: 1})
		if err == nil && !ok {
			err = errNothing
		}
		claim = c
		return err
	})
	if err != nil {
		return err
	}
	return w.store.Update(context.WithoutCancel(w.ctx), func(g *dag.Graph) error { return g.Complete(claim, "skipped") })
}

var errNothing = fmt.Errorf("nothing to claim")

const (
	taskContentSQL = `
SELECT n, status, generation, attempts, verification, children, open_deps, held, doomed, started_at, finished_at, updated_at
FROM tasks ORDER BY n;`
	attemptContentSQL = `SELECT n, id, run, task, task_id, generation, phase, outcome, started_at, ended_at FROM attempts ORDER BY n;`
)

// sameContent holds both sides to the same work: whoever left something out
// would have another file at the end.
func (b *bench) sameContent(ours, theirs string) error {
	var contents [2][][]any
	for i, path := range []string{ours, theirs} {
		s, err := b.open(path, dag.Options{})
		if err != nil {
			return err
		}
		defer s.discard()
		err = s.db.View(b.ctx, func(tx *db.Tx) error {
			for _, query := range []string{taskContentSQL, attemptContentSQL} {
				err := tx.Each(query, func(stmt *sqlite.Stmt) error {
					contents[i] = append(contents[i], arguments(stmt))
					return nil
				})
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	for i, row := range contents[0] {
		if i >= len(contents[1]) || fmt.Sprint(row) != fmt.Sprint(contents[1][i]) {
			return fmt.Errorf("the cgo side did something else; its statements must follow package dag: %v", row)
		}
	}
	return nil
}
