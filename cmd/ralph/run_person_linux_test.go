package main

import (
	"encoding/json"
	"strings"
	"testing"

	"ralph/internal/testing/fakeagent"
)

// TestAPersonsWordStands changes a task from another process while an agent works
// on it: the agent's answer is refused, and the run goes on with the rest.
func TestAPersonsWordStands(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		verb   []string
		status int    // of the run
		want   string // the task afterwards; empty if it is gone
		agents int    // that were given the task
	}{
		"done":   {[]string{"task", "done"}, 0, "done", 1},
		"fail":   {[]string{"task", "fail"}, 1, "failed", 1},
		"reset":  {[]string{"task", "reset"}, 0, "done", 2},
		"delete": {[]string{"task", "delete"}, 0, "", 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, fakeagent.Script{Conversations: []fakeagent.Conversation{
				{When: fakeagent.When{Task: "t-00000001", Attempt: 1}, Steps: []fakeagent.Step{
					{Do: "mark", Text: "at work"},
					{Do: "await", Path: "go"},
					{Do: "say", Text: "<task-failed>t-00000001: too late</task-failed>\n"},
				}},
			}})
			p.plan(t, "mine", "other")
			r := p.start(t, "run", "--json")
			p.awaitMark(t, "at work")
			p.want(t, 1, "task", "block", "t-00000001").inStderr(t, "hint: to stop after the current attempt: ralph pause t-00000001")
			p.want(t, 0, "task", "log", "t-00000001", "-m", "hurry").inStderr(t, "the next one does")
			p.want(t, 0, append(tt.verb, "t-00000001")...)
			p.write(t, "go", "")
			out := r.wait(t, tt.status)
			if strings.Contains(out.stdout, "too late") {
				t.Errorf("the agent's word counted: %s", out.stdout)
			}
			if tt.want == "" {
				p.want(t, 3, "task", "show", "t-00000001")
			} else if got := p.task(t, "t-00000001"); string(got.Status) != tt.want {
				t.Errorf("got %s, want %s", got.Status, tt.want)
			}
			if got := p.task(t, "t-00000002"); got.Status != "done" {
				t.Errorf("got the other task %s, want done", got.Status)
			}
			agents := 0
			for _, e := range p.entries(t) {
				if e.Event == "prompted" && e.Task == "t-00000001" {
					agents++
				}
			}
			if agents != tt.agents {
				t.Errorf("got %d agents for the task, want %d", agents, tt.agents)
			}
			p.want(t, 0, "doctor")
		})
	}
}

// TestTheOutcomeIsTheLastLine of stdout, after all events.
func TestTheOutcomeIsTheLastLine(t *testing.T) {
	t.Parallel()
	p := newPlace(t, fakeagent.Script{})
	p.plan(t, "one", "two")
	out := p.want(t, 0, "run", "--json", "--events", "-")
	lines := strings.Split(strings.TrimSuffix(out.stdout, "\n"), "\n")
	for i, line := range lines {
		var object map[string]any
		if err := json.Unmarshal([]byte(line), &object); err != nil {
			t.Fatalf("line %d is no JSON: %q", i+1, line)
		}
		_, isOutcome := object["iterations"]
		if last := i == len(lines)-1; last != isOutcome {
			t.Errorf("line %d of %d: %s", i+1, len(lines), line)
		}
	}
}
