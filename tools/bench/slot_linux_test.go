package bench

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// BenchmarkSlot measures how a warm slot becomes ready for its next task: from the end of the attempt before to the
// moment at which the agent has its prompt, in git status of the same repository.
func BenchmarkSlot(b *testing.B) {
	b.Setenv("XDG_STATE_HOME", b.TempDir())
	h := newHarness(b)
	files := sized(1_000, 50_000)
	dir := h.repository(files, false)
	for b.Loop() {
		turns, t := sized(2, 12), newTable(b)
		status := medians(h.statuses(dir, turns)).cpu
		ready := median(h.ready(dir, turns))
		t.row(fmt.Sprintf("a slot ready for its next task, %d files", files), show(ready), show(status)+" git status", times(ready, status), below(ratio(ready, status), 3))
	}
}

func (h *harness) statuses(dir string, turns int) (all []cost) {
	for range turns {
		c, _ := h.cost(dir, "git", "status")
		all = append(all, c)
	}
	return all
}

// ready runs tasks whose agent waits when it has its prompt, and returns what each but the first has cost by then.
func (h *harness) ready(dir string, turns int) (all []time.Duration) {
	gate := h.agent + ".gate" // where the sandbox shows an agent the file itself
	check(syscall.Mkfifo(gate, 0o600))
	defer os.Remove(gate)
	h.add(dir, turns+1)
	old := len(h.events(dir))
	var out bytes.Buffer
	cmd := exec.CommandContext(h.b.Context(), h.ralph, "run", "--target", "landed", "--limit", fmt.Sprint(turns+1),
		"--agent", fmt.Sprintf("%s -change %s -gate %s", h.agent, changed, gate))
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &out
	check(cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	until := func(there func() bool) {
		for !there() {
			select {
			case <-ended:
				h.b.Fatalf("the run ended: %s", out.String())
			case <-time.After(time.Millisecond):
			}
		}
	}
	var claimed time.Duration
	for turn := range turns + 1 {
		var prompted *os.File
		until(func() (open bool) {
			var err error
			prompted, err = os.OpenFile(gate, os.O_WRONLY|syscall.O_NONBLOCK, 0)
			return err == nil
		})
		if turn > 0 { // the first makes the slot
			all = append(all, treeCPU(cmd.Process.Pid)-claimed)
		}
		check(prompted.Close())
		if turn == turns {
			break
		}
		until(func() bool { return bytes.Count(h.events(dir)[old:], []byte(`"type":"attempt_ended"`)) > turn })
		claimed = treeCPU(cmd.Process.Pid)
	}
	<-ended
	return all
}

// events is what all runs have reported.
func (h *harness) events(dir string) (all []byte) {
	for _, path := range must(filepath.Glob(filepath.Join(dir, ".ralph", "runs", "*", "events.jsonl"))) {
		all = append(all, must(os.ReadFile(path))...)
	}
	return all
}

// treeCPU is what a process, those that it waited for, and those that it has running have used.
func treeCPU(pid int) (sum time.Duration) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0 // it has ended meanwhile, and counts for who waited for it
	}
	const utime, cstime, hertz = 11, 14, 100 // as fields after the name, which is in brackets
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	for _, field := range fields[utime : cstime+1] {
		sum += time.Duration(must(strconv.Atoi(field))) * time.Second / hertz
	}
	for _, path := range must(filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))) {
		children, _ := os.ReadFile(path) // a thread may end
		for _, child := range strings.Fields(string(children)) {
			sum += treeCPU(must(strconv.Atoi(child)))
		}
	}
	return sum
}
