//go:build unix

package bench

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"ralph/dag"
	"ralph/internal/db"
)

// scratch holds the graphs that several benchmarks copy.
var scratch string

func TestMain(m *testing.M) {
	scratch = must(os.MkdirTemp("", "ralph-bench-"))
	status := m.Run()
	check(os.RemoveAll(scratch))
	os.Exit(status)
}

// must and check stop everything: a benchmark without its data measures nothing.
func must[T any](v T, err error) T {
	check(err)
	return v
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// sized is full, or quick with -short, which is a smoke run.
func sized[T any](quick, full T) T {
	if testing.Short() {
		return quick
	}
	return full
}

// cost is what something took.
type cost struct {
	cpu, wall time.Duration
	resident  int64
}

// measure is for what happens in this process.
func measure(fn func()) cost {
	var before, after syscall.Rusage
	check(syscall.Getrusage(syscall.RUSAGE_SELF, &before))
	begin := time.Now()
	fn()
	c := cost{wall: time.Since(begin)}
	check(syscall.Getrusage(syscall.RUSAGE_SELF, &after))
	c.cpu = costOf(&after).cpu - costOf(&before).cpu
	return c
}

// costOf hardly depends on what else the machine does, unlike the clock.
func costOf(usage *syscall.Rusage) cost {
	return cost{cpu: time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), resident: usage.Maxrss * 1024}
}

func (c cost) plus(d cost) cost {
	return cost{cpu: c.cpu + d.cpu, wall: c.wall + d.wall, resident: max(c.resident, d.resident)}
}

// medians are of each figure by itself.
func medians(samples []cost) (m cost) {
	var cpu, wall []time.Duration
	for _, c := range samples {
		cpu, wall = append(cpu, c.cpu), append(wall, c.wall)
	}
	return cost{cpu: median(cpu), wall: median(wall)}
}

func median[T cmp.Ordered](samples []T) T {
	slices.Sort(samples)
	return samples[len(samples)/2]
}

// inTurns has functions take turns, so that all of them see the same machine, and returns the medians
// of each. The first turn warms up; in a quick run it is the only one.
func inTurns(turns int, fns ...func() cost) []cost {
	samples := make([][]cost, len(fns))
	for range sized(0, turns) + 1 {
		for i, fn := range fns {
			samples[i] = append(samples[i], fn())
		}
	}
	all := make([]cost, len(fns))
	for i := range fns {
		all[i] = medians(samples[i][sized(0, 1):])
	}
	return all
}

// here measures a function of this process in turns.
func here(fn func()) func() cost { return func() cost { return measure(fn) } }

// store is a graph in an open file.
type store struct {
	*dag.Store
	db *db.DB
	b  *testing.B
}

func open(b *testing.B, path string, opts dag.Options) *store {
	d := must(db.Open(b.Context(), path, db.Options{}))
	b.Cleanup(func() { _ = d.Close() })
	return &store{dag.New(d, opts), d, b}
}

func (s *store) update(fn func(*dag.Graph) error) { check(s.Update(s.b.Context(), fn)) }

// startRun records a run to claim under.
func (s *store) startRun() (run dag.Run) {
	s.update(func(g *dag.Graph) (err error) {
		run, err = g.History.StartRun(dag.Scope{}, dag.Process{PID: 1, BootID: "boot", Namespace: "ns"})
		return err
	})
	return run
}

// copyOf puts a graph of n tasks into a new file. The graph is built once.
func copyOf(b *testing.B, n, layers int) string {
	from := filepath.Join(scratch, fmt.Sprintf("%d-%d.db", n, layers))
	if _, err := os.Stat(from); err != nil {
		s := open(b, from, dag.Options{})
		s.update(func(g *dag.Graph) error { _, err := g.Plan.Import(plan(n, layers)); return err })
		check(s.db.Close())
	}
	to := filepath.Join(b.TempDir(), "progress.db")
	copyFile(from, to)
	return to
}

func copyFile(from, to string) { check(os.WriteFile(to, must(os.ReadFile(from)), 0o600)) }
