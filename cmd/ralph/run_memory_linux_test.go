package main

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
	"ralph/internal/testing/raced"
)

func init() { programs["peak"] = peakMain }

// peakMain runs a command and writes the most memory that it had, in KiB, to the file that its
// first argument names. A process begins with the peak of the one that starts it, so it is
// this small one that must start it, and not the test.
func peakMain() {
	cmd := exec.Command(os.Args[2], os.Args[3:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	_ = cmd.Run() // its exit status is ours
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok || os.WriteFile(os.Args[1], []byte(strconv.FormatInt(usage.Maxrss, 10)), 0o600) != nil {
		os.Exit(99)
	}
	os.Exit(cmd.ProcessState.ExitCode())
}

// peak runs ralph and returns the most memory that it had, in KiB. What it prints goes nowhere.
func (p *place) peak(status int, args ...string) int {
	p.Helper()
	cmd := p.command(args...)
	cmd.Path, cmd.Args = "", append([]string{"peak", "peak.txt"}, cmd.Args...)
	path, err := exec.LookPath("peak")
	check.OK(p, err)
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	check.OK(p, err)
	defer null.Close()
	cmd.Path, cmd.Stdout, cmd.Stderr = path, null, null
	p.run(cmd).wait(status)
	kib, err := strconv.Atoi(p.read("peak.txt"))
	check.OK(p, err)
	return kib
}

// TestMemoryDoesNotGrowWithWhatAnAgentSays: a run that hears much more takes hardly more
// memory, and neither does whoever reads it back. On an idle machine it is at most 1.3 times
// as much; on a busy one garbage is collected late. 200 MB take a minute, so that much is said
// for `just soak` only.
func TestMemoryDoesNotGrowWithWhatAnAgentSays(t *testing.T) {
	raced.Skip(t, "memory is measured here")
	t.Parallel()
	const chunk, little = 64_000, 4_000_000
	much := 24_000_000
	if os.Getenv("RALPH_SOAK") != "" {
		much = 200_000_000
	}
	for name, flood := range map[string]step{
		"text":             {Do: "flood", Text: strings.Repeat("word ", 15) + "\n", Chunk: chunk / 76},
		"one line":         {Do: "flood", Text: "word ", Chunk: chunk / 5, Kind: "line"},
		"thoughts":         {Do: "flood", Text: "word ", Chunk: chunk / 5, Kind: "thought"},
		"output of a tool": {Do: "flood", Text: "word ", Chunk: chunk / 5, Kind: "output"},
		"stderr":           {Do: "stderr", Text: strings.Repeat("word ", chunk/5) + "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var first []int
			for _, size := range []int{little, much} {
				flood.N = size / chunk
				p := newPlace(t, fakeagent.Script{Conversations: []fakeagent.Conversation{
					{When: fakeagent.When{Attempt: 1, Prompt: 1}, Steps: []step{flood, {Do: "say", Text: "\nso much"}}},
					{When: fakeagent.When{Attempt: 1}, Steps: []step{{Do: "say", Text: "not yet"}}},
					{Steps: []step{saysDone()}},
				}})
				p.plan("mine")
				var peaks []int
				for i, c := range []struct {
					status int
					args   []string
				}{
					{4, []string{"run", "--limit", "1", "--verbose"}},
					{0, []string{"run"}}, // its prompt has the end of what the first one said
					{0, []string{"logs", number(1)}},
					{0, []string{"report", "--format", "html"}},
				} {
					peaks = append(peaks, p.peak(c.status, c.args...))
					if first != nil && 2*peaks[i] > 3*first[i] {
						t.Errorf("%v takes %d KiB after %d MB, and %d KiB after %d", c.args, peaks[i], much/1_000_000, first[i], little/1_000_000)
					}
				}
				t.Logf("after %d MB: %v KiB", size/1_000_000, peaks)
				first = peaks
			}
		})
	}
}
