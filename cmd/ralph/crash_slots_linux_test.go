package main

import (
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ralph/dag"
	"ralph/internal/db"
	"ralph/internal/event"
	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
)

// newSlots is a repository whose agents work in slots and each add a file. An agent waits
// for the file wait-TASK beside the repository to go away before it says that it is done.
func newSlots(t *testing.T, config ...string) *place {
	t.Helper()
	verify := false
	p := newPlace(t, fakeagent.Script{Conversations: []fakeagent.Conversation{{When: fakeagent.When{Verify: &verify}, Steps: []step{
		{Do: "run", Argv: []string{"sh", "-c", `ls {{task}}.txt >> "${RALPH_PROJECT:-.}/wait-found"`}},
		{Do: "file", Path: "{{task}}.txt", Text: "work"},
		{Do: "run", Argv: []string{"sh", "-c", `[ ! -e "${RALPH_PROJECT:-.}/wait-tag" ] || { git add {{task}}.txt; git -c user.name=a -c user.email=a@localhost commit -qm own --allow-empty; git tag -f made-{{task}}; }`}},
		{Do: "mark", Text: "worked {{task}}"},
		{Do: "run", Argv: []string{"sh", "-c", "while [ -e \"${RALPH_PROJECT:-.}/wait-{{task}}\" ]; do sleep 0.01; done"}},
		{Do: "say", Text: "<knowledge title=\"About {{task}}\" tags=\"crash\">\nIt can be mended.\n</knowledge>\n"},
		saysDone(),
	}}}}, append(config, "[verify]", `commands = ["echo >> $GATES"]`)...)
	p.env = append(p.env, "GATES="+filepath.Join(p.ledger, "gates"), "RALPH_VERIFY_ENABLED=true", "RALPH_SANDBOX_MODE=off", "XDG_STATE_HOME="+t.TempDir()) // the ledger is not in a slot
	p.repository()
	p.append(".git/info/exclude", "/plan.jsonl\n/wait-*\n/.local\n/.cache\n/.config\n")
	return p
}

// slotCrashes is the matrix of runs in slots.
var slotCrashes = map[string]struct {
	point, torn string // torn is what a power cut would have left besides
	action      string // what recovery made of the task
	status      string // of the task after it
	refs        string // that are left then
	queue       string // how its entries ended, in the end
}{
	"making a slot":          {point: "in-slot-setup", action: "released", status: "pending", queue: "landed"},
	"in a turn":              {point: "in-prompt-in-slot", action: "released", status: "pending", refs: "work", queue: "landed"},
	"kept, not in the queue": {point: "before-queue", action: "resumed", status: "pending", refs: "work", queue: "landed"},
	"in the queue":           {point: "after-candidate", action: "resumed", status: "pending", refs: "work", queue: "dropped landed"},
	"landing, nothing moved": {point: "before-land", action: "resumed", status: "pending", refs: "work", queue: "dropped landed"},
	"landing, files half written": {
		point: "before-move", action: "resumed", status: "pending", refs: "work", queue: "dropped landed",
		torn: `name=$(git diff-tree -r --name-only $1 $2); git show $2:$name | head -c 2 > $name; ln -s $2 .git/index.lock`,
	},
	"landing, files written": {
		point: "before-move", action: "resumed", status: "pending", refs: "work", queue: "dropped landed",
		torn: `git read-tree -m -u $1 $2`,
	},
	"landed, not settled":    {point: "after-move", action: "landed", status: "done", queue: "landed"},
	"settled, refs are left": {point: "before-ref-removal", status: "done", queue: "landed"},
}

// TestCrashMatrixInSlots kills a run at every point between a slot and the target. Recovery does what
// it said it would, the checkout is clean then, and the next run finishes the work.
func TestCrashMatrixInSlots(t *testing.T) {
	notRaced(t)
	for name, tt := range slotCrashes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newSlots(t)
			p.plan("first")
			p.dying(tt.point, "run", "--jobs", "2").wait(-1)
			p.awaitGone()
			if tt.torn != "" {
				p.tear(".git", tt.torn)
			}
			gates := p.gates()
			preview := p.recovered("--dry-run")
			check.Equal(t, "what recovery would do", tt.action, preview)
			check.Equal(t, "what recovery did", preview, p.recovered())
			check.Equal(t, "gates that recovery ran", 0, p.gates()-gates)
			p.wantStatus("t-00000001", tt.status)
			p.wantClean()
			check.Equal(t, "kinds of refs", tt.refs, strings.TrimSpace(p.shell(`git for-each-ref --format='%(refname)' refs/ralph | cut -d/ -f3`)))
			p.plan("second", "third")
			p.want(0, "run", "--jobs", "2")
			p.wantLandedOnce(3)
			p.wantQueued("t-00000001", tt.queue)
		})
	}
}

// TestCrashMatrixOfTags: what an attempt made of tags is there once its work has landed, and only then, whenever ralph dies.
func TestCrashMatrixOfTags(t *testing.T) {
	notRaced(t)
	for point, tt := range map[string]struct{ action, refs string }{
		"in-prompt-in-slot": {"released", "made work"},
		"before-queue":      {"resumed", "made work"},
		"after-candidate":   {"resumed", "made work"},
		"before-land":       {"resumed", "made work"},
		"before-refs-made":  {"landed", ""},
		"after-move":        {"landed", ""},
	} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			p := newSlots(t)
			p.write("wait-tag", "")
			p.plan("Write it, and tag it made-t-00000001")
			p.dying(point, "run", "--jobs", "2").wait(-1)
			p.awaitGone()
			made := func() string {
				return strings.TrimSpace(p.shell(`git for-each-ref --format='%(objectname)' refs/tags`))
			}
			check.Equal(t, "made when it died", point == "after-move", made() != "")
			check.Equal(t, "what recovery did", tt.action, p.recovered())
			kinds := p.shell(`git for-each-ref --format='%(refname)' refs/ralph | cut -d/ -f3 | grep -v candidate || :`)
			check.Equal(t, "kinds of refs", tt.refs, strings.Join(strings.Fields(kinds), " "))
			check.Equal(t, "made by recovery", tt.action == "landed", made() != "")
			p.want(0, "run", "--jobs", "2")
			check.Equal(t, "the tag, of what landed", strings.TrimSpace(p.shell(`git log --format=%H --grep=t-00000001 main`)), made())
			check.Equal(t, "refs that are left", "", strings.TrimSpace(p.shell(`git for-each-ref refs/ralph/made`)))
			p.wantClean()
		})
	}
}

// TestWhatALandingLeftIsNoPersonsChange: no run commits it, and one begins all the same, and puts it back.
func TestWhatALandingLeftIsNoPersonsChange(t *testing.T) {
	notRaced(t)
	p := newSlots(t)
	p.plan("first")
	p.dying("before-move", "run", "--jobs", "2").wait(-1)
	p.tear(".git", `git read-tree -m -u $1 $2`)
	p.want(64, "run", "--jobs", "2", "--with-changes")
	p.want(0, "run", "--jobs", "2")
	p.wantLandedOnce(1)
}

// tear does to the checkout what a power cut in the middle of a landing would have.
func (p *place) tear(git, script string) {
	p.Helper()
	files, err := filepath.Glob(filepath.Join(p.dir, git, "ralph/landing-*[0-9a-f]"))
	check.That(p, err == nil && len(files) == 1, "got %q, %v; want one landing", files, err)
	p.shell(script, strings.Split(p.read(git+"/ralph/"+filepath.Base(files[0])), "\n")...)
}

// recovered is what `ralph recover` says of the only task.
func (p *place) recovered(args ...string) string {
	p.Helper()
	var got struct{ Tasks []struct{ Action string } }
	p.json(&got, append([]string{"recover"}, args...)...)
	if len(got.Tasks) == 0 {
		return ""
	}
	return got.Tasks[0].Action
}

// gates is how often gates ran.
func (p *place) gates() int {
	if !p.has("ledger/gates") {
		return 0
	}
	return strings.Count(p.read("ledger/gates"), "\n")
}

// wantClean wants nothing in the checkout that is not committed, and no lock.
func (p *place) wantClean() {
	p.Helper()
	check.Equal(p, "what is uncommitted", "", p.shell(`git status --porcelain -- . ":!.ralph"`))
	check.Equal(p, "locks that are left", "", p.shell(`find .git -name '*.lock'`))
}

// wantQueued wants that the entries of a task ended so.
func (p *place) wantQueued(task, want string) {
	p.Helper()
	p.view(func(g *dag.Graph) error {
		entries := map[int64]string{}
		for _, state := range []dag.MergeState{dag.MergeTesting, dag.MergeGreen, dag.MergeLanding, dag.MergeLanded, dag.MergeDropped} {
			list, err := g.Queue.MergesIn(state)
			if err != nil {
				return err
			}
			for _, m := range list {
				if m.Task == task {
					entries[m.N] = string(m.State)
				}
			}
		}
		var got []string
		for _, n := range slices.Sorted(maps.Keys(entries)) {
			got = append(got, entries[n])
		}
		check.Equal(p, "entries of "+task, want, strings.Join(got, " "))
		return nil
	})
}

// TestALandingOfADeadRunDoesNotHoldUpALiveOne: it could never land otherwise.
func TestALandingOfADeadRunDoesNotHoldUpALiveOne(t *testing.T) {
	notRaced(t)
	for _, point := range []string{"after-candidate", "before-land", "after-move"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			p := newSlots(t)
			p.write("wait-t-00000001", "")
			p.plan("the live one's")
			live := p.atWork("worked t-00000001", "run", "--jobs", "1", "--target", "main")
			p.plan("the dead one's")
			p.dying(point, "run", "--jobs", "2").wait(-1)
			p.shell("rm wait-t-00000001")
			live.wait(0)
			p.wantLandedOnce(2)
		})
	}
}

// TestRecoveryWaitsForAGitThatWorks: what it cannot see may have landed all the same.
func TestRecoveryWaitsForAGitThatWorks(t *testing.T) {
	notRaced(t)
	p := newSlots(t)
	p.plan("first")
	p.dying("after-move", "run", "--jobs", "2").wait(-1)
	p.awaitGone()
	p.shell(`echo '[' >> .git/config`)
	p.want(70, "recover")
	p.shell(`sed -i '$d' .git/config`)
	check.Equal(t, "what recovery did", "landed", p.recovered())
}

// TestWorkInTheSlotOfADeadAttempt is kept as [recovery] on_dirty says, and the next attempt
// begins with it or without it.
func TestWorkInTheSlotOfADeadAttempt(t *testing.T) {
	notRaced(t)
	for rule, want := range map[string]struct{ ref, status, found string }{
		"keep":  {"work", "pending", "t-00000001.txt\n"},
		"stash": {"stash", "pending", ""},
		"fail":  {"work", "failed", ""}, // it is another task
	} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			p := newSlots(t, "[recovery]", fmt.Sprintf("on_dirty = %q", rule))
			p.plan("first")
			p.dying("in-prompt-in-slot", "run", "--jobs", "2").wait(-1)
			p.awaitGone()
			p.want(0, "recover")
			p.wantStatus("t-00000001", want.status)
			ref := strings.TrimSpace(p.shell(`git for-each-ref --format='%(refname)' refs/ralph`))
			check.That(t, strings.HasPrefix(ref, "refs/ralph/"+want.ref+"/t-00000001/"), "the work is at %q", ref)
			check.Equal(t, "what the work changes", "t-00000001.txt\n", p.shell(`git diff-tree -r --name-only main $1`, ref))
			if want.status == "failed" {
				p.want(0, "task", "delete", "t-00000001")
				p.plan("second")
			} else { // an attempt that came to nothing does not make it forgotten
				p.dying("after-claim", "run", "--jobs", "2").wait(-1)
				p.awaitGone()
			}
			p.want(0, "run", "--jobs", "2")
			check.Equal(t, "what the next agent found", want.found, p.read("wait-found"))
			check.Equal(t, "refs of tasks that are done or deleted", "", p.shell(`git for-each-ref refs/ralph`))
		})
	}
}

// TestRecoveryLocksNobodyOutWhileItKeepsWork: that may be many large files.
func TestRecoveryLocksNobodyOutWhileItKeepsWork(t *testing.T) {
	notRaced(t)
	p := newSlots(t)
	p.plan("first")
	p.dying("in-prompt-in-slot", "run", "--jobs", "2").wait(-1)
	p.awaitGone()
	p.shell(`mkfifo wait-pipe && echo '*.txt filter=slow' > .git/info/attributes &&
		git config filter.slow.clean "! mkdir $PWD/wait-once || { echo > $PWD/wait-pipe; cat $PWD/wait-pipe > /dev/null; }; cat"`)
	recovery := p.start("recover")
	p.shell(`cat wait-pipe`) // git reads the files
	p.want(0, "task", "add", "second")
	p.shell(`echo > wait-pipe`)
	recovery.wait(0)
	check.Contains(t, "refs", "refs/ralph/work/t-00000001/", p.shell(`git for-each-ref refs/ralph`))
}

// TestWorkThatCouldNotBeKept is not taken for finished: the next attempt would find that it changes nothing.
func TestWorkThatCouldNotBeKept(t *testing.T) {
	notRaced(t)
	p := newSlots(t)
	p.plan("first")
	p.shell(`mkdir -p .git/refs/ralph && echo > .git/refs/ralph/work`) // where git would make a folder
	p.want(4, "run", "--jobs", "2", "--once")
	p.shell(`rm .git/refs/ralph/work`)
	p.want(0, "run", "--jobs", "2")
	p.wantTask("t-00000001", "done", 2)
	p.wantQueued("t-00000001", "landed")
	p.holds("t-00000001.txt", "work")
}

// TestRecoveryDoesNotWaitForAPipe that an agent left where git reads rules: the slot is made anew.
func TestRecoveryDoesNotWaitForAPipe(t *testing.T) {
	notRaced(t)
	p := newSlots(t)
	p.plan("first")
	p.dying("in-prompt-in-slot", "run", "--jobs", "2").wait(-1)
	p.awaitGone()
	p.shell(`mkfifo "$(dirname "$(find "$XDG_STATE_HOME" -path '*/1/.git' ! -path '*/rooms/*')")/.gitignore"`)
	p.want(0, "recover").inStdout("what it left cannot be kept: ", "/.gitignore is not a regular file")
	p.want(0, "run", "--jobs", "2")
	p.wantStatus("t-00000001", "done")
}

// TestWorkThatWasFinishedInTheFolderLandsFromASlot: it is a commit like any other. Its files in the folder are left alone.
func TestWorkThatWasFinishedInTheFolderLandsFromASlot(t *testing.T) {
	notRaced(t)
	p := newSlots(t)
	p.plan("first")
	p.want(2, "run", "--review")
	p.want(0, "task", "reject", "t-00000001") // an earlier try in a slot does not matter
	p.dying("after-done", "run", "--in-place").wait(-1)
	p.awaitGone()
	p.want(0, "run", "--jobs", "2").inStderr("main waits for your t-00000001.txt")
	p.wantTask("t-00000001", "done", 2)
	check.Equal(t, "what is uncommitted", "?? t-00000001.txt\n", p.shell("git status --porcelain -- . ':!.ralph'"))
}

// TestWhatAResolutionDropsIsKnownAfterItsRunDied: no other attempt, and no ralph merge, takes it for work that never had a conflict.
func TestWhatAResolutionDropsIsKnownAfterItsRunDied(t *testing.T) {
	notRaced(t)
	for _, next := range [][]string{{"run", "--jobs", "2"}, {"merge"}} {
		t.Run(next[0], func(t *testing.T) {
			t.Parallel()
			work := step{Do: "file", Path: "value.txt", Text: "worked\n"}
			land := step{Do: "run", Argv: []string{"sh", "-c", `cd "$RALPH_PROJECT" && echo "by a person" > value.txt && git -c user.name=t -c user.email=t@localhost commit -qam landed`}}
			p := newPlace(t, fakeagent.Script{Conversations: []fakeagent.Conversation{
				{When: fakeagent.When{Contains: "Merge Conflict"}, Steps: []step{work, saysDone()}},
				{Steps: []step{work, land, saysDone()}},
			}}, "[merge]", `rebase = "never"`)
			p.env = append(p.env, "RALPH_SANDBOX_MODE=off", "XDG_STATE_HOME="+t.TempDir())
			p.write("value.txt", "old\n")
			p.repository()
			p.append(".git/info/exclude", "/plan.jsonl\n/.local\n/.cache\n/.config\n")
			p.plan("first")
			p.dying("after-candidate", "run", "--jobs", "2").wait(-1)
			p.awaitGone()
			p.want(2, next...).inStderr(`value.txt lacks what`)
			check.Equal(t, "the target", "by a person\n", p.shell("git show main:value.txt"))
		})
	}
}

// TestWorkThatIsToBeReviewedIsHeldAfterItsRunDied, by ralph merge as well: nobody has looked at it.
func TestWorkThatIsToBeReviewedIsHeldAfterItsRunDied(t *testing.T) {
	notRaced(t)
	for name, tt := range map[string]struct{ config, flags []string }{
		"configured": {config: []string{"[merge]", `review = "all"`}},
		"asked for":  {flags: []string{"--review"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newSlots(t, tt.config...)
			p.plan("first")
			p.dying("after-candidate", append([]string{"run", "--jobs", "2"}, tt.flags...)...).wait(-1)
			p.awaitGone()
			p.want(2, append([]string{"merge"}, tt.flags...)...).inStderr("to review before it lands: the work of t-00000001")
			p.wantStatus("t-00000001", "pending")
			p.want(0, "task", "accept", "t-00000001")
			p.want(0, "merge")
			p.wantStatus("t-00000001", "done")
			p.wantQueued("t-00000001", "dropped dropped landed")
			p.want(0, "undo", "t-00000001") // a person wants it
			p.wantStatus("t-00000001", "pending")
		})
	}
}

// TestATaskThatIsResetAfterItsRunDied is done again. Only the target knows whether its work is there.
func TestATaskThatIsResetAfterItsRunDied(t *testing.T) {
	notRaced(t)
	for _, tt := range []struct{ point, reset, queue string }{
		{"before-land", "t-00000001", "dropped landed"},
		{"after-move", "t-00000001", "landed landed"},
		{"after-move", "--stale", "landed landed"},
	} {
		t.Run(tt.point+" "+tt.reset, func(t *testing.T) {
			t.Parallel()
			p := newSlots(t)
			p.worksAnew()
			p.plan("first")
			p.dying(tt.point, "run", "--jobs", "2").wait(-1)
			p.want(0, "task", "reset", tt.reset).inStderr("t-00000001 was landing, and its work may be on main: the next run finds out, or: ralph recover")
			p.want(0, "run", "--jobs", "2")
			p.wantStatus("t-00000001", "done")
			p.wantQueued("t-00000001", tt.queue)
			p.wantClean()
			p.wantNobodyLanding()
			p.want(0, "doctor")
		})
	}
}

// worksAnew has every session of an agent make another change.
func (p *place) worksAnew() {
	p.Helper()
	p.write("script.json", strings.ReplaceAll(p.read("script.json"), `"work"`, `"work {{session}}"`))
	p.shell(`git -c user.name=t -c user.email=t@localhost commit -qam session`)
}

// TestATaskThatIsResetWhileItLands is done again. Whether its work had landed or not, nobody waits for it.
func TestATaskThatIsResetWhileItLands(t *testing.T) {
	notRaced(t)
	for name, tt := range map[string]struct {
		before, await, after string
		queue                string
	}{
		"it waits for a git": {
			before: `touch .git/index.lock`, await: `grep -q merge_waiting .ralph/runs/*/events.jsonl`, queue: "dropped landed",
			after: `until grep -q attempt_ended .ralph/runs/*/events.jsonl; do sleep 0.01; done; rm .git/index.lock`,
		},
		"git is writing its files": { // in the person's folder, not in a slot
			before: `git config filter.slow.smudge 'test $PWD != "'$PWD'" || { touch wait-writes; while ! test -e wait-no-more; do sleep 0.01; done; }; cat'
				echo '*.txt filter=slow' > .git/info/attributes`,
			await: `test -e wait-writes`, after: `touch wait-no-more`, queue: "landed landed",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newSlots(t)
			p.worksAnew()
			p.shell(tt.before)
			p.plan("first")
			run := p.start("run", "--jobs", "2")
			eventually(t, tt.await, func() bool { return exec.Command("sh", "-c", "cd "+p.dir+" && "+tt.await).Run() == nil })
			p.want(0, "task", "reset", "t-00000001")
			p.shell(tt.after)
			run.wait(0)
			p.wantStatus("t-00000001", "done")
			p.wantQueued("t-00000001", tt.queue)
			p.wantClean()
			p.wantNobodyLanding()
			check.Equal(t, "refs that are left", "", p.shell(`git for-each-ref refs/ralph`))
		})
	}
}

// TestARunThatDiesBeforeItTakesASlot leaves the work of the attempt before it there, which is not its own.
func TestARunThatDiesBeforeItTakesASlot(t *testing.T) {
	notRaced(t)
	p := newSlots(t)
	p.plan("first")
	p.want(2, "run", "--jobs", "2", "--review")
	p.plan("second")
	p.dying("after-claim", "run", "--jobs", "2").wait(-1)
	p.awaitGone()
	p.want(0, "recover")
	check.Equal(t, "whose work is kept", "t-00000001\n", p.shell(`git for-each-ref --format='%(refname)' refs/ralph/work | cut -d/ -f4`))
	p.want(2, "run", "--jobs", "2")
	check.Equal(t, "what the second changed", "t-00000002.txt\n", p.shell(`git diff-tree -r --name-only main^ main`))
}

// wantLandedOnce wants that so many tasks are done and landed once, and that no agent was asked again
// to do what was finished.
func (p *place) wantLandedOnce(tasks int) {
	p.Helper()
	p.wantOnTarget(tasks)
	asked, claimed := p.entered("prompted"), map[string]int{}
	for _, e := range p.events() {
		switch e.Type {
		case event.TaskClaimed:
			claimed[e.Task]++
		case event.Recovered:
			if e.Outcome == "resumed" || e.Outcome == "landed" {
				check.Equal(p, "prompts of "+e.Task+", whose work was finished", 1, asked[e.Task])
			}
			if e.Outcome == "landed" {
				check.Equal(p, "attempts at "+e.Task+", whose work had landed", 1, claimed[e.Task])
			}
		}
	}
}

// wantOnTarget wants that so many tasks are done and each one's commit is on the target once,
// and that nothing else is left.
func (p *place) wantOnTarget(tasks int) {
	p.Helper()
	p.wantNothingLeft()
	p.wantNoOverlap()
	var ids []string
	for i := range tasks {
		id := number(i + 1)
		ids = append(ids, id)
		p.wantVerified(id)
		p.holds(id+".txt", "work")
		p.holds(".ralph/knowledge/about-"+id+".md", "It can be mended.")
	}
	landed := strings.Fields(p.shell(`git log --format='%(trailers:key=Ralph-Task,valueonly)' main`))
	slices.Sort(landed)
	check.Equal(p, "tasks on the target", ids, landed)
	p.wantClean()
	check.Equal(p, "refs that are left", "", p.shell(`git for-each-ref refs/ralph`))
	p.want(0, "doctor")
	p.wantNobodyLanding()
}

// wantNobodyLanding wants the queue empty, every slot free and no lock held.
func (p *place) wantNobodyLanding() {
	p.Helper()
	p.view(func(g *dag.Graph) error {
		queue, err := g.Queue.OpenMerges("")
		check.That(p, len(queue) == 0, "still in the queue: %+v", queue)
		held, herr := g.Queue.Locks()
		check.That(p, len(held) == 0, "slots, locks and places of agents that are held: %+v", held)
		return errors.Join(err, herr)
	})
}

// view looks into the database.
func (p *place) view(do func(*dag.Graph) error) {
	p.Helper()
	file, err := db.Open(p.Context(), filepath.Join(p.dir, ".ralph/progress.db"), db.Options{})
	check.OK(p, err)
	defer file.Close()
	check.OK(p, dag.New(file, dag.Options{}).View(p.Context(), do))
}
