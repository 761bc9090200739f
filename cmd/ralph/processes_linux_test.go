package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"ralph/internal/proc"
	"ralph/internal/sandbox"
	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
)

// levels are those that this machine has, and none.
func levels() []sandbox.Level {
	return slices.DeleteFunc([]sandbox.Level{sandbox.None, sandbox.Landlock, sandbox.Namespaces}, func(level sandbox.Level) bool {
		return sandbox.Detect(level).Level != level
	})
}

// TestWhatClearedItsEnvironmentIsSwept: ralph, the helper and the agent are killed at once,
// and what is left neither carries a marker nor is below anything known.
func TestWhatClearedItsEnvironmentIsSwept(t *testing.T) {
	t.Parallel()
	for _, level := range levels() {
		for _, by := range [][]string{{"run"}, {"recover"}, {"task", "reset", "--stale"}} {
			t.Run(level.String()+" by "+by[0], func(t *testing.T) {
				t.Parallel()
				script := fakeagent.Script{Conversations: []fakeagent.Conversation{
					{When: fakeagent.When{Attempt: 1}, Steps: []fakeagent.Step{
						{Do: "fork", Argv: []string{"child", "session", "daemon"}, Ignore: true}, {Do: "mark", Text: "at work"}, {Do: "hang", Ignore: true},
					}},
					{Steps: []fakeagent.Step{saysDone()}},
				}}
				p := newPlace(t, script)
				p.env = append(p.env, confinableEnv+"="+level.String())
				p.plan(t, "one")
				run := p.start(t, "run")
				p.awaitMark(t, "at work")
				if level != sandbox.Namespaces {
					eventually(t, "its processes are recorded", func() bool { return recorded(run.cmd.Process.Pid) >= 4 })
				}
				killWithHelper(t, p, run.cmd.Process.Pid, level)
				run.wait(t, -1)
				if level != sandbox.Namespaces && len(p.processes()) < 3 {
					t.Errorf("only %q are left to sweep", p.processes())
				}
				p.want(t, 0, by...)
				eventually(t, "nothing of it lives", func() bool { return len(p.processes()) == 0 })
			})
		}
	}
}

// recorded says how many processes the record of a run has.
func recorded(pid int) int {
	found, _ := filepath.Glob(filepath.Join(os.TempDir(), fmt.Sprintf("ralph-*-%d-*", pid)))
	for _, dir := range found {
		var r proc.Record
		if data, err := os.ReadFile(filepath.Join(dir, "processes.json")); err == nil && json.Unmarshal(data, &r) == nil {
			return len(r.Processes) - 1 // without the helper
		}
	}
	return 0
}

// killWithHelper kills a run, the agent, and the helper between them before it can do anything.
func killWithHelper(t *testing.T, p *place, pid int, level sandbox.Level) {
	t.Helper()
	victims := []int{pid}
	if level != sandbox.Namespaces { // there the agent's number is another one outside
		entries := p.entries(t)
		i := slices.IndexFunc(entries, func(e fakeagent.Entry) bool { return e.Event == "started" })
		agent := entries[i].Pid
		_, helper := statOf(t, agent)
		if helper == pid {
			t.Fatalf("the parent of %d is ralph itself", agent)
		}
		victims = append(victims, helper, agent)
	}
	// The agent is not stopped, and dies first: when those above it die, the kernel hangs
	// up a process group that has a stopped process in it, and so would end the rest.
	for _, victim := range victims[:min(2, len(victims))] {
		check.OK(t, syscall.Kill(victim, syscall.SIGSTOP))
		eventually(t, "it is stopped", func() bool {
			state, _ := statOf(t, victim)
			return state == "T"
		})
	}
	slices.Reverse(victims)
	for _, victim := range victims {
		check.OK(t, syscall.Kill(victim, syscall.SIGKILL))
		eventually(t, "it is dead", func() bool {
			id, err := proc.Of(victim)
			return err != nil || proc.Liveness(id) == proc.Dead
		})
	}
}

// statOf is the state of a process and its parent, as the kernel says.
func statOf(t *testing.T, pid int) (state string, parent int) {
	t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	check.OK(t, err)
	if _, err := fmt.Sscan(string(raw[strings.LastIndexByte(string(raw), ')')+1:]), &state, &parent); err != nil {
		t.Fatal(err)
	}
	return state, parent
}
