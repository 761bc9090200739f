package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ralph/internal/db"
	"ralph/internal/fakeagent"
	"ralph/loop"
)

// The tests of this file are those of the seed's page on recovery, for ralph: the
// agent's work is its first step, verification the second. R2, R6 and R10 are about
// approvals and adapters, which do not exist here.

// killedInTheMiddle is a place in which a run was killed that had two tasks: the
// finished work of the first was being verified, the agent of the second was at
// work. With orphans, what guards the agents died first.
func killedInTheMiddle(t *testing.T, orphans bool, config ...string) *place {
	t.Helper()
	p := newPlace(t, fakeagent.Script{Conversations: []fakeagent.Conversation{
		{When: fakeagent.When{Task: "t-00000001"}, Steps: []fakeagent.Step{{Do: "file", Path: "finished", Text: "x"}, saysDone()}},
		{When: fakeagent.When{Task: "t-00000002"}, Steps: append(family(), fakeagent.Step{Do: "await", Path: "go"}, saysDone())},
	}}, config...)
	// Before the work the gate passes: what was red then would count for nothing.
	p.write(t, "plan.jsonl", `{"ref":"t-00000001","title":"finished","gates":["test ! -e finished || { touch in-gate; until test -e go; do sleep 0.02; done; }"]}
{"ref":"t-00000002","title":"at work"}
`)
	p.want(t, 0, "task", "import", "plan.jsonl")
	if orphans { // in a PID namespace nobody outlives the helper
		p.env = append(p.env, "RALPH_SANDBOX_MODE=off")
	}
	r := p.start(t, "run", "--jobs", "2")
	p.awaitMark(t, "at work")
	eventually(t, "the gate is reached", func() bool { _, err := os.Stat(filepath.Join(p.dir, "in-gate")); return err == nil })
	if orphans {
		for _, pid := range childrenOf(r.cmd.Process.Pid) {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := r.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	r.wait(t, -1)
	return p
}

// age makes what is stored about runs and attempts older.
func (p *place) age(t *testing.T, by time.Duration) {
	t.Helper()
	d, err := db.Open(t.Context(), filepath.Join(p.dir, ".ralph/progress.db"), db.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	err = d.Update(t.Context(), func(tx *db.Tx) error {
		for _, query := range []string{
			`UPDATE runs SET started_at = started_at - :by, heartbeat_at = heartbeat_at - :by;`,
			`UPDATE attempts SET started_at = started_at - :by, heartbeat_at = heartbeat_at - :by;`,
		} {
			if err := tx.Exec(query, ":by", by.Milliseconds()); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// actions are what `ralph recover --json` did, by task.
func (p *place) recovered(t *testing.T, args ...string) (recoveryJSON, map[string]string) {
	t.Helper()
	var got recoveryJSON
	p.json(t, &got, append([]string{"recover"}, args...)...)
	actions := map[string]string{}
	for _, task := range got.Tasks {
		actions[task.ID] = task.Action
	}
	return got, actions
}

// TestR1FinishedWorkIsTakenUpAtVerification: the first step is not done again.
func TestR1FinishedWorkIsTakenUpAtVerification(t *testing.T) {
	t.Parallel()
	p := killedInTheMiddle(t, false)
	p.write(t, "go", "")
	p.want(t, 0, "run")
	prompted := map[string]int{}
	for _, e := range p.entries(t) {
		if e.Event == "prompted" {
			prompted[e.Task]++
		}
	}
	if diff := cmp.Diff(map[string]int{"t-00000001": 1, "t-00000002": 2}, prompted); diff != "" {
		t.Errorf("prompts (-want +got):\n%s", diff)
	}
	if got := p.task(t, "t-00000001"); got.Status != "done" || got.Attempts != 1 || got.Verification == nil || *got.Verification != "passed" {
		t.Errorf("got %s with %d attempts, verification %v; want done with one, passed", got.Status, got.Attempts, got.Verification)
	}
}

// TestR1FinishedWorkThatIsNotAccepted is tried again by an agent, which is told why.
func TestR1FinishedWorkThatIsNotAccepted(t *testing.T) {
	t.Parallel()
	p := killedInTheMiddle(t, false)
	p.write(t, "go", "")
	p.want(t, 0, "task", "update", "t-00000001", "--gate", "echo it is red; test -e mended")
	p.write(t, "script.json", say(fakeagent.Step{Do: "file", Path: "mended", Text: "x"}, saysDone()).JSON())
	p.want(t, 0, "run")
	if got := p.task(t, "t-00000001"); got.Status != "done" || got.Retries != 1 {
		t.Errorf("got %s after %d retries, want done after one", got.Status, got.Retries)
	}
}

// TestR3ATaskThatWasNotBegunIsBegunAnew, once, without being charged for it.
func TestR3ATaskThatWasNotBegunIsBegunAnew(t *testing.T) {
	t.Parallel()
	p := newCrash(t)
	p.plan(t, "first")
	p.write(t, "go-t-00000001", "")
	p.dying(t, "K5", "run").wait(t, -1)
	p.want(t, 0, "run")
	p.wantMended(t, 1, 1, "released")
}

// TestR4WorkThatWasCutOff is kept and told to the next agent, put into git's stash,
// or left to a person, as the configuration says. What a person had not committed
// before stays in every case.
func TestR4WorkThatWasCutOff(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		exit   int
		status string
		there  bool // the file that was cut off
		stash  bool
		prompt string // of the second attempt
	}{
		"keep":  {0, "done", true, false, "uncommitted: half.txt"},
		"stash": {0, "done", false, true, "was interrupted"},
		"fail":  {1, "failed", true, false, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, fakeagent.Script{Conversations: []fakeagent.Conversation{
				{When: fakeagent.When{Attempt: 1}, Steps: []fakeagent.Step{
					{Do: "file", Path: "half.txt", Text: "x"}, {Do: "mark", Text: "half"}, {Do: "hang"},
				}},
				{Steps: []fakeagent.Step{{Do: "file", Path: "whole.txt", Text: "x"}, saysDone()}},
			}}, "[recovery]", fmt.Sprintf("on_dirty = %q", name))
			p.repository(t)
			p.write(t, "mine.txt", "a person's")
			p.plan(t, "mine")
			r := p.start(t, "run")
			p.awaitMark(t, "half")
			if err := r.cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			r.wait(t, -1)
			p.want(t, tt.exit, "run")
			if got := p.task(t, "t-00000001"); got.Status != tt.status {
				t.Errorf("got %s, want %s", got.Status, tt.status)
			}
			_, err := os.Stat(filepath.Join(p.dir, "half.txt"))
			if (err == nil) != tt.there {
				t.Errorf("half.txt is there: %t, want %t", err == nil, tt.there)
			}
			if _, err := os.Stat(filepath.Join(p.dir, "mine.txt")); err != nil {
				t.Errorf("a person's own file: %v", err)
			}
			list := exec.Command("git", "stash", "list")
			list.Dir = p.dir
			out, err := list.Output()
			if err != nil || strings.Contains(string(out), "t-00000001") != tt.stash {
				t.Errorf("the stash: %v %q", err, out)
			}
			if prompts := p.prompts(t); tt.prompt != "" && !strings.Contains(prompts[len(prompts)-1], tt.prompt) {
				t.Errorf("the prompt does not say %q:\n%s", tt.prompt, prompts[len(prompts)-1])
			}
		})
	}
}

// TestR5WhatIsTooOldIsBegunAnew, and that is said; nothing is dropped.
func TestR5WhatIsTooOldIsBegunAnew(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		age   time.Duration
		first string
		count loop.RecoveryCounts
	}{
		"five minutes old":    {5 * time.Minute, "resumed", loop.RecoveryCounts{Resumed: 1, Released: 1}},
		"fifteen minutes old": {15 * time.Minute, "abandoned", loop.RecoveryCounts{Abandoned: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := killedInTheMiddle(t, false, "[recovery]", `max_age = "10m"`)
			eventually(t, "nothing of it lives", func() bool { return len(p.processes()) == 0 })
			p.age(t, tt.age)
			got, actions := p.recovered(t)
			if diff := cmp.Diff(tt.count, got.RecoveryCounts); diff != "" {
				t.Errorf("counts (-want +got):\n%s", diff)
			}
			if actions["t-00000001"] != tt.first {
				t.Errorf("got %v, want the first %s", actions, tt.first)
			}
			for _, id := range []string{"t-00000001", "t-00000002"} {
				if task := p.task(t, id); task.Status != "pending" || task.Attempts != 0 {
					t.Errorf("got %s %s with %d attempts, want pending with none", id, task.Status, task.Attempts)
				}
			}
			p.write(t, "go", "")
			p.want(t, 0, "run")
		})
	}
}

// TestR7OrphansAreEndedAtTheNextStart, before their tasks are given to others.
func TestR7OrphansAreEndedAtTheNextStart(t *testing.T) {
	t.Parallel()
	p := killedInTheMiddle(t, true)
	if got := p.processes(); len(got) < 3 {
		t.Fatalf("got %q, want the agent's family: the judge is blind", got)
	}
	dry, _ := p.recovered(t, "--dry-run")
	if dry.Orphans == 0 || len(dry.Tasks) != 2 || len(p.processes()) < 3 || p.task(t, "t-00000002").Status != "in_progress" {
		t.Errorf("a dry run told %+v, and left %q", dry, p.processes())
	}
	got, _ := p.recovered(t)
	if got.Orphans == 0 {
		t.Errorf("got %+v, want orphans", got)
	}
	p.wantNothingLeft(t)
	p.write(t, "go", "")
	p.want(t, 0, "run")
	for _, e := range p.entries(t) {
		if e.Event == "overlap" {
			t.Errorf("two agents at once had %s", e.Task)
		}
	}
}

// TestR8StoppingLetsBothTasksFinish, and ends cleanly.
func TestR8StoppingLetsBothTasksFinish(t *testing.T) {
	t.Parallel()
	p := newPlace(t, gated())
	p.plan(t, "one", "two", "three")
	r := p.start(t, "run", "--jobs", "2", "--json")
	p.awaitMark(t, "t-00000001")
	p.awaitMark(t, "t-00000002")
	p.want(t, 0, "stop")
	p.write(t, "go-t-00000001", "")
	p.write(t, "go-t-00000002", "")
	if out := r.wait(t, 4); !strings.Contains(out.stdout, `"done":2`) {
		t.Errorf("got %s, want both done", out.stdout)
	}
	if out := p.want(t, 0, "recover"); out.stdout != "nothing to recover\n" {
		t.Errorf("got %q, want a clean end", out.stdout)
	}
}

// TestR9ASlowTaskIsGivenBack when SIGTERM comes and its agent does not listen; the
// next run takes it up.
func TestR9ASlowTaskIsGivenBack(t *testing.T) {
	t.Parallel()
	script := say(append(family(), fakeagent.Step{Do: "hang", Ignore: true})...)
	script.Conversations[0].When.Attempt = 1
	script.KeepRunning = true
	p := newPlace(t, script)
	p.plan(t, "slow")
	r := p.start(t, "run")
	p.awaitMark(t, "at work")
	if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	r.wait(t, 143)
	p.wantNothingLeft(t)
	p.wantInterrupted(t)
	p.want(t, 0, "run")
}

// TestR11RecoveryIsTold on the terminal, in the events, in the journal and as JSON.
func TestR11RecoveryIsTold(t *testing.T) {
	t.Parallel()
	p := killedInTheMiddle(t, true)
	p.write(t, "go", "")
	out := p.want(t, 0, "run")
	for _, want := range []string{
		"recovery: 1 run had died, 1 task released, 1 task resumed at verification, ", "orphaned process",
		"t-00000001 recovered: its run died while its finished work was being verified; resumed at verification",
		"t-00000002 recovered: its run died while its agent was at work; released",
	} {
		if !strings.Contains(out.stderr, want) {
			t.Errorf("the terminal does not say %q:\n%s", want, out.stderr)
		}
	}
	told := map[string]string{}
	for _, e := range p.events(t) {
		switch e.Type {
		case loop.Recovered:
			told[e.Task] = e.Outcome
		case loop.RecoveryDone:
			if e.Recovery.Runs == 1 {
				told["summary"] = fmt.Sprint(e.Recovery.Released, e.Recovery.Resumed, e.Recovery.Orphans > 0)
			}
		}
	}
	want := map[string]string{"t-00000001": "resumed", "t-00000002": "released", "summary": "1 1 true"}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	journal := p.want(t, 0, "journal", "list")
	if !strings.Contains(journal.stdout, "1 run had died, 1 task released") {
		t.Errorf("the journal does not tell:\n%s", journal.stdout)
	}
	var attempts int
	for _, id := range []string{"t-00000001", "t-00000002"} {
		attempts += p.task(t, id).Attempts
	}
	if attempts != 2 {
		t.Errorf("got %d attempts charged, want 2: a death costs nothing", attempts)
	}
}

// TestR12ACleanStartHasNothingToRecover, and says so to those who ask.
func TestR12ACleanStartHasNothingToRecover(t *testing.T) {
	t.Parallel()
	p := newPlace(t, fakeagent.Script{})
	p.plan(t, "mine")
	if out := p.want(t, 0, "recover"); out.stdout != "nothing to recover\n" {
		t.Errorf("got %q", out.stdout)
	}
	out := p.want(t, 0, "run", "-v")
	if !strings.Contains(out.stderr, "nothing to recover") {
		t.Errorf("with -v it is not told:\n%s", out.stderr)
	}
	if out := p.want(t, 0, "run"); strings.Contains(out.stderr, "recover") {
		t.Errorf("it is told to those who did not ask:\n%s", out.stderr)
	}
}

// TestDeathsInARow cost nothing until there are too many of them; then each costs an
// attempt, and in the end the task fails for that reason.
func TestDeathsInARow(t *testing.T) {
	t.Parallel()
	p := newPlace(t, say(fakeagent.Step{Do: "mark", Text: "at work"}, fakeagent.Step{Do: "hang"}),
		"max_attempts = 2", "[recovery]", "max_interruptions = 3")
	p.plan(t, "deadly")
	var charged []int
	for i := range 4 {
		r := p.start(t, "run")
		eventually(t, "the agent is at work", func() bool { return len(p.entries(t)) >= 3*(i+1) })
		if err := r.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		r.wait(t, -1)
		p.want(t, 0, "recover")
		charged = append(charged, p.task(t, "t-00000001").Attempts)
	}
	if diff := cmp.Diff([]int{0, 0, 1, 2}, charged); diff != "" {
		t.Errorf("attempts charged (-want +got):\n%s", diff)
	}
	task := p.task(t, "t-00000001")
	if task.Status != "failed" || task.LastFailure == nil || !strings.Contains(*task.LastFailure, "its run died 4 times in a row") {
		t.Errorf("got %s for %v, want failed for that reason", task.Status, task.LastFailure)
	}
}

// TestASignalWhileVerifying keeps what is finished: the next run only verifies it.
func TestASignalWhileVerifying(t *testing.T) {
	t.Parallel()
	p := newPlace(t, say(fakeagent.Step{Do: "file", Path: "finished", Text: "x"}, saysDone()))
	p.write(t, "plan.jsonl", `{"ref":"t-00000001","title":"finished","gates":["test ! -e finished || { touch in-gate; until test -e go; do sleep 0.02; done; }"]}`+"\n")
	p.want(t, 0, "task", "import", "plan.jsonl")
	r := p.start(t, "run")
	eventually(t, "the gate is reached", func() bool { _, err := os.Stat(filepath.Join(p.dir, "in-gate")); return err == nil })
	if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	r.wait(t, 143)
	p.write(t, "go", "")
	p.want(t, 0, "run")
	prompts := 0
	for _, e := range p.entries(t) {
		if e.Event == "prompted" {
			prompts++
		}
	}
	if prompts != 1 {
		t.Errorf("its agent was prompted %d times, want once", prompts)
	}
}

// TestTheCheckpointOfAnAttempt is shown by the status while an agent is at work, and
// what it cost is still known when ralph dies a moment later.
func TestTheCheckpointOfAnAttempt(t *testing.T) {
	t.Parallel()
	p := newCrash(t)
	p.plan(t, "first")
	r := p.start(t, "run")
	p.awaitMark(t, "waits t-00000001")
	var status statusJSON
	eventually(t, "the cost is stored", func() bool {
		p.json(t, &status, "status")
		return len(status.Runs) == 1 && len(status.Runs[0].Attempts) == 1 && status.Runs[0].Attempts[0].CostUSD != nil
	})
	run := status.Runs[0]
	if at := run.Attempts[0]; run.State != "running" || at.Phase != "prompted" || at.Iteration != 1 || *at.CostUSD != 0.5 || at.Heartbeat == nil {
		t.Errorf("got %+v with %+v, want the checkpoint", run, at)
	}
	if out := p.want(t, 0, "status"); !strings.Contains(out.stdout, "t-00000001 prompted for") || !strings.Contains(out.stdout, "$0.50, heartbeat") {
		t.Errorf("got %s, want it told", out.stdout)
	}
	if err := r.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	r.wait(t, -1)
	if out := p.want(t, 0, "status"); !strings.Contains(out.stdout, "has died") {
		t.Errorf("got %s, want that it died", out.stdout)
	}
	p.want(t, 0, "recover")
	var task struct {
		CostUSD *float64 `json:"cost_usd"`
	}
	p.json(t, &task, "task", "show", "t-00000001")
	if task.CostUSD == nil || *task.CostUSD != 0.5 {
		t.Errorf("got %v, want what the dead attempt cost", task.CostUSD)
	}
}
