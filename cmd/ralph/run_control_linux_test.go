package main

import (
	"strings"
	"testing"

	"ralph/event"
	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
	"ralph/report"
)

// gated is an agent that marks each task it was given and waits for a file of that
// name before it is done.
func gated() fakeagent.Script {
	return say(fakeagent.Step{Do: "mark", Text: "{{task}}"}, fakeagent.Step{Do: "await", Path: "go-{{task}}"}, saysDone())
}

// waits says that a run told it waits, with these words.
func (p *place) waits(t *testing.T, words string) func() bool {
	return func() bool {
		for _, e := range p.events(t) {
			if e.Type == event.Waiting && strings.Contains(e.Reason, words) {
				return true
			}
		}
		return false
	}
}

// TestStopEndsARunAfterItsTask: the task under way is finished, the next is not begun.
func TestStopEndsARunAfterItsTask(t *testing.T) {
	t.Parallel()
	p := newPlace(t, gated())
	p.plan(t, "one", "two")
	r := p.start(t, "run", "--json")
	p.awaitMark(t, "t-00000001")
	p.want(t, 0, "stop").inStderr(t, "ends after its current task")
	p.write(t, "go-t-00000001", "")
	r.wait(t, 4).inStdout(t, `"outcome":"stopped","reason":"stopped by: ralph stop"`, `"done":1`)
	if got := p.task(t, "t-00000002"); got.Status != "pending" || got.Attempts != 0 {
		t.Errorf("got the other task %s, want it untouched", got.Status)
	}
	// The wish was for that run only.
	p.write(t, "go-t-00000002", "")
	p.want(t, 0, "run")
}

// TestStopNowGivesTheTaskBack as a signal does: the whole family is ended, nothing
// is charged.
func TestStopNowGivesTheTaskBack(t *testing.T) {
	t.Parallel()
	p := newPlace(t, say(append(family(), fakeagent.Step{Do: "hang"})...))
	p.plan(t, "mine")
	r := p.start(t, "run", "--json")
	p.awaitMark(t, "at work")
	p.want(t, 0, "stop") // which waits for ever
	p.want(t, 0, "stop", "--now").inStderr(t, "ends now")
	p.want(t, 0, "stop") // does not take that back
	r.wait(t, 4).inStdout(t, `"outcome":"stopped"`)
	p.wantNothingLeft(t)
	p.wantInterrupted(t)
}

// TestStopEndsARunThatWaits at once, though it has no task.
func TestStopEndsARunThatWaits(t *testing.T) {
	t.Parallel()
	p := newPlace(t, say(fakeagent.Step{Do: "error", Code: -32603, Text: "429 too many requests: retry after 3600"}))
	p.plan(t, "mine")
	r := p.start(t, "run", "--wait", "2h")
	eventually(t, "the run waits", p.waits(t, ""))
	p.want(t, 0, "stop")
	r.wait(t, 4)
	p.want(t, 0, "stop").inStderr(t, "nothing is running")
}

// TestAPausedProjectBeginsNothing until it is resumed; what is at work goes on.
func TestAPausedProjectBeginsNothing(t *testing.T) {
	t.Parallel()
	p := newPlace(t, gated())
	p.plan(t, "one", "two")
	r := p.start(t, "run", "--json")
	p.awaitMark(t, "t-00000001")
	p.want(t, 0, "pause")
	p.want(t, 0, "status").inStdout(t, "paused")
	p.write(t, "go-t-00000001", "")
	eventually(t, "the run says that it waits", p.waits(t, "ralph resume"))
	p.wantStatus(t, "t-00000001", "done")
	// Without a terminal nobody could resume a run that is started now.
	p.want(t, 1, "run").inStderr(t, "paused since", "hint: go on with: ralph resume")
	p.write(t, "go-t-00000002", "")
	p.want(t, 0, "resume")
	r.wait(t, 0).inStdout(t, `"done":2`)
}

// TestARunStartedWhilePausedWaitsOnATerminal, where a person sees why.
func TestARunStartedWhilePausedWaitsOnATerminal(t *testing.T) {
	t.Parallel()
	p := newPlace(t, fakeagent.Script{})
	p.plan(t, "mine")
	p.want(t, 0, "pause")
	term := p.onTerminal(t, "run")
	term.expect(t, "the project is paused; go on with: ralph resume", "")
	p.want(t, 0, "resume")
	term.wait(t, 0)
}

// TestStopEndsAPausedRun, as does a signal.
func TestStopEndsAPausedRun(t *testing.T) {
	t.Parallel()
	p := newPlace(t, gated())
	p.plan(t, "one", "two")
	r := p.start(t, "run")
	p.awaitMark(t, "t-00000001")
	p.want(t, 0, "pause")
	p.write(t, "go-t-00000001", "")
	eventually(t, "the run says that it waits", p.waits(t, "ralph resume"))
	p.want(t, 0, "stop")
	r.wait(t, 4)
}

// TestAPausedTaskIsPassedOver, with all that lies below it.
func TestAPausedTaskIsPassedOver(t *testing.T) {
	t.Parallel()
	p := newPlace(t, fakeagent.Script{})
	p.write(t, "plan.jsonl", `{"ref":"t-00000001","title":"group"}
{"ref":"t-00000002","title":"below","parent":"t-00000001"}
{"ref":"t-00000003","title":"other"}
`)
	p.want(t, 0, "task", "import", "plan.jsonl")
	p.want(t, 0, "pause", "t-00000001")
	p.want(t, 0, "doctor")
	p.want(t, 0, "task", "why", "t-00000002").inStdout(t, "its ancestor t-00000001 is paused")
	p.want(t, 0, "task", "list").inStdout(t, "paused")
	p.want(t, 2, "run")
	var got []string
	for _, id := range []string{"t-00000001", "t-00000002", "t-00000003"} {
		got = append(got, string(p.task(t, id).Status))
	}
	check.Equal(t, "statuses", []string{"pending", "pending", "done"}, got)
	p.want(t, 1, "pause", "t-00000003")  // it is done
	p.want(t, 1, "resume", "t-00000002") // it is not paused itself
	p.want(t, 3, "pause", "t-none")
	p.want(t, 64, "pause", "t-00000001", "t-00000002")
	p.want(t, 0, "resume", "t-00000001")
	p.want(t, 0, "doctor")
	p.want(t, 0, "run")
}

// TestATaskTakenAwayEndsItsAgent: another command changes the task while it runs;
// the agent and its family are stopped, and the person's word stands.
func TestATaskTakenAwayEndsItsAgent(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		command []string
		exit    int
		status  string
	}{
		"done":    {[]string{"task", "done", "t-00000001"}, 0, "done"},
		"failed":  {[]string{"task", "fail", "t-00000001"}, 1, "failed"},
		"deleted": {[]string{"task", "delete", "t-00000001"}, 0, ""},
		"reset":   {[]string{"task", "reset", "t-00000001"}, 0, "done"}, // by the next attempt
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script := say(append(family(), fakeagent.Step{Do: "hang"})...)
			script.Conversations[0].When.Attempt = 1
			script.Conversations[0].When.Task = "t-00000001"
			p := newPlace(t, script)
			p.plan(t, "mine", "other")
			r := p.start(t, "run")
			p.awaitMark(t, "at work")
			p.want(t, 0, tt.command...)
			r.wait(t, tt.exit)
			p.wantNothingLeft(t)
			if tt.status != "" {
				p.wantStatus(t, "t-00000001", tt.status)
			}
			if got := p.ended(t); len(got) == 0 || got[0] != "interrupted" {
				t.Errorf("got %q, want the first attempt interrupted", got)
			}
		})
	}
}

// TestAResetTaskIsNotGivenToASecondAgentAtOnce: another run would take it at once,
// while the first one's agent has not been stopped yet.
func TestAResetTaskIsNotGivenToASecondAgentAtOnce(t *testing.T) {
	t.Parallel()
	script := say(append(family(), fakeagent.Step{Do: "hang"})...)
	script.Conversations[0].When.Attempt = 1
	p := newPlace(t, script)
	p.plan(t, "mine")
	first := p.start(t, "run")
	p.awaitMark(t, "at work")
	p.want(t, 0, "task", "reset", "t-00000001")
	second := p.start(t, "run")
	<-first.ended
	<-second.ended
	p.wantStatus(t, "t-00000001", "done")
	p.wantNoOverlap(t)
}

// TestContinueTakesOverTheCounters of the last unfinished run, and its flags.
func TestContinueTakesOverTheCounters(t *testing.T) {
	t.Parallel()
	cost := 0.25
	p := newPlace(t, say(fakeagent.Step{Do: "usage", N: 10, Cost: &cost}, saysDone()))
	p.plan(t, "one", "two", "three", "four")
	p.want(t, 3, "run", "--continue") // there is none
	p.want(t, 4, "run", "--limit", "2")
	p.want(t, 4, "run", "--continue") // the limit was taken over, too: nothing is begun
	out := p.want(t, 4, "run", "--continue", "--limit", "3", "--json")
	out.inStdout(t, `"iterations":1,"done":3`, `"cost_usd":0.25`, `"together":{"continues":"r-`, `"iterations":3,"cost_usd":0.75`)
	out = p.want(t, 0, "run", "--continue", "--limit", "0", "--json")
	out.inStdout(t, `"iterations":1,"done":4`, `"cost_usd":0.25`, `"iterations":4,"cost_usd":1,`)
	p.want(t, 3, "run", "--continue").inStderr(t, "an unfinished run: not found")
	p.want(t, 3, "run", "--continue", "r-none")
}

// TestStatusTellsARunsOwnIterations, as the list of runs does.
func TestStatusTellsARunsOwnIterations(t *testing.T) {
	t.Parallel()
	p := newPlace(t, gated())
	p.plan(t, "one", "two", "three", "four")
	for _, id := range []string{"1", "2", "3"} {
		p.write(t, "go-t-0000000"+id, "")
	}
	p.want(t, 4, "run", "--limit", "2")
	r := p.start(t, "run", "--continue", "--limit", "0")
	p.awaitMark(t, "t-00000004")
	var status report.Overview
	p.json(t, &status, "status")
	if len(status.Runs) != 1 || status.Runs[0].Iterations != 1 {
		t.Errorf("got %+v, want one run with one iteration of its own", status.Runs)
	}
	p.want(t, 0, "status").inStdout(t, "everything, 1 iteration\n")
	p.write(t, "go-t-00000004", "")
	r.wait(t, 0)
}

// TestContinueAfterADeath counts what the dead run had counted.
func TestContinueAfterADeath(t *testing.T) {
	t.Parallel()
	script := gated()
	p := newPlace(t, script)
	p.plan(t, "one", "two", "three")
	p.write(t, "go-t-00000001", "")
	r := p.start(t, "run", "--limit", "2")
	p.awaitMark(t, "t-00000002")
	r.kill(t)
	p.write(t, "go-t-00000002", "")
	p.write(t, "go-t-00000003", "")
	p.want(t, 4, "run", "--continue", "--json").inStdout(t, `"iterations":1,"done":2`, `"together":{`, `"iterations":2,`)
}
