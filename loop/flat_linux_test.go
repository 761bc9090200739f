package loop

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"ralph/dag"
	"ralph/internal/db"
	"ralph/internal/event"
	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
	"ralph/internal/testing/raced"
)

// TestManyIterationsLeaveNothingOpen: goroutines and file descriptors are as many
// at the end as in the beginning. A thousand real agents take a minute, so that many
// are started for `just soak` only, and each iteration has its git processes.
func TestManyIterationsLeaveNothingOpen(t *testing.T) {
	raced.Long(t, "iterations are counted here")
	real := 50
	if os.Getenv("RALPH_SOAK") != "" {
		real = 1000
	}
	t.Run(fmt.Sprintf("%d real agents", real), func(t *testing.T) {
		s := newStage(t, fakeagent.Script{})
		s.ledger = "" // which each agent reads
		s.staysFlat(t, real)
	})
	t.Run("100 simulated ones", func(t *testing.T) {
		s := newStage(t, fakeagent.Script{})
		s.opts.Agents.Open = (&night{prompts: map[string]int{}, quick: true}).start
		s.staysFlat(t, 100)
	})
}

// staysFlat runs that many iterations and compares the first fifth with the last. What
// is just ending may be counted at any one of them, so it is the least of the last fifth
// that must not have grown: a leak is in all of them.
func (s *stage) staysFlat(t *testing.T, iterations int) {
	t.Helper()
	var tasks []dag.NewTask
	for i := range iterations {
		tasks = append(tasks, dag.NewTask{Detail: dag.Detail{Title: fmt.Sprint(i)}})
	}
	s.add(t, tasks...)
	var first [2]int                         // goroutines, files: the most of the first fifth
	last := [2]int{math.MaxInt, math.MaxInt} // and the least of the last
	seen := 0
	s.opts.Host.Observe = func(e event.Event) {
		if e.Type != event.TaskClaimed { // between two agents
			return
		}
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Error(err)
		}
		now := [2]int{runtime.NumGoroutine(), len(entries)}
		seen++
		if seen <= iterations/5 {
			first = [2]int{max(first[0], now[0]), max(first[1], now[1])}
		}
		if seen > iterations-iterations/5 {
			last = [2]int{min(last[0], now[0]), min(last[1], now[1])}
		}
	}
	r := s.start(t)
	out, err := r.Run(t.Context())
	if err != nil || out.Counts.Done != iterations {
		t.Fatalf("got %+v, %v", out, err)
	}
	check.OK(t, r.Finish(t.Context(), out))
	t.Logf("goroutines and files: at most %v in the first fifth, at least %v in the last", first, last)
	check.That(t, last[0] <= first[0] && last[1] <= first[1], "goroutines and files grew from %v to %v", first, last)
}

// TestAnIterationReadsNoMoreOfALargerGraph counts what is read of the database from one claim to
// the next, with next to no cache, so that pages which are looked at are read: of a graph twice as
// large, a statement that scans would read twice as much.
func TestAnIterationReadsNoMoreOfALargerGraph(t *testing.T) {
	raced.Long(t, "what is read is counted here")
	small, large := readPerIteration(t, 10_000), readPerIteration(t, 20_000)
	t.Logf("bytes read of everything and of a feature: %v, %v", small, large)
	for i := range small {
		check.That(t, small[i] > 4096 && large[i] < small[i]*3/2, "an iteration reads %d bytes of 10,000 tasks and %d of 20,000", small[i], large[i])
	}
}

// readPerIteration is the median for a run of everything and one of a feature.
func readPerIteration(t *testing.T, size int) (medians [2]int) {
	t.Helper()
	s := newStage(t, fakeagent.Script{})
	path := filepath.Join(t.TempDir(), "progress.db")
	open := func() *db.DB {
		d, err := db.Open(t.Context(), path, db.Options{})
		check.OK(t, err)
		s.store = dag.New(d, dag.Options{Now: s.now, KeepGoing: true})
		s.opts.Graph.Store, s.opts.Graph.KeepGoing = s.store, true
		return d
	}
	d := open()
	var specs []dag.Spec
	for i := range size { // groups of ten, each of which waits for one before; every second one is in a feature
		ref, group := fmt.Sprint(i), fmt.Sprint(i-i%10)
		spec := dag.Spec{Line: i + 1, Ref: ref, Detail: dag.Detail{Title: ref}, Parent: group}
		if ref == group {
			spec.Parent, spec.Feature = "", []string{"half", "other"}[i/10%2]
			if i >= 20 {
				spec.After = []string{fmt.Sprint(i - 20)}
			}
		}
		specs = append(specs, spec)
	}
	s.update(t, func(g *dag.Graph) error { _, err := g.Plan.Import(specs); return err })
	check.OK(t, d.Close())
	d = open() // with a cache that has nothing in it yet
	defer d.Close()
	check.OK(t, s.store.View(t.Context(), func(g *dag.Graph) error { return g.Tx().Exec("PRAGMA cache_size = 1;") }))
	for i, feature := range []string{"", "half"} {
		var reads []int
		s.opts.Host.Observe = func(e event.Event) {
			if e.Type == event.TaskClaimed {
				reads = append(reads, readSoFar(t))
			}
		}
		s.opts.Agents.Open, s.opts.Limits.Iterations = (&night{prompts: map[string]int{}, quick: true}).start, 30
		s.opts.Graph.Scope.Feature = feature
		s.opts.Limits.Budgets.Feature.CostUSD, s.opts.Limits.Budgets.Run.CostUSD, s.opts.Limits.Budgets.Day.CostUSD = 1000, 1000, 1000
		_, err := s.start(t).Run(t.Context())
		check.OK(t, err)
		for i := len(reads) - 1; i > 0; i-- {
			reads[i] -= reads[i-1]
		}
		reads = reads[1:]
		slices.Sort(reads)
		medians[i] = reads[len(reads)/2]
	}
	return medians
}

func readSoFar(t *testing.T) (n int) {
	data, err := os.ReadFile("/proc/self/io")
	check.OK(t, err)
	_, err = fmt.Sscanf(string(data), "rchar: %d", &n)
	check.OK(t, err)
	return n
}
