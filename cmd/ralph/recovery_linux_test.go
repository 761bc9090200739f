package main

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"ralph/internal/cli"
	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
)

// The seed's page on recovery, for ralph, has the agent's work as its first step and verification
// as the second. Its R2, R4 and R10 are here, R3 is in-handshake of the crash matrix, and the others are scripts:
// recovery_r1 and so on, control_stop and signal_grace for R8, signal_slow for R9. R6 is about adapters,
// which do not exist here.

// cutOff is an agent that is killed when it is at a call, and an agent after it. What comes after the call asks
// ralph something, so that the call has arrived.
func cutOff(at step, then ...step) fakeagent.Script {
	at.Do = "tool"
	return fakeagent.Script{Conversations: []fakeagent.Conversation{
		{When: fakeagent.When{Attempt: 1}, Steps: []step{at, {Do: "read", Path: "script.json"}, {Do: "mark", Text: "at it"}, {Do: "hang"}}},
		{Steps: append(then, saysDone())},
	}}
}

// TestR4ACallThatMayHaveHappened when its run was killed is asked about if a rule asks about such calls, and what is
// answered is done. Otherwise the next prompt names it.
func TestR4ACallThatMayHaveHappened(t *testing.T) {
	t.Parallel()
	deploy := step{ID: "a", Text: "Deploy", Kind: "execute", Params: []byte(`{"command":["bash","-lc","terraform apply -auto-approve"]}`)}
	const doubt = "it may or may not have happened: "
	for name, tc := range map[string]struct {
		call   step
		answer []string // to the question; nil if nobody is asked
		config string
		status string
		prompt string // is in the second one
		absent string
	}{
		"retry":         {call: deploy, answer: []string{"retry"}, status: "done", prompt: "Do it again."},
		"skip":          {call: deploy, answer: []string{"--option", "2"}, status: "done", prompt: "Treat it as done: do not do it again."},
		"fail":          {call: deploy, answer: []string{"fail"}, status: "failed"},
		"deny":          {call: deploy, answer: []string{"--deny"}, status: "failed"},
		"in words":      {call: deploy, answer: []string{"--other", "Ask the server first"}, status: "done", prompt: "Ask the server first"},
		"nobody":        {call: deploy, answer: []string{}, config: "[inbox]\nexpire = \"1ms\"", status: "failed"},
		"deleted files": {call: step{ID: "a", Text: "Remove", Kind: "delete", Paths: []string{"data/all"}}, answer: []string{"skip"}, status: "done", prompt: "Remove data/all"},
		"no rule":       {call: step{ID: "a", Text: "`make release`", Kind: "execute"}, status: "done", prompt: doubt + "make release"},
		"another tool":  {call: step{ID: "a", Text: "Post a message", Kind: "other"}, status: "done", prompt: doubt + "Post a message"},
		"it had ended":  {call: step{ID: "a", Text: "`terraform apply`", Kind: "execute", Status: "completed"}, status: "done", absent: doubt},
		"it only reads": {call: step{ID: "a", Text: "Read", Kind: "read", Paths: []string{"x"}}, status: "done", absent: doubt},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, cutOff(tc.call), tc.config, "[permissions]", `ask = ["execute:terraform apply*", "delete:data/**"]`)
			p.plan("mine")
			p.atWork("at it", "run").kill()
			p.awaitGone()
			if tc.answer != nil {
				if len(tc.answer) > 0 {
					p.want(cli.ExitBlocked, "run").inStderr("(retry, skip, fail); answer it: ralph inbox answer q-")
					p.want(cli.ExitBlocked, "run") // nothing is asked twice
					asked := p.asked()
					check.Equal(t, "questions", 1, len(asked))
					p.want(0, append([]string{"inbox", "answer", asked[0].ID}, tc.answer...)...)
				} else {
					p.want(0, "recover")
				}
			}
			p.start("run").wait(map[bool]int{true: 0, false: 1}[tc.status == "done"])
			p.wantStatus("t-00000001", tc.status)
			if prompts := p.prompts(); tc.status == "done" {
				check.Contains(t, "the second prompt", tc.prompt, prompts[1])
				check.That(t, tc.absent == "" || !strings.Contains(prompts[1], tc.absent), "the second prompt has %q", tc.absent)
			} else {
				check.Equal(t, "prompts", 1, len(prompts))
			}
			p.want(0, "doctor")
		})
	}
}

// TestR4ACallIsRepeatedOnce: an attempt that was told to repeat a call, and died after it, leaves nothing to repeat. A call
// that waited for a permission did not happen.
func TestR4ACallIsRepeatedOnce(t *testing.T) {
	t.Parallel()
	apply := step{Do: "tool", ID: "a", Text: "`terraform apply`", Kind: "execute"}
	done, again := apply, step{Do: "permission", ID: "b", Text: "`terraform apply`", Kind: "execute", Options: []fakeagent.Option{{ID: "y", Kind: "allow_once"}, {ID: "n", Kind: "reject_once"}}}
	done.Status = "completed"
	script := cutOff(apply)
	script.Conversations = slices.Insert(script.Conversations, 1,
		fakeagent.Conversation{When: fakeagent.When{Attempt: 2}, Steps: []step{{Do: "mark", Text: "told"}, {Do: "hang"}}},
		fakeagent.Conversation{When: fakeagent.When{Attempt: 3}, Steps: []step{done, {Do: "read", Path: "script.json"}, {Do: "mark", Text: "repeated"}, {Do: "tool", ID: "b", Text: "`terraform apply`", Kind: "execute"}, again}},
	)
	p := newPlace(t, script, "[permissions]", `ask = ["execute:terraform apply*"]`)
	p.plan("mine")
	p.atWork("at it", "run").kill()
	p.want(cli.ExitBlocked, "run")
	p.want(0, "inbox", "answer", p.asked()[0].ID, "retry")
	p.atWork("told", "run").kill() // before it began
	p.env = append(slices.Clone(p.env), "RALPH_INBOX_WAIT=5m")
	r := p.atWork("repeated", "run")
	eventually(t, "it asks for a permission", func() bool { return len(p.asked()) == 2 })
	r.kill()
	p.want(0, "run")
	p.wantStatus("t-00000001", "done")
	for i, want := range []bool{false, true, true, false} {
		check.Equal(t, fmt.Sprintf("prompt %d says to repeat it", i+1), want, strings.Contains(p.prompts()[i], "Do it again."))
	}
	check.Equal(t, "requests", 2, len(p.asked()))
	p.wantSound()
}

// TestR4ACallIsRepeatedOnceHoweverItsAttemptEnds: not only if its run dies.
func TestR4ACallIsRepeatedOnceHoweverItsAttemptEnds(t *testing.T) {
	t.Parallel()
	apply := step{Do: "tool", ID: "a", Text: "`terraform apply`", Kind: "execute"}
	done := apply
	done.Status = "completed"
	for name, tc := range map[string]struct {
		last step
		end  func(p *place, r *running)
	}{
		"interrupted": {step{Do: "hang"}, func(_ *place, r *running) { r.signal(syscall.SIGINT); r.wait(130) }},
		"stopped": {step{Do: "hang"}, func(p *place, r *running) {
			p.want(0, "stop", "t-00000001")
			r.wait(cli.ExitBlocked)
			p.want(0, "resume", "t-00000001")
		}},
		"its agent dies": {step{Do: "exit", Code: 1}, func(_ *place, r *running) { r.wait(0) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script := cutOff(apply)
			script.Conversations = slices.Insert(script.Conversations, 1,
				fakeagent.Conversation{When: fakeagent.When{Attempt: 2}, Steps: []step{done, {Do: "read", Path: "script.json"}, {Do: "mark", Text: "repeated"}, tc.last}})
			p := newPlace(t, script, "[permissions]", `ask = ["execute:terraform apply*"]`)
			p.plan("mine")
			p.atWork("at it", "run").kill()
			p.want(cli.ExitBlocked, "run")
			p.want(0, "inbox", "answer", p.asked()[0].ID, "retry")
			tc.end(p, p.atWork("repeated", "run"))
			p.want(0, "run")
			p.wantStatus("t-00000001", "done")
			for i, want := range []bool{false, true, false} {
				check.Equal(t, fmt.Sprintf("prompt %d says to repeat it", i+1), want, strings.Contains(p.prompts()[i], "Do it again."))
			}
		})
	}
}

// TestR2AnApprovalThatWasPending when its run was killed is still open, and counts for the agent that asks again.
func TestR2AnApprovalThatWasPending(t *testing.T) {
	t.Parallel()
	ask := step{Do: "permission", Text: "`terraform apply`", Kind: "execute", Options: []fakeagent.Option{{ID: "y", Kind: "allow_once"}, {ID: "n", Kind: "reject_once"}}}
	p := newPlace(t, say(ask, step{Do: "file", Path: "after.txt", Text: "x"}, saysDone()), "[permissions]", `ask = ["execute:terraform apply*"]`)
	p.plan("mine")
	p.env = append(slices.Clone(p.env), "RALPH_INBOX_WAIT=5m")
	asked := func() bool { return len(p.asked()) == 1 && p.asked()[0].State == "open" }
	first := p.start("run")
	eventually(t, "it asks", asked)
	first.kill()
	p.awaitGone()
	check.That(t, asked() && !p.has("after.txt"), "got %+v", p.asked())
	second := p.start("run")
	eventually(t, "it asks again", func() bool {
		return strings.Contains(second.stderr.String(), "asks again: May the agent execute: terraform apply")
	})
	p.want(0, "inbox", "answer", p.asked()[0].ID, "yes")
	second.wait(0)
	p.wantStatus("t-00000001", "done")
	check.Equal(t, "requests", 1, len(p.asked()))
	p.want(0, "permissions", "log").inStdout("terraform apply")
}

// TestR10ACredentialThatWasPending when its run was killed is still asked for, and given to the agent after it.
func TestR10ACredentialThatWasPending(t *testing.T) {
	t.Parallel()
	p := newPlace(t, fakeagent.Script{Conversations: []fakeagent.Conversation{
		{When: fakeagent.When{Attempt: 1}, Steps: []step{
			{Do: "mcp", Method: "ask", Params: []byte(`{"question":"to charge the card","credential":"STRIPE_API_KEY"}`)}, {Do: "mark", Text: "asked"}, {Do: "hang"},
		}},
		{Steps: []step{{Do: "run", Argv: []string{"sh", "-c", `test "$STRIPE_API_KEY" = sk-test-123456 && echo x > charged.txt`}}, saysDone()}},
	}})
	p.plan("mine")
	p.write("key", "sk-test-123456\n")
	p.atWork("asked", "run").kill()
	p.want(cli.ExitBlocked, "run").inStderr("1 waits for an answer: ralph inbox")
	asked := p.asked()
	check.Equal(t, "requests", 1, len(asked))
	p.want(0, "inbox", "answer", asked[0].ID, "--credential", "@key")
	p.want(0, "run")
	p.wantStatus("t-00000001", "done")
	check.That(t, p.has("charged.txt"), "the agent did not get the credential")
}

// TestR4WorkThatWasCutOff is kept and in the next prompt, put aside, or left to a person, as the configuration says. What a person had not
// committed before stays in every case.
func TestR4WorkThatWasCutOff(t *testing.T) {
	t.Parallel()
	const inside = `git init -q inside; cd inside; echo x > file; git add -A; git -c user.name=t -c user.email=t@localhost commit -qm first; echo y > mine.txt`
	for name, tt := range map[string]struct {
		rule, file, flags string // file is half.txt unless it says otherwise
		before, spoil     string // scripts that run before the run, and before the next
		exit              int
		status            string
		aside             bool   // it is a commit, and not in the folder
		said              string // in the journal
		prompt            string // the second one says so
	}{
		"keep":              {rule: "keep", status: "done", prompt: "uncommitted: half.txt"},
		"keep, unverified":  {rule: "keep", flags: "--no-verify", status: "done", prompt: "uncommitted: half.txt"},
		"stash":             {rule: "stash", status: "done", aside: true, prompt: "was interrupted"},
		"stash, unverified": {rule: "stash", flags: "--no-verify", status: "done", aside: true, prompt: "was interrupted"},
		"fail":              {rule: "fail", exit: 1, status: "failed"},
		"fail, unverified":  {rule: "fail", flags: "--no-verify", exit: 1, status: "failed"},
		"a repository inside, keep": {
			rule: "keep", file: "inside/half.txt", before: inside, status: "done", prompt: "uncommitted: inside/",
		},
		"a repository inside, stash": {
			rule: "stash", file: "inside/half.txt", before: inside, status: "done", aside: true, prompt: "was interrupted",
		},
		"a repository inside, fail": {
			rule: "fail", file: "inside/half.txt", before: inside, exit: 1, status: "failed", said: "does not allow: inside/half.txt",
		},
		"a folder that became a repository, fail": {
			rule: "fail", file: "lib/half.txt", before: inside + "; cd ..; mkdir lib; echo x > lib/file", spoil: "git init -q lib",
			exit: 1, status: "failed", said: "does not allow: lib/half.txt",
		},
		"a merge is under way": {
			rule: "stash", status: "done", aside: true,
			spoil: `git hash-object -w half.txt | sed 's/.*/100644 & 1\thalf.txt\n100644 & 2\thalf.txt/' | git update-index --index-info`,
		},
		"there is no commit": {
			rule: "stash", spoil: "git update-ref -d HEAD", status: "done", aside: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := cmp.Or(tt.file, "half.txt")
			p := newPlace(t, fakeagent.Script{Conversations: []fakeagent.Conversation{
				{When: fakeagent.When{Attempt: 1}, Steps: []step{{Do: "file", Path: file, Text: "x"}, {Do: "mark", Text: "half"}, {Do: "hang"}}},
				{Steps: []step{{Do: "file", Path: "whole.txt", Text: "x"}, saysDone()}},
			}}, "[recovery]", fmt.Sprintf("on_dirty = %q", tt.rule))
			p.repository()
			p.write("mine.txt", "a person's")
			p.shell(tt.before)
			p.plan("mine")
			p.atWork("half", append([]string{"run", "--in-place"}, strings.Fields(tt.flags)...)...).kill()
			p.shell(tt.spoil)
			p.want(tt.exit, "run", "--in-place")
			p.wantStatus("t-00000001", tt.status)
			for _, name := range []string{"mine.txt", "inside/mine.txt", "inside/file"} {
				check.That(t, p.has(name) || tt.before == "" && name != "mine.txt", "a person's own %s is gone", name)
			}
			check.Equal(t, file+" is gone", tt.aside, !p.has(file))
			journal := p.want(0, "journal", "list", "--json")
			journal.inStdout(tt.said)
			check.Equal(t, "it is put aside", tt.aside, strings.Contains(journal.stdout, "is kept at refs/ralph/stash/t-00000001/"))
			if tt.prompt != "" {
				check.Contains(t, "the second prompt", tt.prompt, p.prompts()[1])
			}
		})
	}
}

// TestDeathsInARow cost nothing until there are too many of them; then each costs an
// attempt, and in the end the task fails for that reason.
func TestDeathsInARow(t *testing.T) {
	t.Parallel()
	p := newPlace(t, say(step{Do: "mark", Text: "at work"}, step{Do: "hang"}),
		"max_attempts = 2", "[recovery]", "max_interruptions = 3")
	p.plan("deadly")
	var charged []int
	for i := range 4 {
		r := p.start("run")
		eventually(t, "the agent is at work", func() bool { return p.entered("mark")["at work"] > i })
		r.kill()
		p.want(0, "recover")
		charged = append(charged, p.task("t-00000001").Attempts)
	}
	check.Equal(t, "attempts charged", []int{0, 0, 1, 2}, charged)
	task := p.task("t-00000001")
	if task.Status != "failed" || !strings.Contains(task.LastFailure, "its run died 4 times in a row") {
		t.Errorf("got %s for %v, want failed for that reason", task.Status, task.LastFailure)
	}
}

// TestAKillInALongTurnLeavesNoneOfItsText: what does not fit into memory is not redacted, so it
// is in a file that has lost its name. The next run goes on as after any death.
func TestAKillInALongTurnLeavesNoneOfItsText(t *testing.T) {
	t.Parallel()
	p := newPlace(t, fakeagent.Script{Conversations: []fakeagent.Conversation{
		{When: fakeagent.When{Attempt: 1}, Steps: []step{{Do: "flood", Text: "word ", Chunk: 10_000, N: 40}, {Do: "hang"}}},
		{Steps: []step{saysDone()}},
	}})
	p.plan("mine")
	r := p.start("run")
	held := fmt.Sprintf("/proc/%d/fd/", r.cmd.Process.Pid)
	eventually(t, "text is in a file without a name", func() bool {
		open, _ := os.ReadDir(held) // it may not have begun
		return slices.ContainsFunc(open, func(e os.DirEntry) bool {
			to, _ := os.Readlink(held + e.Name()) // it may be closed again
			return strings.Contains(to, "/said-") && strings.HasSuffix(to, " (deleted)")
		})
	})
	r.kill()
	p.awaitGone()
	check.Equal(t, "files with text of the turn", "", p.shell("find .ralph -name 'said-*'"))
	p.want(0, "run")
	p.wantTask("t-00000001", "done", 1)
	p.wantSound()
}
