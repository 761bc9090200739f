package story

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestAnotherVersion has a worker of another build on the queue. It refuses, says so, and another takes the task.
func TestAnotherVersion(t *testing.T) {
	p := newPlace(t)
	p.plan(chains(2, 0))
	p.serve()
	fake := filepath.Join(p.dir, "ralph-of-old")
	check(t, os.WriteFile(fake, []byte(fmt.Sprintf("#!/bin/sh\nif [ \"$1\" = version ]; then echo '{\"build\":\"v0.0.1\"}'; else exec %s/ralph \"$@\"; fi\n", bin)), 0o700))
	cmd := p.workerCommand("old", 1)
	cmd.Env = append(cmd.Env, "RALPH="+fake)
	old := p.start("old", cmd)
	run := p.run("--agent", "shell")
	await(t, "the worker to refuse", func() bool { return strings.Contains(old.output(), `"v0.0.1"`) })
	right := p.worker("right", 1)
	p.expect(run, 0, 5*time.Minute)
	p.settledWell(2)
	equal(t, "attempts of the other version", 0, attemptsOf(old))
	t.Logf("the refused worker said:\n%s", old.output())
	p.noneBut(p.server, old, right)
}

// TestRemoteRefuses has a remote that takes no pushes. The run ends as blocked and says why; when it takes them again,
// the next run does the work.
func TestRemoteRefuses(t *testing.T) {
	p := newPlace(t)
	p.plan(chains(2, 0))
	p.serve()
	w := p.worker("one", 1)
	hook := filepath.Join(p.remote, "hooks", "pre-receive")
	check(t, os.WriteFile(hook, []byte("#!/bin/sh\necho 'the disk of the remote is full' >&2\nexit 1\n"), 0o700))
	run := p.run("--agent", "shell")
	p.expect(run, 2, 5*time.Minute)
	if !strings.Contains(run.output(), "the disk of the remote is full") {
		t.Errorf("nothing says why:\n%s", run.output())
	}
	t.Logf("the run said:\n%s", run.output())
	equal(t, "what landed", 0, len(p.landed()))
	check(t, os.Remove(hook))
	p.expect(p.run("--agent", "shell"), 0, 5*time.Minute)
	p.settledWell(2)
	p.noneBut(p.server, w)
}

// TestWorkerCannotPush has a worker that may fetch and not push. It tries for minutes; then the run ends as blocked and says on
// which machine the work is. When that can push, the next run does it.
func TestWorkerCannotPush(t *testing.T) {
	p := newPlace(t)
	p.plan(chains(2, 0))
	p.serve()
	dir := p.clone("mute")
	p.git(dir, "remote", "set-url", "--push", "origin", filepath.Join(p.dir, "nowhere.git"))
	w := p.worker("mute", 1)
	run := p.run("--agent", "shell")
	p.expect(run, 2, 5*time.Minute)
	if !strings.Contains(run.output(), "stays on") {
		t.Errorf("nothing says why:\n%s", run.output())
	}
	t.Logf("the run said:\n%s", run.output())
	equal(t, "what landed", 0, len(p.landed()))
	p.git(dir, "remote", "set-url", "--push", "origin", p.remote)
	p.expect(p.run("--agent", "shell"), 0, 5*time.Minute)
	p.settledWell(2)
	p.noneBut(p.server, w)
}

// TestServerAway kills the server for many heartbeats while attempts are under way. Workers and home say so, wait, and go on.
func TestServerAway(t *testing.T) {
	away := time.Duration(number(t, "RALPH_TEMPORAL_AWAY", 90)) * time.Second
	p := newPlace(t)
	p.plan([]task{p.waiting("000", "go"), p.waiting("001", "end"), p.waiting("002", "end", "000")})
	p.serve()
	one, two := p.worker("one", 2), p.worker("two", 2)
	run := p.run("--agent", "shell")
	await(t, "two attempts", func() bool { return p.begun() == 2 })
	p.server.kill()
	gone := time.Now()
	p.touch("go") // one ends while nobody can be told
	for _, s := range []*process{one, two, run} {
		await(t, s.log+" to say that the server is away", func() bool { return strings.Contains(s.output(), "cannot reach the Temporal server") })
	}
	awaitFor(t, away+time.Minute, "the time to pass", func() bool {
		for _, s := range []*process{one, two, run} {
			if s.ended() {
				t.Fatalf("%s did not wait:\n%s", s.log, s.output())
			}
		}
		return time.Since(gone) >= away
	})
	p.serve()
	p.touch("end")
	p.expect(run, 0, 5*time.Minute)
	p.settledWell(3)
	for _, s := range []*process{one, two, run} {
		await(t, s.log+" to say that the server is back", func() bool { return strings.Contains(s.output(), "is reachable") || s.ended() })
		if n := strings.Count(s.output(), "cannot reach"); n != 1 {
			t.Errorf("%s said %d times that the server is away:\n%s", s.log, n, s.output())
		}
	}
	t.Logf("the server was away for %v, %d heartbeat timeouts; %d tries for 3 tasks", time.Since(gone).Round(time.Second), int(away/(3*time.Second)), attemptsOf(one)+attemptsOf(two))
	p.noneBut(p.server, one, two)
}
