package main

import (
	"fmt"
	"testing"

	"ralph/dag"
	"ralph/internal/testing/check"
)

// The three tasks of a line: the first is held, because it is large, and the others stand on it.
const (
	heldTask   = "t-00000001"
	secondTask = "t-00000002"
	thirdTask  = "t-00000003"
)

// newLine is a repository in which a run holds the work of the first of three tasks in a line.
func newLine(t *testing.T) *place {
	t.Helper()
	p := newSlots(t, "[merge]", `review = "risky"`, "risk = 0.1")
	p.tasks = 3
	p.imports(fmt.Sprintf(`{"ref":%q,"title":"a script","agent":"shell","description":%q}
{"ref":%q,"title":"second","after":[%q]}
{"ref":%q,"title":"third","after":[%q]}
`, heldTask, "```sh\nseq 500 > "+heldTask+".txt\n```", secondTask, heldTask, thirdTask, secondTask))
	return p
}

// stored is a task as the database has it.
func (p *place) stored(id string) (t dag.Task) {
	p.Helper()
	p.view(func(g *dag.Graph) (err error) { t, err = g.Tasks.Get(id); return err })
	return t
}

// wantLine wants the first task held, and the others on it.
func (p *place) wantLine() {
	p.Helper()
	got := ""
	for _, id := range []string{heldTask, secondTask, thirdTask} {
		t := p.stored(id)
		got += fmt.Sprintf("%s %s on %q\n", id, t.State(t.UpdatedAt), t.StandsOn)
	}
	check.Equal(p, "the line", fmt.Sprintf("%s to review on %q\n%s on held work on %q\n%s on held work on %q\n", heldTask, "", secondTask, heldTask, thirdTask, secondTask), got)
	p.want(0, "doctor")
}

// wantLandedInOrder wants all three on the target, one after the other.
func (p *place) wantLandedInOrder() {
	p.Helper()
	check.Equal(p, "what landed, the last first", "third\nsecond\na script\nfirst\n", p.shell(`git log --format=%s`))
	for _, id := range []string{heldTask, secondTask, thirdTask} {
		p.wantStatus(id, "done")
		check.That(p, p.has(id+".txt"), "%s.txt is missing", id)
	}
	check.Equal(p, "refs that are left", "", p.shell(`git for-each-ref refs/ralph`))
	p.wantClean()
	p.want(0, "doctor")
}

// TestCrashMatrixOnHeldWork kills a run wherever the second task of a line is on its way, and, once the first is accepted, what lands the
// line. What stands on what is stored: the line is there again, and lands in order.
func TestCrashMatrixOnHeldWork(t *testing.T) {
	notRaced(t)
	for working, landing := range map[string]string{
		"after-claim:3": "after-candidate", "in-prompt-in-slot:2": "before-land", "before-queue:2": "after-move", "after-done:2": "before-ref-removal", "after-candidate:2": "in-settlement", "in-settlement:2": "before-land:2", "after-settlement:2": "after-move:2", "in-settlement:3": "after-choice:2",
	} {
		t.Run(working+" and "+landing, func(t *testing.T) {
			t.Parallel()
			p := newLine(t)
			p.dying(working, "run", "--jobs", "2").wait(-1)
			p.awaitGone()
			p.want(2, "run", "--jobs", "2")
			if working == "before-queue:2" || working == "after-done:2" || working == "after-candidate:2" { // finished, and never judged: it is, when the first has landed
				check.Equal(t, "what it stands on", heldTask, p.stored(secondTask).StandsOn)
			} else {
				p.wantLine()
			}
			p.want(0, "task", "accept", heldTask)
			p.dying(landing, "merge").wait(-1)
			p.awaitGone()
			p.want(0, "run", "--jobs", "2")
			p.wantLandedInOrder()
		})
	}
}

// TestHeldWorkThatIsRejectedAfterACrash has what stood on it begin anew, wherever that was.
func TestHeldWorkThatIsRejectedAfterACrash(t *testing.T) {
	notRaced(t)
	for _, point := range []string{"after-claim:3", "in-prompt-in-slot:2", "before-queue:2", "after-candidate:2", "in-settlement:2", "after-settlement:2"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			p := newLine(t)
			p.dying(point, "run", "--jobs", "2").wait(-1)
			p.want(0, "task", "reset", heldTask).inStderr("will begin anew without it: " + secondTask)
			p.want(0, "doctor")
			p.awaitGone()
			p.want(2, "run", "--jobs", "2")
			p.wantLine()
			check.Equal(t, "retries", 0, p.stored(secondTask).Retries)
			p.want(0, "task", "accept", heldTask)
			p.want(0, "merge")
			p.wantLandedInOrder()
		})
	}
}

// TestWhoStandsOnRejectedWorkIsStopped in the middle of a turn, and begins again once the new work is held.
func TestWhoStandsOnRejectedWorkIsStopped(t *testing.T) {
	notRaced(t)
	p := newLine(t)
	p.write("wait-"+secondTask, "")
	run := p.atWork("worked "+secondTask, "run", "--jobs", "1")
	p.want(0, "task", "reject", heldTask)
	eventually(t, "it is held again", func() bool { return p.stored(heldTask).ToReview })
	p.shell("rm wait-" + secondTask)
	run.wait(2)
	check.Contains(t, "why it ended", "the work that it stood on was not accepted", run.stderr.String())
	p.wantLine()
}

// TestWhoStandsOnWorkThatLandsFollowsIt in the middle of a turn, and lands after it.
func TestWhoStandsOnWorkThatLandsFollowsIt(t *testing.T) {
	notRaced(t)
	p := newLine(t)
	p.write("wait-"+secondTask, "")
	run := p.atWork("worked "+secondTask, "run", "--jobs", "2")
	p.want(0, "task", "accept", heldTask)
	eventually(t, "it landed", func() bool { return p.stored(heldTask).Status == "done" })
	p.shell("rm wait-" + secondTask)
	run.wait(0)
	p.wantLandedInOrder()
	check.That(t, p.stored(secondTask).Attempts == 1, "it took more than one attempt:\n%s", p.want(0, "task", "show", secondTask).stdout)
}
