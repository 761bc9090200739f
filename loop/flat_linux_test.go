package loop

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"testing"

	"ralph/dag"
	"ralph/event"
	"ralph/internal/proc"
	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
)

// TestManyIterationsLeaveNothingOpen: goroutines and file descriptors are as many
// at the end as in the beginning. A thousand real agents take a minute, so that many
// are started for `just soak` only.
func TestManyIterationsLeaveNothingOpen(t *testing.T) {
	if raced {
		t.Skip("a thousand iterations are counted here, not raced; the plain run does this")
	}
	real := 50
	if os.Getenv("RALPH_SOAK") != "" {
		real = 1000
	}
	t.Run(fmt.Sprintf("%d real agents", real), func(t *testing.T) {
		s := newStage(t, fakeagent.Script{})
		s.launcher = &proc.Launcher{Owner: "flat"}
		defer s.launcher.Close()
		s.ledger = "" // which each agent reads
		s.staysFlat(t, real)
	})
	t.Run("1000 simulated ones", func(t *testing.T) {
		s := newStage(t, fakeagent.Script{})
		s.opts.Agents.Open = (&night{prompts: map[string]int{}, quick: true}).start
		s.staysFlat(t, 1000)
	})
}

// staysFlat runs that many iterations and compares the first fifth with the last. What
// is just ending may be counted at any one of them, so it is the least of the last fifth
// that must not have grown: a leak is in all of them.
func (s *stage) staysFlat(t *testing.T, iterations int) {
	t.Helper()
	var tasks []dag.NewTask
	for i := range iterations {
		tasks = append(tasks, dag.NewTask{Title: fmt.Sprint(i)})
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
