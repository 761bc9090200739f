package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
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

// report adds a figure with its limit. A quick run, and a busy machine, may miss limits, so
// they are only named.
func report(b *testing.B, unit string, got float64, limit string, met bool) {
	b.ReportMetric(got, unit)
	verdict := "met"
	if testing.Short() {
		verdict = "not compared in a quick run"
	} else if !met {
		verdict = "MISSED"
	}
	b.Logf("%s %.2f, goal %s: %s", unit, got, limit, verdict)
}

func atMost(b *testing.B, unit string, got, most float64) {
	report(b, unit, got, fmt.Sprintf("<= %g", most), got <= most)
}

func atLeast(b *testing.B, unit string, got, least float64) {
	report(b, unit, got, fmt.Sprintf(">= %g", least), got >= least)
}

// inTurns runs functions one after the other, so that all of them see the same machine,
// and returns the median of each. The first turn warms up.
func inTurns(turns int, fns ...func()) []time.Duration {
	samples := make([][]time.Duration, len(fns))
	for range turns + 1 {
		for i, fn := range fns {
			samples[i] = append(samples[i], timed(fn))
		}
	}
	medians := make([]time.Duration, len(fns))
	for i := range fns {
		medians[i] = median(samples[i][1:])
	}
	return medians
}

func timed(fn func()) time.Duration {
	begin := time.Now()
	fn()
	return time.Since(begin)
}

func median[T time.Duration | float64](samples []T) T {
	slices.Sort(samples)
	return samples[len(samples)/2]
}

func ratio(a, b time.Duration) float64 { return float64(a) / float64(b) }

func micros(d time.Duration) float64 { return float64(d) / 1e3 }

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
		run, err = g.StartRun(dag.Scope{}, dag.Process{PID: 1, BootID: "boot", Namespace: "ns"})
		return err
	})
	return run
}

// copyOf puts a graph of n tasks into a new file. The graph is built once.
func copyOf(b *testing.B, n int) string {
	from := filepath.Join(scratch, fmt.Sprintf("%d.db", n))
	if _, err := os.Stat(from); err != nil {
		s := open(b, from, dag.Options{})
		s.update(func(g *dag.Graph) error { _, err := g.Import(plan(n)); return err })
		check(s.db.Close())
	}
	to := filepath.Join(b.TempDir(), "progress.db")
	copyFile(from, to)
	return to
}

func copyFile(from, to string) { check(os.WriteFile(to, must(os.ReadFile(from)), 0o600)) }
