package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// BenchmarkSpeedup measures how much sooner agents in slots are done than one of them, all of which wait
// as long as real ones work; their gates wait a tenth of that.
func BenchmarkSpeedup(b *testing.B) {
	h := newHarness(b)
	turn := sized(200*time.Millisecond, 10*time.Second)
	each := sized(2, 4)
	for b.Loop() {
		t := newTable(b)
		one := h.slots(1, each, turn, fmt.Sprintf("sleep %g", turn.Seconds()/10), 0)
		for _, jobs := range sized([]int{2}, []int{2, 4, 8, 16}) {
			some := h.slots(jobs, each*jobs, turn, fmt.Sprintf("sleep %g", turn.Seconds()/10), 0)
			speedup := some.rate() / one.rate()
			if some.landed < some.tasks {
				b.Fatalf("%d of %d tasks landed", some.landed, some.tasks)
			}
			t.row(fmt.Sprintf("jobs %d, %d tasks", jobs, some.tasks), show(some.wall), fmt.Sprintf("%s jobs 1, %d tasks", show(one.wall), one.tasks),
				fmt.Sprintf("%.2f", speedup), above(speedup, 0.8*float64(jobs)))
			t.row("gates run for each task", fmt.Sprintf("%.2f", some.gatesEach()), "", "", below(some.gatesEach(), 1.2))
		}
	}
}

// BenchmarkWindow measures how many tasks land in a minute with windows of the merge queue. One task in ten
// is red, and what was tested on it is tested again.
func BenchmarkWindow(b *testing.B) {
	h := newHarness(b)
	const burn, red = "i=0; while [ $i -lt %d ]; do i=$((i+1)); done", "! ls | grep -q 5.txt"
	loops := sized(50_000, 200_000) // a third of a second
	all := strings.Repeat(fmt.Sprintf("(%s) & ", fmt.Sprintf(burn, loops/runtime.NumCPU())), runtime.NumCPU()) + "wait"
	for _, gate := range []struct{ name, command string }{
		{"gates that wait", "sleep 0.3"}, {"gates on one processor", fmt.Sprintf(burn, loops)}, {"gates on all processors", all},
	} {
		b.Run(strings.ReplaceAll(gate.name, " ", "-"), func(b *testing.B) {
			const jobs = 8
			for b.Loop() {
				t := newTable(b)
				var auto landing
				for _, window := range sized([]int{0, jobs}, []int{0, 1, 2, jobs}) {
					l := h.slots(jobs, sized(jobs, 4*jobs), sized(500*time.Millisecond, 3*time.Second), gate.command+"; "+red, window)
					name := fmt.Sprintf("%s, window %d", gate.name, window)
					if window == 0 {
						auto, name = l, gate.name+", automatic"
					}
					t.row(name, fmt.Sprintf("%.1f a minute, %.2f gates each", 60*l.rate(), l.gatesEach()), fmt.Sprintf("%.1f automatic", 60*auto.rate()),
						fmt.Sprintf("%.2f", l.rate()/auto.rate()), "")
				}
			}
		})
	}
}

// landing is a run in slots.
type landing struct {
	cost
	tasks, landed, gates int
}

// rate is how many tasks landed in a second.
func (l landing) rate() float64 { return float64(l.landed) / l.wall.Seconds() }

// gatesEach is how often gates ran for each task, with what they said of the project before the first.
func (l landing) gatesEach() float64 { return float64(l.gates) / float64(l.tasks) }

// slots lets agents that wait do tasks side by side, which are numbered from 1.
func (h *harness) slots(jobs, tasks int, turn time.Duration, gate string, window int) landing {
	dir, outside := h.repository(100, false), h.b.TempDir()
	ran := filepath.Join(outside, "ran")
	config := fmt.Sprintf("[agent]\nuse = \"null\"\n[agents.null]\ncommand = %q\n[run]\nmax_retries = 0\n[verify]\nenabled = false\nrepair_rounds = 0\ncommands = [%q]\n[parallel]\ndir = %q\n[merge]\nwindow = %d\n",
		h.agent+" -change work-TASK.txt -wait "+turn.String(), "echo >> "+ran+"; "+gate, filepath.Join(outside, "slots"), window)
	check(os.WriteFile(filepath.Join(dir, ".ralph.toml"), []byte(config), 0o600))
	h.output(dir, "git", "-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "gc.auto=0", "commit", "-qam", "settings")
	h.output(dir, "git", "branch", "lands")
	var plan strings.Builder
	for i := range tasks {
		fmt.Fprintf(&plan, `{"ref": "t-%08d", "title": "Step %d", "kind": "check"}`+"\n", i+1, i+1)
	}
	h.plan(dir, plan.String())
	l := landing{tasks: tasks}
	l.cost, _ = h.cost(dir, h.ralph, "run", "--json", "--sandbox", "off", "--jobs", fmt.Sprint(jobs), "--target", "lands")
	l.gates = strings.Count(string(must(os.ReadFile(ran))), "\n")
	l.landed = must(strconv.Atoi(strings.TrimSpace(h.output(dir, "git", "rev-list", "--count", "HEAD..lands"))))
	return l
}
