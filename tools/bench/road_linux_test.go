package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"ralph/internal/git"
	"ralph/internal/slot"
)

// BenchmarkRoad measures what it costs that work is done in slots and judged in rooms, instead of in the project's folder.
func BenchmarkRoad(b *testing.B) {
	b.Run("Room", benchmarkRoom)
	b.Run("Task", benchmarkTask)
	b.Run("Caches", benchmarkCaches)
	b.Run("Accept", benchmarkAccept)
}

// benchmarkRoom compares rooms with checkouts that git makes and moves.
func benchmarkRoom(b *testing.B) {
	h := newHarness(b)
	files := sized(1_000, 10_000)
	dir := h.repository(files, false)
	a := strings.TrimSpace(h.output(dir, "git", "rev-parse", "HEAD"))
	check(os.WriteFile(filepath.Join(dir, changed), []byte("changed\n"), 0o600))
	h.output(dir, "git", "-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "-qam", "change")
	z := strings.TrimSpace(h.output(dir, "git", "rev-parse", "HEAD"))
	checkout := filepath.Join(b.TempDir(), "checkout")
	h.output(dir, "git", "clone", "-q", "--shared", dir, checkout)

	ctx, home := b.Context(), b.TempDir()
	rooms := func(name string, layered bool) *slot.Pool {
		return slot.Open(slot.Options{
			Repo: must(git.OpenRepo(ctx, dir)), Dir: filepath.Join(home, name), State: filepath.Join(home, name+"-state"), Project: dir, Name: "bench", Branch: "refs/heads/main",
			Layers: func(string, string) bool { return layered }, // nothing is started in them
		})
	}
	layered, plain := rooms("layered", true), rooms("plain", false)
	check(layered.Room(1).Show(ctx, a, a))
	check(plain.Room(1).Show(ctx, a, a))
	turn := 0
	for b.Loop() {
		t := newTable(b)
		costs := inTurns(10,
			children(func() { turn++; h.output(checkout, "git", "checkout", "-q", []string{a, z}[turn%2]) }),
			children(func() { check(layered.Room(1).Show(ctx, a, []string{a, z}[turn%2])) }),
			children(func() { check(plain.Room(1).Show(ctx, a, []string{a, z}[turn%2])) }))
		row := func(name string, is cost, goal string) {
			t.row(fmt.Sprintf("%s shows another commit, %d files", name, files), show(is.cpu), show(costs[0].cpu)+" git checkout", times(is.cpu, costs[0].cpu), goal)
		}
		row("a room, namespaces,", costs[1], below(ratio(costs[1].cpu, costs[0].cpu), 1))
		row("a room, other levels,", costs[2], "")
		for n := range 4 {
			check(layered.Room(n+1).Show(ctx, a, z))
		}
		rooms, one := onDisk(filepath.Join(home, "layered")), onDisk(checkout)
		t.row("four rooms on disk", mib(rooms), mib(one)+" a checkout", fmt.Sprintf("%.2f", float64(rooms)/float64(one)), below(float64(rooms)/float64(one), 2))
	}
}

// benchmarkTask compares a task in a slot with one in the project's folder.
func benchmarkTask(b *testing.B) {
	h := newHarness(b)
	files := sized(100, 10_000)
	for b.Loop() {
		dir, t := h.repository(files, false), newTable(b)
		costs := perIteration(5, sized(2, 8), []side{h.tasks("in place", dir, "--in-place"), h.tasks("in a slot", dir)})
		here, slot := costs[0].each.cpu, costs[1].each.cpu
		t.row(fmt.Sprintf("a task in a slot, %d files", files), show(slot), show(here)+" in place", times(slot, here), below(ratio(slot, here), 1.5))
	}
}

// benchmarkCaches compares go test, as a gate in a room and as an agent in a second slot, with go test in the project's folder.
func benchmarkCaches(b *testing.B) {
	h := newHarness(b)
	for b.Loop() {
		dir, t := h.goModule(), newTable(b)
		gated := func(gate string) side {
			return side{gate, func(n int) cost {
				h.plan(dir, strings.Repeat(fmt.Sprintf(`{"title": "Step", "kind": "check", "gates": [%q]}`+"\n", gate), n))
				return h.run(dir, n)
			}}
		}
		folder := side{"go test", func(n int) (sum cost) {
			for range n {
				c, _ := h.cost(dir, "go", "test", "./...")
				sum = sum.plus(c)
			}
			return sum
		}}
		costs := perIteration(4, sized(2, 6), []side{folder, gated("true"), gated("go test ./...")})
		warm, room := costs[0].each.cpu, costs[2].each.cpu-costs[1].each.cpu
		t.row("go test in a room", show(room), show(warm)+" in the folder", times(room, warm), below(ratio(room, warm), 2))

		script := "```sh\n(go test ./... && times) > took-$RALPH_SLOT.txt\n```" // times ends with what the shell's children have used
		h.plan(dir, strings.Repeat(fmt.Sprintf(`{"title": "Step", "description": %q}`+"\n", script), 2))
		h.run(dir, 2, "--agent", "shell", "--jobs", "2")
		second := childTime(filepath.Join(dir, "took-2.txt"))
		t.row("the first go test in a second slot", show(second), show(warm)+" in the folder", times(second, warm), "")
	}
}

// goModule is a project with a module whose tests take some seconds to build.
func (h *harness) goModule() string {
	dir := h.project(false)
	check(os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example.test/m\n\ngo 1.26\n"), 0o600))
	check(os.WriteFile(filepath.Join(dir, "m_test.go"), []byte("package m\n\nimport (\n\t\"net/http\"\n\t\"testing\"\n)\n\nfunc TestM(t *testing.T) {\n\tif http.StatusOK != 200 {\n\t\tt.Fatal()\n\t}\n}\n"), 0o600))
	h.commit(dir)
	return dir
}

// benchmarkAccept measures, by the clock, how long it takes until accepted work has landed.
func benchmarkAccept(b *testing.B) {
	h := newHarness(b)
	for b.Loop() {
		dir, t := h.repository(sized(100, 10_000), false), newTable(b)
		var took []time.Duration
		for n := range sized(2, 5) {
			id := fmt.Sprintf("t-%08d", n+1)
			h.plan(dir, fmt.Sprintf(`{"ref": %q, "title": "Step", "kind": "check", "gates": ["true"]}`+"\n", id))
			h.cost(dir, h.ralph, "run", "--review", "--limit", "1")
			begin := time.Now()
			h.output(dir, h.ralph, "task", "accept", id)
			h.cost(dir, h.ralph, "merge")
			took = append(took, time.Since(begin))
		}
		t.row("accepted work lands, gates that take nothing", show(median(took)), "2 s", times(median(took), 2*time.Second), below(ratio(median(took), 2*time.Second), 1))
	}
}

// children measures what a function and the processes that it waits for use.
func children(fn func()) func() cost {
	return func() cost {
		used := func() cost {
			var self, below syscall.Rusage
			check(syscall.Getrusage(syscall.RUSAGE_SELF, &self))
			check(syscall.Getrusage(syscall.RUSAGE_CHILDREN, &below))
			return costOf(&self).plus(costOf(&below))
		}
		before, begin := used(), time.Now()
		fn()
		return cost{cpu: used().cpu - before.cpu, wall: time.Since(begin)}
	}
}

// onDisk is how much the files below a folder take.
func onDisk(dir string) (sum int64) {
	check(filepath.Walk(dir, func(_ string, info os.FileInfo, err error) error {
		if stat, ok := info.Sys().(*syscall.Stat_t); err == nil && ok {
			sum += stat.Blocks * 512
		}
		return err
	}))
	return sum
}

func mib(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }

// childTime reads the last line of what times prints, such as "0m1.5s 0m0.2s".
func childTime(path string) (sum time.Duration) {
	lines := strings.Split(strings.TrimSpace(string(must(os.ReadFile(path)))), "\n")
	for _, field := range strings.Fields(lines[len(lines)-1]) {
		minutes, seconds, _ := strings.Cut(strings.TrimSuffix(field, "s"), "m")
		sum += time.Duration(must(strconv.Atoi(minutes)))*time.Minute + time.Duration(must(strconv.ParseFloat(seconds, 64))*float64(time.Second))
	}
	return sum
}
