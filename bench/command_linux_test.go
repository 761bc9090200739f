package bench

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// readyQuery is one indexed query that gives the same task as the command.
const readyQuery = `SELECT id, title FROM tasks INDEXED BY queue_all WHERE queue = 0 ORDER BY priority, n LIMIT 1`

// BenchmarkCommand measures the program as people start it: its size, its memory, and how
// long short commands take, one of them against sqlite3 on the same file.
func BenchmarkCommand(b *testing.B) {
	ralph := build(b)
	project := b.TempDir()
	run(b, "", ralph, "--project", project, "init")
	file := filepath.Join(project, ".ralph", "progress.db")
	copyFile(copyOf(b, sized(10_000, 100_000)), file)
	turns := sized(10, 40)
	list := []string{ralph, "--project", project, "task", "list", "--ready", "--limit", "1"}
	for b.Loop() {
		atMost(b, "binary-MB", float64(must(os.Stat(ralph)).Size())/1e6, 45)
		atMost(b, "list-resident-MB", float64(maxRSS(b, list))/1e6, 20)
		version := inTurns(turns, func() { run(b, "ralph", ralph, "version") })[0]
		atMost(b, "version-ms", version.Seconds()*1000, 60)
		if path, _ := exec.LookPath("sqlite3"); path == "" {
			b.Log("there is no sqlite3 to compare with")
			continue
		}
		times := inTurns(turns, func() { run(b, "Step ", list...) }, func() { run(b, "Step ", "sqlite3", file, readyQuery) })
		b.ReportMetric(times[0].Seconds()*1000, "list-ms")
		atMost(b, "list/sqlite3", ratio(times[0], times[1]), 3)
	}
}

func run(b *testing.B, want string, args ...string) {
	out, err := exec.CommandContext(b.Context(), args[0], args[1:]...).CombinedOutput()
	if err != nil || !strings.Contains(string(out), want) {
		b.Fatalf("%s: %v, want %q in: %s", strings.Join(args, " "), err, want, out)
	}
}

// build makes the program as it is released.
func build(b *testing.B) string {
	target := filepath.Join(b.TempDir(), "ralph")
	cmd := exec.CommandContext(b.Context(), "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", target, "./cmd/ralph")
	cmd.Dir, cmd.Env = "..", append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	return target
}

// setChildSubreaper is PR_SET_CHILD_SUBREAPER: orphans among our descendants
// become our children.
const setChildSubreaper = 36

// maxRSS runs a command and returns the most memory in bytes that it had at a
// time. Linux hands the mark of a process on to what it executes, and ours is
// high; so a small shell starts the command, leaves, and we inherit it.
func maxRSS(b *testing.B, args []string) int64 {
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, setChildSubreaper, 1, 0); errno != 0 {
		b.Fatal(errno)
	}
	check(exec.Command("sh", append([]string{"-c", `"$@" >/dev/null &`, "sh"}, args...)...).Run())
	var status syscall.WaitStatus
	var usage syscall.Rusage
	must(syscall.Wait4(-1, &status, 0, &usage))
	if status.ExitStatus() != 0 {
		b.Fatalf("%s: status %d", args[0], status.ExitStatus())
	}
	return usage.Maxrss * 1024
}
