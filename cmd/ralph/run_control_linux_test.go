package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ralph/event"
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
	if out := p.want(t, 0, "stop"); !strings.Contains(out.stderr, "ends after its current task") {
		t.Errorf("got %q, want what will happen", out.stderr)
	}
	p.write(t, "go-t-00000001", "")
	out := r.wait(t, 4)
	if !strings.Contains(out.stdout, `"outcome":"stopped","reason":"stopped by: ralph stop"`) || !strings.Contains(out.stdout, `"done":1`) {
		t.Errorf("got %s, want stopped with one task done", out.stdout)
	}
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
	if out := p.want(t, 0, "stop", "--now"); !strings.Contains(out.stderr, "ends now") {
		t.Errorf("got %q, want what will happen", out.stderr)
	}
	p.want(t, 0, "stop") // does not take that back
	out := r.wait(t, 4)
	if !strings.Contains(out.stdout, `"outcome":"stopped"`) {
		t.Errorf("got %s, want stopped", out.stdout)
	}
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
	if out := p.want(t, 0, "stop"); !strings.Contains(out.stderr, "nothing is running") {
		t.Errorf("got %q, want that nothing is running", out.stderr)
	}
}

// TestAPausedProjectBeginsNothing until it is resumed; what is at work goes on.
func TestAPausedProjectBeginsNothing(t *testing.T) {
	t.Parallel()
	p := newPlace(t, gated())
	p.plan(t, "one", "two")
	r := p.start(t, "run", "--json")
	p.awaitMark(t, "t-00000001")
	p.want(t, 0, "pause")
	if out := p.want(t, 0, "status"); !strings.Contains(out.stdout, "paused") {
		t.Errorf("got %s, want the pause to be told", out.stdout)
	}
	p.write(t, "go-t-00000001", "")
	eventually(t, "the run says that it waits", p.waits(t, "ralph resume"))
	if got := p.task(t, "t-00000001").Status; got != "done" {
		t.Errorf("got %s, want done: what was at work goes on", got)
	}
	// Without a terminal nobody could resume a run that is started now.
	if out := p.want(t, 1, "run"); !strings.Contains(out.stderr, "paused since") || !strings.Contains(out.stderr, "hint: go on with: ralph resume") {
		t.Errorf("got %q, want why it is refused and what to do", out.stderr)
	}
	p.write(t, "go-t-00000002", "")
	p.want(t, 0, "resume")
	out := r.wait(t, 0)
	if !strings.Contains(out.stdout, `"done":2`) {
		t.Errorf("got %s, want both done", out.stdout)
	}
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
	if out := p.want(t, 0, "task", "why", "t-00000002"); !strings.Contains(out.stdout, "its ancestor t-00000001 is paused") {
		t.Errorf("got %s, want the reason", out.stdout)
	}
	if out := p.want(t, 0, "task", "list"); !strings.Contains(out.stdout, "paused") {
		t.Errorf("got %s, want it in the list", out.stdout)
	}
	p.want(t, 2, "run")
	var got []string
	for _, id := range []string{"t-00000001", "t-00000002", "t-00000003"} {
		got = append(got, string(p.task(t, id).Status))
	}
	if diff := cmp.Diff([]string{"pending", "pending", "done"}, got); diff != "" {
		t.Errorf("statuses differ (-want +got):\n%s", diff)
	}
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
				if got := p.task(t, "t-00000001").Status; string(got) != tt.status {
					t.Errorf("got %s, want %s", got, tt.status)
				}
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
	if got := p.task(t, "t-00000001").Status; got != "done" {
		t.Errorf("got %s, want done", got)
	}
	for _, e := range p.entries(t) {
		if e.Event == "overlap" {
			t.Error("two agents had it at once")
		}
	}
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
	if !tells(out.stdout, `"iterations":1,"done":3`, `"cost_usd":0.25`, `"together":{"continues":"r-`, `"iterations":3,"cost_usd":0.75`) {
		t.Errorf("got %s, want one iteration, and with the runs before three and what all of them cost", out.stdout)
	}
	out = p.want(t, 0, "run", "--continue", "--limit", "0", "--json")
	if !tells(out.stdout, `"iterations":1,"done":4`, `"cost_usd":0.25`, `"iterations":4,"cost_usd":1,`) {
		t.Errorf("got %s, want its own, and all of it", out.stdout)
	}
	if out := p.want(t, 3, "run", "--continue"); !strings.Contains(out.stderr, "an unfinished run: not found") {
		t.Errorf("got %q, want why", out.stderr)
	}
	p.want(t, 3, "run", "--continue", "r-none")
}

// tells says whether a text has all of that in it.
func tells(text string, parts ...string) bool {
	return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(text, part) })
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
	if out := p.want(t, 0, "status"); !strings.Contains(out.stdout, "everything, 1 iteration\n") {
		t.Errorf("got %s, want the same in words", out.stdout)
	}
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
	if err := r.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	r.wait(t, -1)
	p.write(t, "go-t-00000002", "")
	p.write(t, "go-t-00000003", "")
	out := p.want(t, 4, "run", "--continue", "--json")
	if !tells(out.stdout, `"iterations":1,"done":2`, `"together":{`, `"iterations":2,`) {
		t.Errorf("got %s, want the second of two iterations, and no third", out.stdout)
	}
}
