package bench

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// readyQuery is one indexed query that gives the same task as the command.
const readyQuery = `SELECT id, title FROM tasks INDEXED BY queue_all WHERE queue = 0 ORDER BY priority, n LIMIT 1`

// BenchmarkCommand measures the program as people start it: its size, its memory, and how
// long short commands take, one of them against sqlite3 on the same file.
func BenchmarkCommand(b *testing.B) {
	h := newHarness(b)
	n, turns := sized(10_000, 100_000), 40
	dir := h.graph(n)
	started := func(want string, args ...string) func() cost {
		return func() cost {
			c, out := h.cost(dir, args...)
			if !strings.Contains(out, want) {
				b.Fatalf("%s: want %q in: %s", strings.Join(args, " "), want, out)
			}
			return c
		}
	}
	list := []string{h.ralph, "task", "list", "--ready", "--limit", "1"}
	for b.Loop() {
		t := newTable(b)
		size, resident := float64(must(os.Stat(h.ralph)).Size())/1e6, float64(maxRSS(b, dir, list...))/1e6
		t.row("binary, stripped", fmt.Sprintf("%.1f MB", size), "", "", below(size, 45))
		t.row("most memory of `ralph task list --ready --limit 1`", fmt.Sprintf("%.1f MB", resident), "", "", below(resident, 25))
		costs := inTurns(turns, started("ralph", h.ralph, "version"), started("tasks", h.ralph, "status"))
		t.row("`ralph version`, by the clock", show(costs[0].wall), "", "", below(costs[0].wall.Seconds()*1000, 60))
		t.row(fmt.Sprintf("`ralph status`, %d tasks", n), show(costs[1].cpu), show(costs[0].cpu)+" `ralph version`", times(costs[1].cpu, costs[0].cpu),
			below(costs[1].cpu.Seconds()*1000, 10))
		t.row("the same, by the clock", show(costs[1].wall), show(costs[0].wall)+" `ralph version`", times(costs[1].wall, costs[0].wall), "")
		if path, _ := exec.LookPath("sqlite3"); path == "" {
			b.Log("there is no sqlite3 to compare with")
			continue
		}
		costs = inTurns(turns, started("Step ", list...), started("Step ", "sqlite3", filepath.Join(dir, ".ralph", "progress.db"), readyQuery))
		t.row(fmt.Sprintf("`ralph task list --ready --limit 1`, %d tasks, by the clock", n), show(costs[0].wall), show(costs[1].wall)+" sqlite3",
			times(costs[0].wall, costs[1].wall), below(ratio(costs[0].wall, costs[1].wall), 3))
		t.row("the same, by processor time", show(costs[0].cpu), show(costs[1].cpu)+" sqlite3", times(costs[0].cpu, costs[1].cpu), "")
	}
}

// BenchmarkText measures the most memory that a run has while an agent says a lot.
func BenchmarkText(b *testing.B) {
	h := newHarness(b)
	dir := h.project(false)
	most := func(megabytes int) float64 {
		h.add(dir, 1)
		return float64(maxRSS(b, dir, h.ralph, "run", "--agent", fmt.Sprintf("%s -say %d", h.agent, megabytes))) / 1e6
	}
	for b.Loop() {
		little, much := 5, sized(20, 200)
		a, c := most(little), most(much)
		newTable(b).row(fmt.Sprintf("most memory with %d MB of text", much), fmt.Sprintf("%.1f MB", c),
			fmt.Sprintf("%.1f MB with %d MB of text", a, little), fmt.Sprintf("%.2f", c/a), below(c/a, 1.3))
	}
}

// build makes a program as ralph is released, once. It is copied, as whoever installs it does: the linker writes its
// file piecemeal, and until that is read from the disk again each start pays for the small pages in the kernel's cache.
func build(b *testing.B, dir, pkg string) string {
	target := filepath.Join(scratch, filepath.Base(pkg))
	cmd := exec.CommandContext(b.Context(), "go", "build", "-tags", "urfave_cli_no_docs", "-trimpath", "-ldflags", "-s -w", "-o", target+"-linked", pkg)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "CGO_ENABLED=0")
	if _, err := os.Stat(target); err == nil {
		return target
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	copyFile(target+"-linked", target)
	check(os.Chmod(target, 0o700))
	return target
}

// adoptOrphans makes orphans among our descendants our children.
func adoptOrphans(b *testing.B) {
	const setChildSubreaper = 36
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, setChildSubreaper, 1, 0); errno != 0 {
		b.Fatal(errno)
	}
}

// maxRSS runs a command and returns the most memory in bytes that it, or a process that it started, had at a
// time. Linux hands the mark of a process on to what it executes, and ours is high; so a small shell starts the
// command, leaves, and we inherit it.
func maxRSS(b *testing.B, dir string, args ...string) int64 {
	adoptOrphans(b)
	cmd := exec.CommandContext(b.Context(), "sh", append([]string{"-c", `"$@" >/dev/null 2>&1 & echo $!`, "sh"}, args...)...)
	cmd.Dir = dir
	pid := must(strconv.Atoi(strings.TrimSpace(string(must(cmd.Output())))))
	var status syscall.WaitStatus
	var usage syscall.Rusage
	must(syscall.Wait4(pid, &status, 0, &usage))
	if status.ExitStatus() != 0 {
		b.Fatalf("%s: status %d", strings.Join(args, " "), status.ExitStatus())
	}
	return costOf(&usage).resident
}
