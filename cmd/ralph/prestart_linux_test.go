package main

import (
	"slices"
	"strings"
	"syscall"
	"testing"

	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
)

// newPrestart is a place with two tasks, the agent of the second of which may be started early. The verifier, or the agent, does what hangs
// says.
func newPrestart(t *testing.T, hangs string) *place {
	t.Helper()
	if overlay, _ := scriptCondition("namespaces"); !overlay {
		t.Skip("SKIPPED: verifiers get no overlay here")
	}
	verifies := true
	script := fakeagent.Script{}
	switch hangs {
	case "tools": // instead: they report by them, and say nothing
		script = say(step{Do: "file", Path: "{{task}}.txt", Text: "x"}, step{Do: "mcp", Method: "report", Params: []byte(`{"status":"done"}`)})
	case "verifier":
		script.Conversations = []fakeagent.Conversation{{When: fakeagent.When{Verify: &verifies}, Steps: []step{{Do: "hang"}}}}
	}
	p := newPlace(t, script)
	p.env = append(p.env, "RALPH_VERIFY_ENABLED=true")
	p.prestarts()
	p.plan("first", "second")
	return p
}

// early are the processes that were started without a task, and the tasks that they and
// the others were given.
func (p *place) early() (early []string, tasks map[string][]string) {
	p.Helper()
	tasks = map[string][]string{}
	for _, e := range p.entries() {
		if _, told := e.Env["RALPH_TASK"]; e.Event == "started" && !told {
			early = append(early, e.Process)
		}
		if e.Event == "prompted" {
			tasks[e.Process] = append(tasks[e.Process], e.Task)
		}
	}
	return early, tasks
}

// TestAnAgentThatWasStartedEarlyCallsTheToolsOfItsTask, from inside the sandbox that was made before anybody knew it.
func TestAnAgentThatWasStartedEarlyCallsTheToolsOfItsTask(t *testing.T) {
	t.Parallel()
	p := newPrestart(t, "tools")
	p.want(0, "run", "--in-place")
	early, tasks := p.early()
	check.Equal(t, "agents that were started early", 1, len(early))
	check.Equal(t, "its task", []string{"t-00000002"}, tasks[early[0]])
	reported := func(e fakeagent.Entry) bool {
		return e.Process == early[0] && e.Name == "mcp report" && strings.Contains(e.Text, "noted: it counts")
	}
	check.That(t, slices.ContainsFunc(p.entries(), reported), "it could not report: %v", p.entries())
}

// TestTheNextAgentIsStartedWhileAnotherWorks, and no process is given two tasks.
func TestTheNextAgentIsStartedWhileAnotherWorks(t *testing.T) {
	t.Parallel()
	p := newPrestart(t, "")
	p.want(0, "run", "--in-place")
	early, tasks := p.early()
	check.Equal(t, "agents that were started early", 1, len(early))
	check.Equal(t, "its task", []string{"t-00000002"}, tasks[early[0]])
	for process, given := range tasks {
		check.That(t, len(slices.Compact(given)) == 1, "%s was given %v", process, given)
	}
	p.wantVerified("t-00000001")
	p.wantVerified("t-00000002")
	p.wantNothingLeft()
}

// TestNoAgentIsStartedThatCannotBeNeeded, nor in a slot.
func TestNoAgentIsStartedThatCannotBeNeeded(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"switched off": {"--in-place"}, "in slots": {"--jobs", "2"}, "the last iteration": {"--in-place", "--limit", "1"}, "one task": {"--in-place", "t-00000001"},
		"the last task": {"--in-place"}, "a stop is asked for": {"--in-place"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, status := newPrestart(t, ""), 0
			switch name {
			case "switched off":
				p.env = append(p.env, "RALPH_RUN_PRESTART=false")
			case "a stop is asked for":
				p.write("script.json", say(step{Do: "mark", Text: "works"}, step{Do: "await", Path: "asked"}, saysDone()).JSON())
				r := p.start("run", "--in-place")
				eventually(t, "an agent works", func() bool { return len(p.entries()) > 2 })
				p.want(0, "stop")
				p.write("asked", "")
				<-r.ended
				args = append(args, "--dry-run")
			case "the last iteration":
				status = 4
			case "the last task":
				p.want(0, "task", "done", "t-00000001")
			}
			p.want(status, append([]string{"run"}, args...)...)
			early, _ := p.early()
			check.Equal(t, "agents that were started early", 0, len(early))
		})
	}
}

// TestAnAgentStartedEarlyEndsWithItsRun, however that ends.
func TestAnAgentStartedEarlyEndsWithItsRun(t *testing.T) {
	notRaced(t)
	for name, end := range map[string]func(*place, *running){
		"killed":      func(p *place, r *running) { r.signal(syscall.SIGKILL); r.wait(-1); p.awaitGone() },
		"interrupted": func(p *place, r *running) { r.signal(syscall.SIGINT); r.wait(130); p.wantNothingLeft() },
		"stopped":     func(p *place, r *running) { p.want(0, "stop", "--now"); <-r.ended; p.wantNothingLeft() },
		"killed with its helpers": func(p *place, r *running) {
			r.killWithHelpers()
			r.wait(-1)
			p.env = append(p.env, "RALPH_VERIFY_ENABLED=false")
			p.want(0, "run", "--in-place") // takes back what is left
			p.wantNothingLeft()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPrestart(t, "verifier")
			r := p.start("run", "--in-place")
			eventually(t, "an agent is started early", func() bool { early, _ := p.early(); return len(early) > 0 })
			end(p, r)
		})
	}
}
