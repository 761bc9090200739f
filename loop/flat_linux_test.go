package loop

import (
	"fmt"
	"os"
	"runtime"
	"testing"

	"ralph/dag"
	"ralph/internal/fakeagent"
	"ralph/internal/proc"
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
		s.opts.Open = (&night{prompts: map[string]int{}, quick: true}).start
		s.staysFlat(t, 1000)
	})
}

// staysFlat runs that many iterations and compares the first tenth with the last.
func (s *stage) staysFlat(t *testing.T, iterations int) {
	t.Helper()
	var tasks []dag.NewTask
	for i := range iterations {
		tasks = append(tasks, dag.NewTask{Title: fmt.Sprint(i)})
	}
	s.add(t, tasks...)
	var first, last [2]int // goroutines, files
	seen := 0
	s.opts.Observe = func(e Event) {
		if e.Type != TaskClaimed { // between two agents
			return
		}
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Error(err)
		}
		now := [2]int{runtime.NumGoroutine(), len(entries)}
		seen++
		if seen <= iterations/10 {
			first = [2]int{max(first[0], now[0]), max(first[1], now[1])}
		}
		last = now
	}
	r := s.start(t)
	out, err := r.Run(t.Context())
	if err != nil || out.Counts.Done != iterations {
		t.Fatalf("got %+v, %v", out, err)
	}
	if err := r.Finish(t.Context(), out); err != nil {
		t.Fatal(err)
	}
	t.Logf("goroutines and files: at most %v in the first tenth, %v in the last iteration", first, last)
	if last[0] > first[0]+5 || last[1] > first[1]+5 {
		t.Errorf("goroutines and files grew from %v to %v", first, last)
	}
}
