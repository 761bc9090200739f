package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"ralph/event"
	"ralph/internal/db"
	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
	"ralph/report"
)

// The tests of this file are those of the seed's page on recovery, for ralph: the
// agent's work is its first step, verification the second. R2, R6 and R10 are about
// approvals and adapters, which do not exist here. R3 is K5 of the crash matrix; R8 and
// R9 are scripts: control_stop, signal_grace and signal_slow.

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
	p.imports(`{"ref":"t-00000001","title":"finished","gates":["test ! -e finished || { touch in-gate; until test -e go; do sleep 0.02; done; }"]}
{"ref":"t-00000002","title":"at work"}
`)
	if orphans { // in a PID namespace nobody outlives the helper
		p.env = append(p.env, "RALPH_SANDBOX_MODE=off")
	}
	r := p.atWork("at work", "run", "--jobs", "2")
	eventually(t, "the gate is reached", func() bool { return p.has("in-gate") })
	if orphans {
		for _, pid := range childrenOf(r.cmd.Process.Pid) {
			check.OK(t, syscall.Kill(pid, syscall.SIGKILL))
		}
	}
	r.kill()
	return p
}

// age makes what is stored about runs and attempts older.
func (p *place) age(by time.Duration) {
	p.Helper()
	d, err := db.Open(p.Context(), filepath.Join(p.dir, ".ralph/progress.db"), db.Options{})
	check.OK(p, err)
	defer d.Close()
	check.OK(p, d.Update(p.Context(), func(tx *db.Tx) error {
		const older = ` SET started_at = started_at - :by, heartbeat_at = heartbeat_at - :by;`
		return errors.Join(tx.Exec("UPDATE runs"+older, ":by", by.Milliseconds()), tx.Exec("UPDATE attempts"+older, ":by", by.Milliseconds()))
	}))
}

// actions are what `ralph recover --json` did, by task.
func (p *place) recovered(args ...string) (recoveryJSON, map[string]string) {
	p.Helper()
	var got recoveryJSON
	p.json(&got, append([]string{"recover"}, args...)...)
	actions := map[string]string{}
	for _, task := range got.Tasks {
		actions[task.ID] = task.Action
	}
	return got, actions
}

func (p *place) wantNothingToRecover() {
	p.Helper()
	check.Equal(p, "recover", "nothing to recover\n", p.want(0, "recover").stdout)
}

func (p *place) wantLastPrompt(says string) {
	p.Helper()
	if prompts := p.prompts(); says != "" && !strings.Contains(prompts[len(prompts)-1], says) {
		p.Errorf("the prompt does not say %q:\n%s", says, prompts[len(prompts)-1])
	}
}

// TestR1FinishedWorkIsTakenUpAtVerification: the first step is not done again.
func TestR1FinishedWorkIsTakenUpAtVerification(t *testing.T) {
	t.Parallel()
	p := killedInTheMiddle(t, false)
	p.write("go", "")
	p.want(0, "run")
	check.Equal(t, "prompts", map[string]int{"t-00000001": 1, "t-00000002": 2}, p.entered("prompted"))
	if got := p.task("t-00000001"); got.Status != "done" || got.Attempts != 1 || got.Verification != "passed" {
		t.Errorf("got %s with %d attempts, verification %v; want done with one, passed", got.Status, got.Attempts, got.Verification)
	}
}

// TestR1FinishedWorkThatIsNotAccepted is tried again by an agent, which is told why.
func TestR1FinishedWorkThatIsNotAccepted(t *testing.T) {
	t.Parallel()
	p := killedInTheMiddle(t, false)
	p.write("go", "")
	p.want(0, "task", "update", "t-00000001", "--gate", "echo it is red; test -e mended")
	p.write("script.json", say(fakeagent.Step{Do: "file", Path: "mended", Text: "x"}, saysDone()).JSON())
	p.want(0, "run")
	if got := p.task("t-00000001"); got.Status != "done" || got.Retries != 1 {
		t.Errorf("got %s after %d retries, want done after one", got.Status, got.Retries)
	}
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
func (p *place) cutOff(flags ...string) {
	p.Helper()
	p.atWork("half", append([]string{"run"}, flags...)...).kill()
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
				p.repository()
				p.write("mine.txt", "a person's")
				p.plan("mine")
				p.cutOff(flags...)
				p.want(tt.exit, "run")
				p.wantStatus("t-00000001", tt.status)
				check.Equal(t, "half.txt is there", tt.there, p.has("half.txt"))
				check.Equal(t, "a person's own file is there", true, p.has("mine.txt"))
				check.Equal(t, "it is stashed", tt.stash, strings.Contains(p.shell("git stash list"), "t-00000001"))
				p.wantLastPrompt(tt.prompt)
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
	p.write("work_test.py", "def test_it():\n    assert True\n")
	p.write("script.json", looks(fakeagent.Step{Do: "file", Path: "vandal.txt", Text: "x"}, fakeagent.Step{Do: "file", Path: "work_test.py", Text: ""},
		fakeagent.Step{Do: "mark", Text: "half"}, fakeagent.Step{Do: "hang"}))
	p.repository()
	p.plan("mine")
	p.cutOff()
	p.write("script.json", looks(fakeagent.Step{Do: "keep", Path: "../asked"}, fakeagent.Step{Do: "say", Text: "<verify-pass/>\n"}))
	p.want(0, "run").inStderr("(1 file)")
	asked := p.read("../asked")
	if !strings.Contains(asked, "work.txt") || strings.Contains(asked, "vandal.txt") {
		t.Errorf("the verifier is shown more or less than the work:\n%s", asked)
	}
	for name, want := range map[string]string{"vandal.txt": "x", "work_test.py": ""} {
		if got := p.read(name); got != want {
			t.Errorf("%s: got %q, want that it stays %q", name, got, want)
		}
	}
}

// TestWhatAGateDidIsNotTheWork of an agent that did nothing, though the run is killed
// meanwhile.
func TestWhatAGateDidIsNotTheWork(t *testing.T) {
	t.Parallel()
	p := newPlace(t, say(saysDone()), "max_retries = 0")
	p.repository()
	p.write("plan.jsonl", `{"ref":"t-00000001","title":"mine","gates":["test ! -e ledger/prompted || { echo x > coverage; until test -e go; do sleep 0.02; done; }"]}`)
	p.write("script.json", say(fakeagent.Step{Do: "file", Path: p.ledger + "/prompted", Text: ""}, saysDone()).JSON())
	p.want(0, "task", "import", "plan.jsonl")
	r := p.start("run")
	eventually(t, "the gate is reached", func() bool { return p.has("coverage") })
	r.kill()
	p.write("go", "")
	p.want(1, "run").inStderr("nothing changed")
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
			p.awaitGone()
			p.age(tt.age)
			got, actions := p.recovered()
			check.Equal(t, "counts", tt.count, got.RecoveryCounts)
			check.Equal(t, "action", tt.first, actions["t-00000001"])
			p.wantTask("t-00000001", "pending", 0)
			p.wantTask("t-00000002", "pending", 0)
			p.write("go", "")
			p.want(0, "run")
		})
	}
}

// TestR7OrphansAreEndedAtTheNextStart, before their tasks are given to others.
func TestR7OrphansAreEndedAtTheNextStart(t *testing.T) {
	t.Parallel()
	p := killedInTheMiddle(t, true)
	check.That(t, len(p.processes()) >= 3, "got %q, want the agent's family: the test is blind", p.processes())
	dry, _ := p.recovered("--dry-run")
	if dry.Orphans == 0 || len(dry.Tasks) != 2 || len(p.processes()) < 3 || p.task("t-00000002").Status != "in_progress" {
		t.Errorf("a dry run told %+v, and left %q", dry, p.processes())
	}
	got, _ := p.recovered()
	if got.Orphans == 0 {
		t.Errorf("got %+v, want orphans", got)
	}
	p.wantNothingLeft()
	p.write("go", "")
	p.want(0, "run")
	p.wantNoOverlap()
}

// TestDeathsInARow cost nothing until there are too many of them; then each costs an
// attempt, and in the end the task fails for that reason.
func TestDeathsInARow(t *testing.T) {
	t.Parallel()
	p := newPlace(t, say(fakeagent.Step{Do: "mark", Text: "at work"}, fakeagent.Step{Do: "hang"}),
		"max_attempts = 2", "[recovery]", "max_interruptions = 3")
	p.plan("deadly")
	var charged []int
	for i := range 4 {
		r := p.start("run")
		eventually(t, "the agent is at work", func() bool { return len(p.entries()) >= 3*(i+1) })
		r.kill()
		p.want(0, "recover")
		charged = append(charged, p.task("t-00000001").Attempts)
	}
	check.Equal(t, "attempts charged", []int{0, 0, 1, 2}, charged)
	task := p.task("t-00000001")
	if task.Status != "failed" || !strings.Contains(string(task.LastFailure), "its run died 4 times in a row") {
		t.Errorf("got %s for %v, want failed for that reason", task.Status, task.LastFailure)
	}
}

// TestWorkThatGitCannotHandle stays, and that is said: a night must not end because
// of it, and every next start would meet the same.
func TestWorkThatGitCannotHandle(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		rule, spoil, said string
	}{
		"a merge is under way": {
			"stash", `git hash-object -w half.txt | sed 's/.*/100644 & 1\thalf.txt\n100644 & 2\thalf.txt/' | git update-index --index-info`,
			"its uncommitted work stays, because git could not stash it",
		},
		"there is no commit":        {"stash", "git update-ref -d HEAD", "its uncommitted work stays, because git could not stash it"},
		"how it began is forgotten": {"fail", "rm -r .ralph/objects", "whether it left uncommitted work could not be seen"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := cutOffPlace(t, "half.txt", tt.rule)
			p.repository()
			p.plan("mine")
			p.cutOff()
			p.shell(tt.spoil)
			p.want(0, "recover")
			p.want(0, "journal", "list", "--json").inStdout(tt.said)
			p.wantStatus("t-00000001", "pending")
			check.Equal(t, "half.txt is there", true, p.has("half.txt"))
		})
	}
}

// TestWorkThatWasCutOffInARepositoryInside is seen as any other is: it is told to the next
// agent, or left to a person. It is not stashed, and that is said.
func TestWorkThatWasCutOffInARepositoryInside(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		exit   int
		status string
		said   string // in the task's journal
		prompt string // of the second attempt
	}{
		"keep":  {0, "done", "", "uncommitted: inside/half.txt"},
		"stash": {0, "done", "in repositories inside the project stays, and is not stashed: inside/half.txt", "uncommitted: inside/half.txt"},
		"fail":  {1, "failed", "does not allow: inside/half.txt", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := cutOffPlace(t, "inside/half.txt", name)
			p.repository()
			p.shell(`git init -q inside && cd inside && echo x > file && git add -A &&
				git -c user.name=t -c user.email=t@localhost commit -qm first && echo y > mine.txt`)
			p.plan("mine")
			p.cutOff()
			p.want(tt.exit, "run")
			p.wantStatus("t-00000001", tt.status)
			for _, file := range []string{"half.txt", "mine.txt", "file"} {
				check.Equal(t, file+" is there", true, p.has("inside/"+file))
			}
			p.want(0, "journal", "list", "--json").inStdout(tt.said)
			p.wantLastPrompt(tt.prompt)
		})
	}
}

// TestR11RecoveryIsTold on the terminal, in the events, in the journal, as JSON and as a notification.
func TestR11RecoveryIsTold(t *testing.T) {
	t.Parallel()
	p := killedInTheMiddle(t, true, "[[notify]]\non = ['recovered']\ncommand = 'cat >> recovered.json'")
	p.write("go", "")
	out := p.want(0, "run")
	p.holds("recovered.json", `at work (t-00000002): its run died while its agent was at work; released\n`)
	check.Equal(t, "notifications", 1, strings.Count(p.read("recovered.json"), `"event":"recovered"`))
	out.inStderr("recovery: 1 run had died, 1 task released, 1 task resumed at verification, ", "orphaned process",
		"t-00000001 recovered: its run died while its finished work was being verified; resumed at verification",
		"t-00000002 recovered: its run died while its agent was at work; released")
	told := map[string]string{}
	for _, e := range p.events() {
		switch e.Type {
		case event.Recovered:
			told[e.Task] = e.Outcome
		case event.RecoveryDone:
			if e.Recovery.Runs == 1 {
				told["summary"] = fmt.Sprint(e.Recovery.Released, e.Recovery.Resumed, e.Recovery.Orphans > 0)
			}
		}
	}
	want := map[string]string{"t-00000001": "resumed", "t-00000002": "released", "summary": "1 1 true"}
	check.Equal(t, "events", want, told)
	p.want(0, "journal", "list").inStdout("1 run had died, 1 task released")
	p.wantTask("t-00000001", "done", 1) // a death costs nothing
	p.wantTask("t-00000002", "done", 1)
}

// TestR12ACleanStartHasNothingToRecover, and says so to those who ask.
func TestR12ACleanStartHasNothingToRecover(t *testing.T) {
	t.Parallel()
	p := newPlace(t, fakeagent.Script{})
	p.plan("mine")
	p.wantNothingToRecover()
	p.want(0, "run", "-v").inStderr("nothing to recover")
	if out := p.want(0, "run"); strings.Contains(out.stderr, "recover") {
		t.Errorf("it is told to those who did not ask:\n%s", out.stderr)
	}
}

// TestTheCheckpointOfAnAttempt is shown by the status while an agent is at work, and
// what it cost is still known when ralph dies a moment later.
func TestTheCheckpointOfAnAttempt(t *testing.T) {
	t.Parallel()
	p := newCrash(t)
	p.plan("first")
	r := p.atWork("waits t-00000001", "run")
	var status report.Overview
	eventually(t, "the cost is stored", func() bool {
		p.json(&status, "status")
		return len(status.Runs) == 1 && len(status.Runs[0].Attempts) == 1 && status.Runs[0].Attempts[0].CostUSD != nil
	})
	run := status.Runs[0]
	if at := run.Attempts[0]; run.State != "running" || at.Phase != "prompted" || at.Iteration != 1 || *at.CostUSD != 0.5 || at.Heartbeat.IsZero() {
		t.Errorf("got %+v with %+v, want the checkpoint", run, at)
	}
	p.want(0, "status").inStdout("t-00000001 prompted for", "$0.50, heartbeat")
	r.kill()
	p.want(0, "status").inStdout("has died, everything, 0 iterations; continue it: ralph run --continue r-")
	p.want(0, "recover")
	p.want(0, "task", "show", "t-00000001", "--json").inStdout(`"cost_usd": 0.5,`)
}
