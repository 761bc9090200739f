package main

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
)

// The seed's page on recovery, for ralph, has the agent's work as its first step and verification
// as the second. Its R4 is here, R3 is K5 of the crash matrix, and the others are scripts:
// recovery_r1 and so on, control_stop and signal_grace for R8, signal_slow for R9. R2, R6 and R10
// are about approvals and adapters, which do not exist here.

// TestR4WorkThatWasCutOff is kept and in the next prompt, put into git's stash, or left to a
// person, as the configuration says. What a person had not committed before stays in every
// case. Work in a repository inside the project is not stashed, and what git cannot handle
// stays: that is said, because every next start would meet the same.
func TestR4WorkThatWasCutOff(t *testing.T) {
	t.Parallel()
	const inside = `git init -q inside; cd inside; echo x > file; git add -A; git -c user.name=t -c user.email=t@localhost commit -qm first; echo y > mine.txt`
	for name, tt := range map[string]struct {
		rule, file, flags string // file is half.txt unless it says otherwise
		before, spoil     string // scripts that run before the run, and before the next
		exit              int
		status            string
		gone, stashed     bool
		said              string // in the journal
		prompt            string // the second one says so
	}{
		"keep":              {rule: "keep", status: "done", prompt: "uncommitted: half.txt"},
		"keep, unverified":  {rule: "keep", flags: "--no-verify", status: "done", prompt: "uncommitted: half.txt"},
		"stash":             {rule: "stash", status: "done", gone: true, stashed: true, prompt: "was interrupted"},
		"stash, unverified": {rule: "stash", flags: "--no-verify", status: "done", gone: true, stashed: true, prompt: "was interrupted"},
		"fail":              {rule: "fail", exit: 1, status: "failed"},
		"fail, unverified":  {rule: "fail", flags: "--no-verify", exit: 1, status: "failed"},
		"a repository inside, keep": {
			rule: "keep", file: "inside/half.txt", before: inside, status: "done", prompt: "uncommitted: inside/half.txt",
		},
		"a repository inside, stash": {
			rule: "stash", file: "inside/half.txt", before: inside, status: "done", prompt: "uncommitted: inside/half.txt",
			said: "in repositories inside the project stays, and is not stashed: inside/half.txt",
		},
		"a repository inside, fail": {
			rule: "fail", file: "inside/half.txt", before: inside, exit: 1, status: "failed", said: "does not allow: inside/half.txt",
		},
		"a folder that became a repository, fail": {
			rule: "fail", file: "lib/half.txt", before: inside + "; cd ..; mkdir lib; echo x > lib/file", spoil: "git init -q lib",
			exit: 1, status: "failed", said: "does not allow: lib/half.txt",
		},
		"a merge is under way": {
			rule: "stash", status: "done", said: "its uncommitted work stays, because git could not stash it (git stash: exit status 1: half.txt: needs merge)",
			spoil: `git hash-object -w half.txt | sed 's/.*/100644 & 1\thalf.txt\n100644 & 2\thalf.txt/' | git update-index --index-info`,
		},
		"there is no commit": {
			rule: "stash", spoil: "git update-ref -d HEAD", status: "done", said: "its uncommitted work stays, because git could not stash it",
		},
		"how it began is forgotten": {
			rule: "fail", spoil: "rm -r .ralph/objects", status: "done", said: "whether it left uncommitted work could not be seen",
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
			p.atWork("half", append([]string{"run"}, strings.Fields(tt.flags)...)...).kill()
			p.shell(tt.spoil)
			p.want(tt.exit, "run")
			p.wantStatus("t-00000001", tt.status)
			for _, name := range []string{"mine.txt", "inside/mine.txt", "inside/file"} {
				check.That(t, p.has(name) || tt.before == "" && name != "mine.txt", "a person's own %s is gone", name)
			}
			check.Equal(t, file+" is gone", tt.gone, !p.has(file))
			check.Equal(t, "it is stashed", tt.stashed, strings.Contains(p.shell("git stash list"), "t-00000001"))
			p.want(0, "journal", "list", "--json").inStdout(tt.said)
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
		eventually(t, "the agent is at work", func() bool { return len(p.entries()) >= 3*(i+1) })
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
