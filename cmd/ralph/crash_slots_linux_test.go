package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ralph/dag"
	"ralph/event"
	"ralph/internal/db"
	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
)

// newSlots is a repository whose agents work in slots and each add a file. An agent waits
// for the file wait-TASK beside the repository to go away before it says that it is done.
func newSlots(t *testing.T, config ...string) *place {
	t.Helper()
	verify := false
	p := newPlace(t, fakeagent.Script{Conversations: []fakeagent.Conversation{{When: fakeagent.When{Verify: &verify}, Steps: []step{
		{Do: "file", Path: "{{task}}.txt", Text: "work"},
		{Do: "mark", Text: "worked {{task}}"},
		{Do: "run", Argv: []string{"sh", "-c", "while [ -e \"$FAKEAGENT_LEDGER/../wait-{{task}}\" ]; do sleep 0.01; done"}},
		{Do: "say", Text: "<knowledge title=\"About {{task}}\" tags=\"crash\">\nIt can be mended.\n</knowledge>\n"},
		saysDone(),
	}}}}, append(config, "[verify]", `commands = ["test -f script.json"]`)...)
	p.env = append(p.env, "RALPH_VERIFY_ENABLED=true", "RALPH_SANDBOX_MODE=off", "XDG_STATE_HOME="+t.TempDir()) // the ledger is not in a slot
	p.repository()
	p.append(".git/info/exclude", "/plan.jsonl\n/wait-*\n/.local\n/.cache\n/.config\n")
	return p
}

// slotCrashes is the matrix of runs in slots: what recovery made of a task at least, and what
// a power cut would have left besides.
var slotCrashes = map[string]struct{ point, action, torn string }{
	"K15 making a slot":             {point: "K15", action: "released"},
	"K16 in a turn":                 {point: "K16", action: "released"},
	"K17 kept, not in the queue":    {point: "K17", action: "resumed"},
	"K18 in the queue":              {point: "K18", action: "resumed"},
	"K19 landing, nothing moved":    {point: "K19", action: "resumed"},
	"K20 files half written":        {"K20", "resumed", `name=$(git diff-tree -r --name-only $1 $2); git show $2:$name | head -c 2 > $name; ln -s $2 .git/index.lock`},
	"K21 files written, ref is old": {"K21", "resumed", `git read-tree -m -u $1 $2`},
	"K22 landed, not settled":       {point: "K22", action: "landed"},
	"K23 settled, refs are left":    {point: "K23"},
}

// TestCrashMatrixInSlots kills a run at every point between a slot and the target. The next
// one finishes the work: each task's change is on the target once.
func TestCrashMatrixInSlots(t *testing.T) {
	notRaced(t)
	for name, tt := range slotCrashes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newSlots(t)
			p.plan("first", "second", "third")
			p.dying(tt.point, "run", "--jobs", "2").wait(-1)
			p.awaitGone()
			if tt.torn != "" {
				files, err := filepath.Glob(filepath.Join(p.dir, ".git/ralph/landing-????????????????"))
				check.That(t, err == nil && len(files) == 1, "got %q, %v; want one landing", files, err)
				noted := strings.Split(p.read(".git/ralph/"+filepath.Base(files[0])), "\n")
				p.shell(tt.torn, noted...)
			}
			p.want(0, "run", "--jobs", "2")
			p.wantLandedOnce(3, tt.action)
		})
	}
}

// TestALandingOfADeadRunDoesNotHoldUpALiveOne: it could never land otherwise.
func TestALandingOfADeadRunDoesNotHoldUpALiveOne(t *testing.T) {
	notRaced(t)
	for point, action := range map[string]string{"K18": "resumed", "K19": "resumed", "K22": "landed"} {
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
			p.wantLandedOnce(2, action)
		})
	}
}

// TestATaskThatIsResetWhileItLands: only the target knows whether its work is there.
func TestATaskThatIsResetWhileItLands(t *testing.T) {
	notRaced(t)
	for _, which := range []string{"t-00000001", "--stale"} {
		t.Run(which, func(t *testing.T) {
			t.Parallel()
			p := newSlots(t)
			p.plan("its run dies")
			p.dying("K22", "run", "--jobs", "2").wait(-1)
			p.awaitGone()
			check.Contains(t, "what it says", "t-00000001 was landing, and its work may be on main: the next run finds out, or: ralph recover", p.want(0, "task", "reset", which).stderr)
			p.want(0, "recover")
			p.wantNobodyLanding()
			p.want(0, "doctor")
		})
	}
}

// TestWorkInTheSlotOfADeadAttempt is kept as [recovery] on_dirty says.
func TestWorkInTheSlotOfADeadAttempt(t *testing.T) {
	notRaced(t)
	for rule, want := range map[string]struct{ ref, status, below string }{
		"keep":  {"work", "pending", "t-00000001.txt\n"},
		"stash": {"stash", "pending", "t-00000001.txt\n"},
		"fail":  {"work", "failed", "t-00000001.txt\n"},
	} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			p := newSlots(t, "[recovery]", fmt.Sprintf("on_dirty = %q", rule))
			p.plan("first")
			p.dying("K16", "run", "--jobs", "2").wait(-1)
			p.awaitGone()
			p.want(0, "recover")
			p.wantStatus("t-00000001", want.status)
			ref := strings.TrimSpace(p.shell(`git for-each-ref --format='%(refname)' refs/ralph`))
			check.That(t, strings.HasPrefix(ref, "refs/ralph/"+want.ref+"/t-00000001/"), "the work is at %q", ref)
			check.Equal(t, "what the work changes", want.below, p.shell(`git diff-tree -r --name-only main $1`, ref))
			if want.status == "failed" {
				p.want(0, "task", "delete", "t-00000001")
				p.plan("second")
			}
			p.want(0, "run", "--jobs", "2")
			check.Equal(t, "refs of tasks that are done or deleted", "", p.shell(`git for-each-ref refs/ralph`))
		})
	}
}

// wantLandedOnce wants that so many tasks are done and landed once, and that recovery did what it
// says to one of them at least.
func (p *place) wantLandedOnce(tasks int, action string) {
	p.Helper()
	p.wantOnTarget(tasks)
	asked, claimed, actions := p.entered("prompted"), map[string]int{}, map[string]bool{}
	for _, e := range p.events() {
		switch e.Type {
		case event.TaskClaimed:
			claimed[e.Task]++
		case event.Recovered:
			actions[e.Outcome] = true
			if e.Outcome == "resumed" || e.Outcome == "landed" {
				check.Equal(p, "prompts of "+e.Task+", whose work was finished", 1, asked[e.Task])
			}
			if e.Outcome == "landed" {
				check.Equal(p, "attempts at "+e.Task+", whose work had landed", 1, claimed[e.Task])
			}
		}
	}
	check.That(p, action == "" || actions[action], "recovery: got %v, want %q among it", actions, action)
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
	check.Equal(p, "what is uncommitted", "", p.shell(`git status --porcelain -- . ":!.ralph"`))
	check.Equal(p, "refs that are left", "", p.shell(`git for-each-ref refs/ralph`))
	p.want(0, "doctor")
	p.wantNobodyLanding()
}

// wantNobodyLanding wants the queue empty, every slot free and no lock held.
func (p *place) wantNobodyLanding() {
	p.Helper()
	p.view(func(g *dag.Graph) error {
		queue, err := g.Queue("")
		check.That(p, len(queue) == 0, "still in the queue: %+v", queue)
		held, herr := g.Locks()
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
