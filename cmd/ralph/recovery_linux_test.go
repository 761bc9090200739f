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

	"ralph/event"
	"ralph/internal/db"
	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
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
			check.OK(t, syscall.Kill(pid, syscall.SIGKILL))
		}
	}
	r.kill(t)
	return p
}

// age makes what is stored about runs and attempts older.
func (p *place) age(t *testing.T, by time.Duration) {
	t.Helper()
	d, err := db.Open(t.Context(), filepath.Join(p.dir, ".ralph/progress.db"), db.Options{})
	check.OK(t, err)
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
	check.OK(t, err)
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
	check.Equal(t, "prompts", map[string]int{"t-00000001": 1, "t-00000002": 2}, prompted)
	if got := p.task(t, "t-00000001"); got.Status != "done" || got.Attempts != 1 || got.Verification != "passed" {
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

// cutOffPlace has an agent that is cut off after it wrote a file, and one that ends its
// work.
func cutOffPlace(t *testing.T, file, onDirty string) *place {
	t.Helper()
	return newPlace(t, fakeagent.Script{Conversations: []fakeagent.Conversation{
		{When: fakeagent.When{Attempt: 1}, Steps: []fakeagent.Step{
			{Do: "file", Path: file, Text: "x"}, {Do: "mark", Text: "half"}, {Do: "hang"},
		}},
		{Steps: []fakeagent.Step{{Do: "file", Path: "whole.txt", Text: "x"}, saysDone()}},
	}}, "[recovery]", fmt.Sprintf("on_dirty = %q", onDirty))
}

// cutOff kills a run when its agent has written that file.
func (p *place) cutOff(t *testing.T, flags ...string) {
	t.Helper()
	r := p.start(t, append([]string{"run"}, flags...)...)
	p.awaitMark(t, "half")
	r.kill(t)
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
		for _, flags := range [][]string{nil, {"--no-verify"}} {
			t.Run(strings.Join(append([]string{name}, flags...), " "), func(t *testing.T) {
				t.Parallel()
				p := cutOffPlace(t, "half.txt", name)
				p.repository(t)
				p.write(t, "mine.txt", "a person's")
				p.plan(t, "mine")
				p.cutOff(t, flags...)
				p.want(t, tt.exit, "run")
				if got := p.task(t, "t-00000001"); string(got.Status) != tt.status {
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
}

// TestWhatAVerifierDidIsNotTheWork that it looked at: the run is killed meanwhile, where
// nothing keeps the verifier from writing, and the next run only verifies.
func TestWhatAVerifierDidIsNotTheWork(t *testing.T) {
	t.Parallel()
	yes := true
	looks := func(steps ...fakeagent.Step) string {
		return fakeagent.Script{Conversations: []fakeagent.Conversation{
			{When: fakeagent.When{Verify: &yes}, Steps: steps},
			{Steps: []fakeagent.Step{{Do: "file", Path: "work.txt", Text: "x"}, saysDone()}},
		}}.JSON()
	}
	p := newPlace(t, fakeagent.Script{}, "[sandbox]", `mode = "off"`)
	p.env = append(p.env, "RALPH_VERIFY_ENABLED=true")
	p.write(t, "work_test.py", "def test_it():\n    assert True\n")
	p.write(t, "script.json", looks(fakeagent.Step{Do: "file", Path: "vandal.txt", Text: "x"}, fakeagent.Step{Do: "file", Path: "work_test.py", Text: ""},
		fakeagent.Step{Do: "mark", Text: "half"}, fakeagent.Step{Do: "hang"}))
	p.repository(t)
	p.plan(t, "mine")
	p.cutOff(t)
	p.write(t, "script.json", looks(fakeagent.Step{Do: "keep", Path: "../asked"}, fakeagent.Step{Do: "say", Text: "<verify-pass/>\n"}))
	told := p.want(t, 0, "run")
	told.inStderr(t, "(1 file)")
	asked := p.read(t, "../asked")
	if !strings.Contains(asked, "work.txt") || strings.Contains(asked, "vandal.txt") {
		t.Errorf("the verifier is shown more or less than the work:\n%s", asked)
	}
	for name, want := range map[string]string{"vandal.txt": "x", "work_test.py": ""} {
		if got := p.read(t, name); got != want {
			t.Errorf("%s: got %q, want that it stays %q", name, got, want)
		}
	}
}

// TestWhatAGateDidIsNotTheWork of an agent that did nothing, though the run is killed
// meanwhile.
func TestWhatAGateDidIsNotTheWork(t *testing.T) {
	t.Parallel()
	p := newPlace(t, say(saysDone()), "max_retries = 0")
	p.repository(t)
	p.write(t, "plan.jsonl", `{"ref":"t-00000001","title":"mine","gates":["test ! -e ledger/prompted || { echo x > coverage; until test -e go; do sleep 0.02; done; }"]}`)
	p.write(t, "script.json", say(fakeagent.Step{Do: "file", Path: p.ledger + "/prompted", Text: ""}, saysDone()).JSON())
	p.want(t, 0, "task", "import", "plan.jsonl")
	r := p.start(t, "run")
	eventually(t, "the gate is reached", func() bool { _, err := os.Stat(filepath.Join(p.dir, "coverage")); return err == nil })
	r.kill(t)
	p.write(t, "go", "")
	p.want(t, 1, "run").inStderr(t, "nothing changed")
}

// TestR5WhatIsTooOldIsBegunAnew, and that is said; nothing is dropped.
func TestR5WhatIsTooOldIsBegunAnew(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		age   time.Duration
		first string
		count event.RecoveryCounts
	}{
		"five minutes old":    {5 * time.Minute, "resumed", event.RecoveryCounts{Resumed: 1, Released: 1}},
		"fifteen minutes old": {15 * time.Minute, "abandoned", event.RecoveryCounts{Abandoned: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := killedInTheMiddle(t, false, "[recovery]", `max_age = "10m"`)
			eventually(t, "nothing of it lives", func() bool { return len(p.processes()) == 0 })
			p.age(t, tt.age)
			got, actions := p.recovered(t)
			check.Equal(t, "counts", tt.count, got.RecoveryCounts)
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
		r.kill(t)
		p.want(t, 0, "recover")
		charged = append(charged, p.task(t, "t-00000001").Attempts)
	}
	check.Equal(t, "attempts charged", []int{0, 0, 1, 2}, charged)
	task := p.task(t, "t-00000001")
	if task.Status != "failed" || !strings.Contains(string(task.LastFailure), "its run died 4 times in a row") {
		t.Errorf("got %s for %v, want failed for that reason", task.Status, task.LastFailure)
	}
}
