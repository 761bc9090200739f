//go:build linux

package sandbox

import (
	"os"
	"strconv"
	"testing"
	"time"

	"ralph/internal/proc"
	"ralph/internal/testing/check"
)

// startOnce starts a process that does nothing and waits for its end.
func startOnce(b *testing.B, w *world, data []byte) {
	p, err := proc.Start(proc.Spec{Argv: []string{"true"}, Env: os.Environ(), Dir: w.Project, Confine: data})
	check.OK(b, err)
	if exit, err := p.Wait(); err != nil || !exit.Ok() {
		b.Fatal(exit, err)
	}
}

// BenchmarkStart compares a confined start with a bare one, both through proc.
// The two take turns, so that a busy machine is busy for both.
func BenchmarkStart(b *testing.B) {
	for _, level := range []Level{Landlock, Namespaces} {
		for _, mode := range []Mode{Work, Verify} {
			b.Run(level.String()+"/"+string(mode), func(b *testing.B) {
				need(b, level)
				w := newWorld(b)
				data, err := w.profile(level, mode).Encode()
				check.OK(b, err)
				var bare, confined time.Duration
				for b.Loop() {
					begin := time.Now()
					startOnce(b, w, nil)
					middle := time.Now()
					startOnce(b, w, data)
					bare += middle.Sub(begin)
					confined += time.Since(middle)
				}
				report(b, bare, confined)
			})
		}
	}
}

// BenchmarkStartInPlace compares a start in a project that is seen in the place of another one with a start where it is.
func BenchmarkStartInPlace(b *testing.B) {
	need(b, Namespaces)
	w := newWorld(b)
	own, err := w.profile(Namespaces, Work).Encode()
	check.OK(b, err)
	placed, err := w.placed(b, Work).Encode()
	check.OK(b, err)
	var before, after time.Duration
	for b.Loop() {
		begin := time.Now()
		startOnce(b, w, own)
		middle := time.Now()
		startOnce(b, w, placed)
		before += middle.Sub(begin)
		after += time.Since(middle)
	}
	report(b, before, after)
}

// BenchmarkGoTest compares a test run in the verify profile with one outside,
// with a warm cache.
func BenchmarkGoTest(b *testing.B) {
	need(b, Namespaces)
	w := newWorld(b)
	env, caches := goProject(b, w)
	bare := w.profile(None, Verify)
	inside := w.profile(Namespaces, Verify)
	inside.Cache = caches
	run(b, bare, env, "go", "test", "-count=1", ".")
	var out, in time.Duration
	for n := 0; b.Loop(); n++ {
		// A new test each time: compiled and linked, not only run.
		must(os.WriteFile(w.Project+"/n_test.go", []byte("package x\n\nconst n = "+strconv.Itoa(n)+"\n"), 0o644))
		begin := time.Now()
		run(b, inside, env, "go", "test", "-count=1", ".")
		middle := time.Now()
		run(b, bare, env, "go", "test", "-count=1", ".")
		in += middle.Sub(begin)
		out += time.Since(middle)
	}
	report(b, out, in)
}

func report(b *testing.B, bare, confined time.Duration) {
	b.ReportMetric(float64(bare.Microseconds())/1000/float64(b.N), "bare-ms")
	b.ReportMetric(float64(confined.Microseconds())/1000/float64(b.N), "confined-ms")
	b.ReportMetric(float64(confined)/float64(bare), "ratio")
	b.ReportMetric(0, "ns/op")
}
