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

// trusting is how many tasks the tests of this file have; `just trust` sets RALPH_TRUST,
// which makes it many.
func trusting(few, many int) int {
	if os.Getenv("RALPH_TRUST") != "" {
		return many
	}
	return few
}

// atEachLevel runs a test at every sandbox level of this machine, and without any.
func atEachLevel(t *testing.T, test func(t *testing.T, env string)) {
	t.Helper()
	for _, level := range levels() {
		name, env := level.String(), confinableEnv+"="+level.String()
		if level == sandbox.None {
			name, env = "off", "RALPH_SANDBOX_MODE=off"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, env)
		})
	}
}

// trustPlace is a repository whose agent writes and commits a file for each task, one
// at a time, and whose verifier does these steps.
func trustPlace(t *testing.T, env string, tasks int, verifier ...step) *place {
	t.Helper()
	yes := true
	const work = `set -e
echo "work of {{task}}" > by-{{task}}
until mkdir .git/one-at-a-time 2> /dev/null; do sleep 0.01; done
git add by-{{task}}; git -c user.name=a -c user.email=a@localhost commit -qm {{task}} by-{{task}}
rmdir .git/one-at-a-time
echo "not committed" >> by-{{task}}`
	p := newPlace(t, fakeagent.Script{Conversations: []fakeagent.Conversation{
		{When: fakeagent.When{Verify: &yes}, Steps: append(verifier, step{Do: "say", Text: "<verify-pass/>\n"})},
		{Steps: []step{{Do: "run", Argv: []string{"sh", "-c", work}}, saysDone()}},
	}}, "max_retries = 0")
	p.env = append(p.env, env, "RALPH_VERIFY_ENABLED=true", "RALPH_SANDBOX_WRITE="+p.ledger)
	p.write("notes.txt", "by hand\n")
	p.repository()
	p.plan(slices.Repeat([]string{"task"}, tasks)...)
	return p
}

// wantFiles compares files of the place, whole.
func (p *place) wantFiles(want map[string]string) {
	p.Helper()
	got := map[string]string{}
	for name := range want {
		if text, err := os.ReadFile(filepath.Join(p.dir, name)); err == nil {
			got[name] = string(text)
		}
	}
	check.Equal(p, "files", want, got)
}

// git runs git in the place as a person does, waiting for whoever is at it.
func (p *place) git(args ...string) string {
	p.Helper()
	return p.shell(`until mkdir .git/one-at-a-time 2> /dev/null; do sleep 0.01; done; trap 'rmdir .git/one-at-a-time' EXIT
git -c user.name=p -c user.email=p@localhost "$@"`, args...)
}

// TestTwoRunsSideBySideKeepAllFiles, commits and uncommitted work, though verifiers try
// to remove everything where they are confined.
func TestTwoRunsSideBySideKeepAllFiles(t *testing.T) {
	t.Parallel()
	tasks := trusting(6, 40)
	atEachLevel(t, func(t *testing.T, env string) {
		vandal := "rm -rf by-* notes.txt .git; true"
		if env == "RALPH_SANDBOX_MODE=off" {
			vandal = "cat by-* > /dev/null"
		}
		p := trustPlace(t, env, tasks, step{Do: "run", Argv: []string{"sh", "-c", vandal}})
		for _, r := range []*running{p.start("run", "--in-place"), p.start("run", "--in-place")} {
			eventually(t, "a run ends", r.over)
			// The last task may be in the other one's hands.
			if status := r.cmd.ProcessState.ExitCode(); status != 0 && status != 2 {
				t.Errorf("exit status %d\n%s", status, r.stderr.String())
			}
		}
		want := map[string]string{"notes.txt": "by hand\n"}
		var commits []string
		for i := range tasks {
			id := number(i + 1)
			want["by-"+id] = "work of " + id + "\nnot committed\n"
			commits = append(commits, id)
			p.wantVerified(id)
		}
		p.wantFiles(want)
		got := strings.Fields(p.git("log", "--format=%s", "--author=a@localhost"))
		slices.Sort(got)
		check.Equal(t, "commits", commits, got)
		p.wantSound()
	})
}

// TestAPersonWorksDuringVerification and loses nothing: what is edited, added and committed stays byte for byte, and is no part of the work,
// also in a file that the work has changed.
func TestAPersonWorksDuringVerification(t *testing.T) {
	t.Parallel()
	tasks := trusting(2, 12)
	const look = `f=$FAKEAGENT_LEDGER/{{task}}; touch $f.looks; until test -e $f.seen; do sleep 0.01; done`
	atEachLevel(t, func(t *testing.T, env string) {
		p := trustPlace(t, env, tasks, step{Do: "run", Argv: []string{"sh", "-c", look}})
		want := map[string]string{"notes.txt": "by hand\n"}
		var commits []string
		person := func(id string) {
			want["added-"+id], want["committed-"+id] = "a person's, "+id+"\n\x00", id+"\n"
			p.write("added-"+id, want["added-"+id])
			p.write("committed-"+id, want["committed-"+id])
			p.append("notes.txt", id+"\n")
			want["notes.txt"] += id + "\n"
			p.append("by-"+id, "and a person's\n")
			want["by-"+id] = "work of " + id + "\nnot committed\nand a person's\n"
			p.git("add", "committed-"+id)
			p.git("commit", "-qm", id, "committed-"+id)
			commits = append(commits, id)
		}
		p.beside(p.start("run", "--in-place"), person).wait(0)
		for i := range tasks {
			p.wantVerified(number(i + 1))
		}
		p.wantFiles(want)
		got := strings.Fields(p.git("log", "--reverse", "--format=%s", "--author=p@localhost"))
		check.Equal(t, "commits", commits, got)
		check.Equal(t, "committed files that have changed", "", p.git("status", "--porcelain", "committed-*"))
		for _, id := range commits {
			landed := p.shell(`git log -1 --format=%H --grep="Ralph-Task: $1" refs/ralph/folder/HEAD`, id)
			check.Equal(t, "what landed of "+id, "by-"+id, strings.TrimSpace(p.shell(`git show --format= --name-only $1`, landed)))
		}
		p.wantSound()
	})
}

// beside does something for each verifier that looks, until the run has ended.
func (p *place) beside(r *running, person func(task string)) *running {
	p.Helper()
	eventually(p, "the run ends", func() bool {
		looks, err := filepath.Glob(filepath.Join(p.ledger, "*.looks"))
		check.OK(p, err)
		for _, name := range looks {
			check.OK(p, os.Remove(name))
			person(filepath.Base(name)[:len("t-00000001")])
			check.OK(p, os.WriteFile(strings.TrimSuffix(name, ".looks")+".seen", nil, 0o600))
		}
		return r.over()
	})
	return r
}

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
		for _, by := range [][]string{{"run", "--in-place"}, {"recover"}, {"task", "reset", "--stale"}} {
			t.Run(level.String()+" by "+by[0], func(t *testing.T) {
				t.Parallel()
				script := say(step{Do: "fork", Argv: []string{"child", "session", "daemon"}, Ignore: true}, step{Do: "mark", Text: "at work"}, step{Do: "hang", Ignore: true})
				script.Conversations[0].When.Attempt = 1
				p := newPlace(t, script)
				p.env = append(p.env, confinableEnv+"="+level.String())
				p.plan("one")
				run := p.atWork("at work", "run", "--in-place")
				if level != sandbox.Namespaces {
					eventually(t, "its processes are recorded", func() bool { return p.recorded(run.cmd.Process.Pid) })
				}
				killWithHelper(t, p, run.cmd.Process.Pid, level)
				run.wait(-1)
				check.That(t, level == sandbox.Namespaces || len(p.processes()) >= 3, "only %q are left to sweep", p.processes())
				p.want(0, by...)
				p.awaitGone()
			})
		}
	}
}

// recorded says whether the record of a run names all that its agent has left behind.
func (p *place) recorded(run int) bool {
	left := 0
	found, _ := filepath.Glob(filepath.Join(os.TempDir(), fmt.Sprintf("ralph-*-%d-*", run)))
	for _, dir := range found {
		var r proc.Record
		data, err := os.ReadFile(filepath.Join(dir, "processes.json"))
		if err != nil || json.Unmarshal(data, &r) != nil {
			continue
		}
		for _, e := range p.entries() {
			if e.Event == "process" && slices.ContainsFunc(r.Processes, func(m proc.Member) bool { return m.Pid == e.Pid }) {
				left++
			}
		}
	}
	return left == 3
}

// killWithHelper kills a run, the agent, and the helper between them before it can do anything.
func killWithHelper(t *testing.T, p *place, pid int, level sandbox.Level) {
	t.Helper()
	victims := []int{pid}
	if level != sandbox.Namespaces { // there the agent's number is another one outside
		entries := p.entries()
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
