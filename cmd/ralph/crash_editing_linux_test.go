package main

import (
	"os"
	"path/filepath"
	"testing"

	"ralph/internal/testing/check"
)

// newEdited is a repository in which a person changes the last line of a file while the agent changes the first, and is
// about to change another file.
func newEdited(t *testing.T) *place {
	t.Helper()
	p := newPlace(t, say(step{Do: "run", Argv: []string{"sh", "-c", `sed -i s/1/one/ value.txt; sed -i s/9/mine/ "${RALPH_PROJECT:-.}/value.txt"`}}, saysDone()),
		"[verify]", `commands = ["test -s value.txt"]`)
	p.env = append(p.env, "RALPH_SANDBOX_MODE=off", "XDG_STATE_HOME="+t.TempDir())
	p.write("value.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n")
	p.write("other.txt", "old\n")
	p.repository()
	p.append(".git/info/exclude", "/plan.jsonl\n/held\n/.local\n/.cache\n/.config\n")
	p.shell(`git config user.name t; git config user.email t@localhost`)
	p.plan("first")
	return p
}

// editing has a person commit all they have at every point of landing.
var editing = map[string]struct {
	point  string
	before string // what happened before the program that gets there: a run to its end, and a person
	args   []string
	action string // what recovery makes of the task, if it is killed there
}{
	"landing, nothing moved":       {point: "before-land", action: "resumed"},
	"about to land beyond":         {point: "before-land-beyond", action: "resumed"},
	"landed beyond, not settled":   {point: "after-move", action: "landed"},
	"settled":                      {point: "before-ref-removal"},
	"the branch is about to move":  {point: "before-move", before: "git checkout -q value.txt", args: []string{"merge"}},
	"the branch has moved":         {point: "after-branch-move", before: "git checkout -q value.txt", args: []string{"merge"}},
	"united, the branch not moved": {point: "before-branch-move", before: "git commit -qam mine", args: []string{"merge"}},
}

// commits is a person who has changed one more file, and commits what git knows.
const commits = `echo mine > other.txt; git commit -qam "all of mine"`

// TestAPersonsCommitAtEveryMomentOfLanding loses nothing, whether ralph goes on or is killed at that moment: the branch has what they
// committed at once, and the work in the end.
func TestAPersonsCommitAtEveryMomentOfLanding(t *testing.T) {
	notRaced(t)
	for name, tt := range editing {
		for _, killed := range []bool{false, true} {
			how := map[bool]string{false: ", and it goes on", true: ", and it is killed"}[killed]
			t.Run(name+how, func(t *testing.T) {
				t.Parallel()
				p := newEdited(t)
				args, mine := tt.args, tt.before != "git checkout -q value.txt" // else they gave that line up
				if tt.before == "" {
					args = []string{"run", "--jobs", "1", "--target", "main"}
				} else {
					p.want(0, "run", "--jobs", "1", "--target", "main").inStderr("main waits for your value.txt")
					p.shell(tt.before)
				}
				held := filepath.Join(p.dir, "held")
				if killed {
					p.dying(tt.point, args...).wait(-1)
					p.awaitGone()
					p.shell(commits)
					check.Equal(t, "what recovery would do", tt.action, p.recovered("--dry-run"))
				} else {
					run := p.dying(tt.point+":"+held, args...)
					eventually(t, "it gets to "+tt.point, func() bool { _, err := os.Stat(held); return err == nil })
					p.shell(commits)
					check.Equal(t, "what the branch has at once", "mine\n", p.shell(`git show main:other.txt`))
					p.shell(`rm held`)
					run.wait(0)
				}
				p.want(0, "merge")
				p.wantStatus("t-00000001", "done")
				p.wantClean()
				check.Equal(t, "the person's commit", "mine\n", p.shell(`git show main:other.txt`))
				check.Equal(t, "both sides of the file", map[bool]string{true: "one\nmine\n", false: "one\n9\n"}[mine], p.shell(`git show main:value.txt | sed -n '1p;9p'`))
				check.Equal(t, "refs that are left", "", p.shell(`git for-each-ref refs/ralph`))
				check.Equal(t, "commits of the task", "1\n", p.shell(`git log --format='%(trailers:key=Ralph-Task,valueonly)' main | grep -c t-`))
				p.wantNobodyLanding()
				p.want(0, "doctor")
			})
		}
	}
}

// TestCrashMatrixBeyondABranch kills ralph at every point between a branch and what has landed beyond it. The next ralph merge moves the
// branch, once, and what was half written is gone.
func TestCrashMatrixBeyondABranch(t *testing.T) {
	notRaced(t)
	for name, tt := range map[string]struct{ point, before, torn string }{
		"about to land beyond":               {point: "before-land-beyond"},
		"landed beyond, not settled":         {point: "after-move"},
		"the branch is about to move":        {point: "before-move", before: "git checkout -q value.txt"},
		"the branch moves, half written":     {point: "before-move", before: "git checkout -q value.txt", torn: `printf on > value.txt; ln -s $2 .git/index.lock`},
		"the branch moves, all is written":   {point: "before-move", before: "git checkout -q value.txt", torn: `git read-tree -m -u $1 $2`},
		"the branch has moved":               {point: "after-branch-move", before: "git checkout -q value.txt"},
		"united, the branch about to follow": {point: "before-branch-move", before: "git commit -qam mine"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newEdited(t)
			args := []string{"run", "--jobs", "1", "--target", "main"}
			if tt.before != "" {
				p.want(0, args...)
				p.shell(tt.before)
				args = []string{"merge"}
			}
			p.dying(tt.point, args...).wait(-1)
			p.awaitGone()
			if tt.torn != "" {
				p.tear(".git", tt.torn)
			} else if tt.before == "" {
				check.Equal(t, "the person's file", "mine\n", p.shell(`git diff | sed -n 's/^+\(mine\)/\1/p'`))
				p.want(0, "merge").inStderr("main waits for your value.txt")
				p.shell(`git checkout -q value.txt`)
			}
			p.want(0, "merge")
			p.wantTask("t-00000001", "done", 1)
			p.wantClean()
			check.Equal(t, "the work", "one\n", p.shell(`sed -n 1p value.txt`))
			check.Equal(t, "commits of the task", "1\n", p.shell(`git log --format='%(trailers:key=Ralph-Task,valueonly)' main | grep -c t-`))
			check.Equal(t, "refs that are left", "", p.shell(`git for-each-ref refs/ralph`))
			p.want(0, "doctor")
		})
	}
}
