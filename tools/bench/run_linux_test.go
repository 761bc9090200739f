package bench

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// BenchmarkRun measures an iteration of ralph run, as the shell starts it, against a bare client
// of the same agent.
func BenchmarkRun(b *testing.B) {
	h := newHarness(b)
	git, plain := h.repository(10, false), h.project(false)
	h.tasks("", git).do(1)
	prompt := must(filepath.Glob(filepath.Join(git, ".ralph", "runs", "*", "*", "prompt.md")))[0]
	sides := []side{
		h.bareClient(prompt),
		h.tasks("git, gate, sandbox", git),
		h.tasks("the same without sandbox", git, "--sandbox", "off"),
		h.tasks("the same without verification", git, "--no-verify"),
		h.tasks("the same without git", plain),
		h.tasks("none of the three", plain, "--sandbox", "off", "--no-verify"),
		h.tasks("git, gate, sandbox and a verifying agent", h.repository(10, true)),
	}
	for b.Loop() {
		costs := perIteration(5, sized(2, 12), sides)
		bare, t := costs[0].each.cpu, newTable(b)
		for i, c := range costs[1:] {
			goal := ""
			if i == 0 {
				goal = below(ratio(c.each.cpu, bare), 20)
			}
			t.row(sides[i+1].name, show(c.each.cpu), show(bare)+" bare client", times(c.each.cpu, bare), goal)
		}
		t.row("starting and ending the first of them", show(costs[1].once.cpu), show(bare)+" bare client", times(costs[1].once.cpu, bare), "")
	}
}

// BenchmarkRepository measures an iteration over the size of the repository, in git status of it.
func BenchmarkRepository(b *testing.B) {
	for _, files := range sized([]int{100}, []int{100, 10_000, 100_000}) {
		b.Run(fmt.Sprint(files), func(b *testing.B) {
			h := newHarness(b)
			git, plain := h.repository(files, false), h.project(false)
			sides := []side{
				{"git status", func(n int) (sum cost) {
					for range n {
						c, _ := h.cost(git, "git", "status")
						sum = sum.plus(c)
					}
					return sum
				}},
				h.bareClient(os.DevNull),
				h.tasks("without git", plain),
				h.tasks("an agent changes a file", git),
				h.tasks("an agent changes nothing", git, "--agent", h.agent),
			}
			for b.Loop() {
				costs := perIteration(5, sized(2, 6), sides)
				status, t := costs[0].each.cpu, newTable(b)
				for i, c := range costs[1:] {
					goal := ""
					if i >= 2 && files >= 1_000 {
						goal = below(ratio(c.each.cpu, status), 3)
					}
					t.row(fmt.Sprintf("%s, %d files", sides[i+1].name, files), show(c.each.cpu), show(status)+" git status", times(c.each.cpu, status), goal)
				}
			}
		})
	}
}

// BenchmarkTasks measures an iteration over the size of the graph.
func BenchmarkTasks(b *testing.B) {
	h := newHarness(b)
	for _, scope := range []struct {
		name  string
		flags []string
	}{{"all", nil}, {"feature", []string{"--feature", feature}}} {
		b.Run(scope.name, func(b *testing.B) {
			sizes := sized([]int{100, 1_000}, []int{1_000, 100_000, 1_000_000})
			var sides []side
			for _, n := range sizes {
				dir := h.graph(n)
				sides = append(sides, side{fmt.Sprintf("%s, %d tasks", scope.name, n), func(n int) cost {
					return h.run(dir, n, append(scope.flags, "--no-verify")...)
				}})
			}
			for b.Loop() {
				costs := perIteration(5, sized(2, 12), sides)
				small, t := costs[0], newTable(b)
				for i, c := range costs {
					goal := ""
					if i == 1 {
						goal = below(ratio(c.each.cpu, small.each.cpu), 1.2)
					}
					t.row(sides[i].name, show(c.each.cpu), fmt.Sprint(show(small.each.cpu), " at ", sizes[0]), times(c.each.cpu, small.each.cpu), goal)
				}
				for i, c := range costs {
					t.row("starting and ending a run, "+sides[i].name, show(c.once.cpu), fmt.Sprint(show(small.once.cpu), " at ", sizes[0]), times(c.once.cpu, small.once.cpu), "")
				}
			}
		})
	}
}

// BenchmarkJobs measures how many tasks a second several agents at once, in slots, get done, by the clock, because they may wait
// for each other, and by processor time, because the machine may be busy.
func BenchmarkJobs(b *testing.B) {
	h := newHarness(b)
	for _, jobs := range sized([]int{4}, []int{1, 4, 16}) {
		b.Run(fmt.Sprint(jobs), func(b *testing.B) {
			sizes := sized([]int{1_000, 10_000}, []int{1_000, 100_000})
			var sides []side
			for _, n := range sizes {
				dir := h.graph(n)
				h.commit(dir)
				sides = append(sides, side{fmt.Sprint(n), func(n int) cost { // agents that change a file would only conflict
					return h.run(dir, n+jobs, "--no-verify", "--agent", h.agent, "--target", "main", "--jobs", fmt.Sprint(jobs))
				}})
			}
			for b.Loop() {
				costs := perIteration(4, sized(4, 32), sides)
				small, t := costs[0].each, newTable(b)
				row := func(by string, n int, took, small time.Duration) {
					goal := ""
					if jobs == 16 && n > sizes[0] {
						goal = above(ratio(small, took), 0.9)
					}
					perSecond := func(d time.Duration) string { return fmt.Sprintf("%.0f/s", 1/d.Seconds()) }
					t.row(fmt.Sprintf("jobs %d, %d tasks, by %s", jobs, n, by), perSecond(took), perSecond(small)+" at 1000", times(small, took), goal)
				}
				for i, c := range costs {
					row("the clock", sizes[i], c.each.wall, small.wall)
					row("processor time", sizes[i], c.each.cpu, small.cpu)
				}
			}
		})
	}
}

// side is something that can be done n times.
type side struct {
	name string
	do   func(n int) cost
}

// runCost is what a run costs for each iteration, and once, for its start and its end.
type runCost struct{ each, once cost }

// perIteration has the sides take turns, each with a run of one iteration and a run of n more, whose difference is
// what n iterations cost.
func perIteration(turns, n int, sides []side) (costs []runCost) {
	var fns []func() cost
	for _, s := range sides {
		var one cost
		fns = append(fns,
			func() cost { one = s.do(1); return one },
			func() cost {
				more := s.do(1 + n)
				return cost{cpu: (more.cpu - one.cpu) / time.Duration(n), wall: (more.wall - one.wall) / time.Duration(n)}
			})
	}
	all := inTurns(turns, fns...)
	for i := range sides {
		one, each := all[2*i], all[2*i+1]
		costs = append(costs, runCost{each: each, once: cost{cpu: one.cpu - each.cpu, wall: one.wall - each.wall}})
	}
	return costs
}

// harness has the programs, and makes projects.
type harness struct {
	b                  *testing.B
	ralph, bare, agent string
}

func newHarness(b *testing.B) *harness {
	return &harness{b: b, ralph: build(b, "../..", "./cmd/ralph"), bare: build(b, ".", "./bareclient"), agent: build(b, ".", "./nullagent")}
}

// changed is the file that the agent writes in each turn, if it writes one.
const changed = "work.txt"

// bareClient sends a prompt to n agents, one after the other. They have a folder of their own: what they change in that of a project keeps
// its branch from following what lands.
func (h *harness) bareClient(prompt string) side {
	dir := h.b.TempDir()
	return side{"bare client", func(n int) cost {
		c, _ := h.cost(dir, h.bare, fmt.Sprint(n), prompt, h.agent, "-change", changed)
		return c
	}}
}

// tasks adds n tasks with a gate that passes, and does them.
func (h *harness) tasks(name, dir string, flags ...string) side {
	return side{name, func(n int) cost {
		h.add(dir, n)
		return h.run(dir, n, flags...)
	}}
}

// project makes a project without git.
func (h *harness) project(verifier bool) string {
	dir := h.b.TempDir()
	h.output(dir, h.ralph, "init")
	config := fmt.Sprintf("[agent]\nuse = \"null\"\n[agents.null]\ncommand = %q\n[verify]\nenabled = %v\n[gc]\nauto = false\n",
		h.agent+" -change "+changed, verifier)
	check(os.WriteFile(filepath.Join(dir, ".ralph.toml"), []byte(config), 0o600))
	check(os.WriteFile(filepath.Join(dir, changed), nil, 0o600))
	return dir
}

// repository makes a project with so many more files, all of them committed.
func (h *harness) repository(files int, verifier bool) string {
	dir := h.project(verifier)
	for i := range files {
		path := filepath.Join(dir, fmt.Sprintf("d%02d", i%100), fmt.Sprintf("e%d", i/100%10), fmt.Sprintf("f%d.go", i))
		check(os.MkdirAll(filepath.Dir(path), 0o700))
		check(os.WriteFile(path, fmt.Appendf(nil, "package e\n\nconst N%d = %d\n", i, i), 0o600))
	}
	h.commit(dir)
	return dir
}

// commit makes a repository of a folder, with all that is in it.
func (h *harness) commit(dir string) {
	h.output(dir, "git", "init", "-q", "-b", "main")
	h.output(dir, "git", "add", "-A")
	h.output(dir, "git", "-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "gc.auto=0", "commit", "-qm", "all")
}

// graph makes a project without git with so many tasks, in two layers: of 1,000 there are always 16 ready.
func (h *harness) graph(n int) string {
	dir := h.project(false)
	copyFile(copyOf(h.b, n, 2), filepath.Join(dir, ".ralph", "progress.db"))
	return dir
}

// add adds tasks with a gate that passes.
func (h *harness) add(dir string, n int) {
	var plan strings.Builder
	for i := range n {
		fmt.Fprintf(&plan, `{"title": "Step %d", "description": "What has to be done.", "kind": "check", "gates": ["true"]}`+"\n", i)
	}
	h.plan(dir, plan.String())
}

// plan adds tasks.
func (h *harness) plan(dir, tasks string) {
	cmd := exec.Command(h.ralph, "task", "import", "-")
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(tasks)
	if out, err := cmd.CombinedOutput(); err != nil {
		h.b.Fatalf("%v: %s", err, out)
	}
}

// run does n tasks.
func (h *harness) run(dir string, n int, flags ...string) cost {
	c, out := h.cost(dir, append([]string{h.ralph, "run", "--limit", fmt.Sprint(n), "--json"}, flags...)...)
	if strings.Count(out, `"outcome":"done"`) != n {
		h.b.Fatalf("want %d tasks done: %s", n, out)
	}
	return c
}

// cost runs a command until it and all that it started are gone.
func (h *harness) cost(dir string, args ...string) (cost, string) {
	var out bytes.Buffer
	cmd := exec.CommandContext(h.b.Context(), args[0], args[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &out
	adoptOrphans(h.b)
	begin := time.Now()
	err := cmd.Run()
	c := cost{wall: time.Since(begin)}
	if status := cmd.ProcessState.ExitCode(); err != nil && status != limited && status != failed {
		h.b.Fatalf("%s: %v: %s", strings.Join(args, " "), err, out.String())
	}
	c = c.plus(costOf(cmd.ProcessState.SysUsage().(*syscall.Rusage)))
	for {
		var usage syscall.Rusage
		if _, err := syscall.Wait4(-1, nil, 0, &usage); errors.Is(err, syscall.EINTR) {
			continue
		} else if err != nil {
			return c, out.String() // none is left
		}
		c = c.plus(costOf(&usage))
	}
}

// Exit statuses of a run that did as many iterations as it may, and of one with tasks that failed.
const (
	limited = 4
	failed  = 1
)

func (h *harness) output(dir string, args ...string) string {
	cmd := exec.CommandContext(h.b.Context(), args[0], args[1:]...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		h.b.Fatalf("%s: %v: %s", strings.Join(args, " "), err, out)
	}
	return string(out)
}
