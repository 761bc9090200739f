package fakeagent

import (
	"testing"

	"ralph/internal/testing/check"
)

func TestConversationIsChosenByThePrompt(t *testing.T) {
	t.Parallel()
	yes := true
	s := Script{Conversations: []Conversation{
		{When: When{Task: "t-aaaaaaaa", Attempt: 2}, Steps: []Step{{Do: "second attempt"}}},
		{When: When{Verify: &yes}, Steps: []Step{{Do: "verdict"}}},
		{When: When{Prompt: 2}, Steps: []Step{{Do: "second prompt"}}},
		{When: When{Contains: "magic"}, Steps: []Step{{Do: "magic"}}},
	}}
	for name, tc := range map[string]struct {
		text         string
		attempt, nth int
		want         string
	}{
		"by task and attempt": {"# Assigned Task\nID: t-aaaaaaaa", 2, 1, "second attempt"},
		"another attempt":     {"# Assigned Task\nID: t-aaaaaaaa", 1, 1, "say"},
		"verification":        {"answer <verify-pass/> for t-bbbbbbbb", 1, 1, "verdict"},
		"second prompt":       {"go on", 1, 2, "second prompt"},
		"by its text":         {"some magic words", 1, 1, "magic"},
	} {
		p := read(tc.text)
		p.attempt, p.nth = tc.attempt, tc.nth
		if got := s.conversation(p)[0].Do; got != tc.want {
			t.Errorf("%s: got %s, want %s", name, got, tc.want)
		}
	}
	if got := read("parent t-11111111\n## Assigned Task\n**t-22222222** title").task; got != "t-22222222" {
		t.Errorf("task: got %s", got)
	}
}

func TestLedgerCountsAttemptsBySession(t *testing.T) {
	t.Parallel()
	l := ledger{dir: t.TempDir()}
	add := func(session, task string, prompt int, verify bool) {
		l.add(Entry{Event: "prompted", Session: session, Task: task, Prompt: prompt, Verify: verify})
	}
	add("s1", "t-1", 1, false)
	add("s1", "t-1", 2, false)
	add("s2", "t-2", 1, false)
	add("s3", "t-1", 1, true)
	add("s4", "t-1", 1, false)
	got := []int{l.attempt("t-1", false, "s1"), l.attempt("t-1", false, "s4"), l.attempt("t-1", true, "s3"), l.attempt("t-2", false, "s2")}
	check.Equal(t, "result", []int{1, 2, 1, 1}, got)
}
