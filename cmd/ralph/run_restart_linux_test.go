package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ralph/event"
	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
)

// TestAnAgentThatIsUpdatedMeanwhileIsStartedAgain: its program is missing when the
// second task begins, and comes back after the first try.
func TestAnAgentThatIsUpdatedMeanwhileIsStartedAgain(t *testing.T) {
	t.Parallel()
	p := newPlace(t, say(fakeagent.Step{Do: "mark", Text: "at work"}, fakeagent.Step{Do: "await", Path: "go"}, saysDone()), "breaker = 1")
	agent, away := filepath.Join(p.dir, "agent"), filepath.Join(p.dir, "away")
	check.OK(t, os.WriteFile(agent, []byte("#!/bin/sh\nexec fakeagent\n"), 0o700))
	config, err := os.ReadFile(filepath.Join(p.dir, ".ralph.toml"))
	check.OK(t, err)
	p.write(t, ".ralph.toml", strings.Replace(string(config), `command = "fakeagent"`, `command = "`+agent+`"`, 1))
	p.plan(t, "one", "two")
	r := p.start(t, "run", "--no-verify")
	p.awaitMark(t, "at work")
	rename := func(from, to string) {
		t.Helper()
		check.OK(t, os.Rename(from, to))
	}
	rename(agent, away)
	p.write(t, "go", "")
	eventually(t, "the start fails and is tried again", func() bool {
		files, err := filepath.Glob(filepath.Join(p.dir, ".ralph/runs/*/events.jsonl"))
		if err != nil || len(files) != 1 {
			return false
		}
		events, err := os.ReadFile(files[0])
		return err == nil && strings.Contains(string(events), "could not be started")
	})
	rename(away, agent)
	r.wait(t, 0)
	retries := 0
	for _, e := range p.events(t) {
		if e.Type == event.Warned && strings.Contains(e.Text, "fake could not be started: start: not found: ") && strings.Contains(e.Text, "; retry ") {
			retries++
		}
	}
	if retries == 0 {
		t.Error("no warning says what failed and that it is tried again")
	}
	if task := p.task(t, "t-00000002"); task.Status != "done" || task.Attempts > 1 {
		t.Errorf("got %s with %d attempts, want done at the first", task.Status, task.Attempts)
	}
}
