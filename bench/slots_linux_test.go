package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// BenchmarkSlots measures how much sooner agents in slots are done than one of them, all of which wait
// as long as real ones work; their gates wait a tenth of that.
func BenchmarkSlots(b *testing.B) {
	h := newHarness(b)
	turn := sized(time.Second, 10*time.Second)
	each := sized(2, 4)
	for b.Loop() {
		t := newTable(b)
		one := h.slots(1, each, turn, fmt.Sprintf("sleep %g", turn.Seconds()/10), 0)
		for _, jobs := range sized([]int{2}, []int{2, 4, 8, 16}) {
			some := h.slots(jobs, each*jobs, turn, fmt.Sprintf("sleep %g", turn.Seconds()/10), 0)
			speedup := some.rate() / one.rate()
			t.row(fmt.Sprintf("jobs %d, %d tasks", jobs, some.done), show(some.wall), show(one.wall)+fmt.Sprintf(" jobs 1, %d tasks", one.done),
				fmt.Sprintf("%.2f", speedup), above(speedup, 0.8*float64(jobs)))
			t.row("gates run for each task", fmt.Sprintf("%.2f", some.gatesEach()), "", "", below(some.gatesEach(), 1.2))
		}
	}
}

// BenchmarkWindow measures how many tasks land in a minute with windows of the merge queue. One task in ten
// is red, so that what was tested on it was tested in vain.
func BenchmarkWindow(b *testing.B) {
	h := newHarness(b)
	const burn = "i=0; while [ $i -lt %d ]; do i=$((i+1)); done"
	loops := sized(50_000, 1_500_000) // a second or so
	all := strings.Repeat(fmt.Sprintf("(%s) & ", fmt.Sprintf(burn, loops/runtime.NumCPU())), runtime.NumCPU()) + "wait"
	for _, gate := range []struct{ name, command string }{
		{"gates that wait", "sleep 1"}, {"gates on one processor", fmt.Sprintf(burn, loops)}, {"gates on all processors", all},
	} {
		b.Run(strings.ReplaceAll(gate.name, " ", "-"), func(b *testing.B) {
			const jobs = 8
			var windows []int
			for b.Loop() {
				t := newTable(b)
				windows = []int{0, 1, 2, jobs}
				var auto landing
				for _, window := range windows {
					l := h.slots(jobs, sized(jobs, 6*jobs), 4*time.Second, gate.command, window)
					name := fmt.Sprintf("%s, window %d", gate.name, window)
					if window == 0 {
						auto, name = l, gate.name+", automatic"
					}
					t.row(name, fmt.Sprintf("%.1f a minute", 60*l.rate()), fmt.Sprintf("%.1f automatic", 60*auto.rate()), fmt.Sprintf("%.2f", l.rate()/auto.rate()), "")
					t.row("gates run for each task", fmt.Sprintf("%.2f", l.gatesEach()), "", "", "")
				}
			}
		})
	}
}

// landing is a run in slots.
type landing struct {
	cost
	done, gates int
}

// rate is how many tasks were done in a second.
func (l landing) rate() float64 { return float64(l.done) / l.wall.Seconds() }

// gatesEach is how often gates ran for each task, with what they said of the project before the first.
func (l landing) gatesEach() float64 { return float64(l.gates) / float64(l.done) }

// slots lets agents that wait do tasks side by side. With a window, one task in ten is red.
func (h *harness) slots(jobs, n int, turn time.Duration, gate string, window int) landing {
	dir, outside := h.repository(100, false), h.b.TempDir()
	ran := filepath.Join(outside, "ran")
	config := fmt.Sprintf("[agent]\nuse = \"null\"\n[agents.null]\ncommand = %q\n[verify]\nenabled = false\ncommands = [%q]\n[parallel]\ndir = %q\n[merge]\nwindow = %d\n",
		h.agent+" -change work-TASK.txt -wait "+turn.String(), "echo >> "+ran+"; "+gate, filepath.Join(outside, "slots"), window)
	check(os.WriteFile(filepath.Join(dir, ".ralph.toml"), []byte(config), 0o600))
	h.output(dir, "git", "-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "gc.auto=0", "commit", "-qam", "settings")
	h.add(dir, n)
	h.output(dir, "git", "branch", "lands")
	l := landing{done: n}
	l.cost, _ = h.cost(dir, h.ralph, "run", "--json", "--sandbox", "off", "--jobs", fmt.Sprint(jobs), "--target", "lands")
	l.gates = strings.Count(string(must(os.ReadFile(ran))), "\n")
	landed := strings.TrimSpace(h.output(dir, "git", "rev-list", "--count", "HEAD..lands"))
	if landed != fmt.Sprint(n) {
		h.b.Fatalf("%s commits landed, want %d", landed, n)
	}
	return l
}
